"""check_plugin: checks whether a plugin keeps the contract.

The idea is that of scikit-learn's check_estimator: clusters are generated from a seed, the plugin
is called in every way the scheduler may call it, and answers that must be equal are compared.
`contract_checks` has the checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mooring.api import KubeObject, Node, Pod
from mooring.errors import PluginError
from mooring.framework.plugin import Plugin


class CheckReport(msgspec.Struct):
    """Counts of what was checked: a check that never saw a refusal has shown little."""

    #: Answers of Filter.
    passed: int = 0
    refused: int = 0
    #: Answers of `diagnose`.
    diagnosed: int = 0
    #: Nodes scored.
    scored: int = 0
    #: Pods added to a node, or removed from it, in a dry run.
    tried: int = 0
    reserved: int = 0
    #: Pods whose answers could be reused.
    signed: int = 0
    #: Whole scheduling attempts.
    attempts: int = 0
    #: Placements of pod groups that were generated or scored.
    placements: int = 0
    #: Whole attempts in clusters with a gang or a composite group.
    group_attempts: int = 0


def check_plugin(
    plugin: type[Plugin],
    *,
    args: Any = None,
    nodes: Iterable[Node] = (),
    pods: Iterable[Pod] = (),
    objects: Iterable[KubeObject] = (),
    features: Mapping[str, bool] | None = None,
    seed: int = 0,
    rounds: int = 20,
) -> CheckReport:
    """Check that a plugin keeps the contract; raise PluginError if it does not.

    - its methods have the contract's names and parameters;
    - its args are the same when printed into a configuration and loaded again;
    - the same input gives the same answer, from the same instance and from another;
    - both forms of Filter and Score agree, and so do `less` and `sort_key`;
    - the order of the nodes does not matter, nor whether all of them or only some are passed;
    - normalised scores are from 0 to 100;
    - `add_pod` and `remove_pod` give the same result as a recompute, on a clone of the state;
    - `unreserve` undoes what `reserve` did, and may be called twice, or without it;
    - pods with the same signature (`sign_pod`) get the same answer;
    - with `reads_pods = False`, pods on the nodes change no answer;
    - with `reads_pod_labels = False`, labels of pods change no result for a pod that is signed;
    - a change of the cluster is noticed: no cached answer becomes stale;
    - whole scheduling attempts raise nothing and wait for nothing outside;
    - if the plugin has points of pod groups: placements do not depend on the order of the nodes,
      nor PlacementFeasible on more than the progress, nor scores on the order of placements, and
      whole attempts of a gang, and of a composite group of two gangs, raise nothing. The gates of
      pod groups are then on unless `features` says otherwise.

    Clusters and pods are generated, one cluster per round, each from the next seed. Their labels
    and annotations contain words from the plugin's code. If that is not enough, `nodes`, `pods`
    and `objects` are added to every cluster. The report counts what was checked.
    """
    __tracebackhide__ = True  # pytest shows the test instead.
    # Loaded on first use: the checks run the whole scheduler.
    from mooring.testing.bench import Workbench
    from mooring.testing.contract_checks import GivenObjects, check_contract_of
    from mooring.testing.group_checks import has_group_points, with_group_gates

    if has_group_points(plugin):
        features = with_group_gates(features or {})
    workbench = Workbench(plugin, args=args, features=features)
    given = GivenObjects(list(nodes), list(pods), list(objects))
    try:
        return check_contract_of(workbench, given, range(seed, seed + rounds))
    except PluginError as error:
        # The traceback of the check itself is of no use; what the plugin raised is in the message.
        raise error.with_traceback(None) from error.__cause__

"""check_plugin: checks whether a plugin keeps the contract.

The idea is that of scikit-learn's check_estimator: clusters are generated from a seed, the plugin
is called in every way the scheduler may call it, and answers that must be equal are compared.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import KubeObject, Node, Pod
from mooring.errors import PluginError
from mooring.framework.plugin import Plugin
from mooring.framework.points import Point, points_of
from mooring.testing.bench import Answers, Bench, Workbench
from mooring.testing.forms import check_filter, check_score
from mooring.testing.plugin_answers import Case, ask
from mooring.testing.plugin_constants import words_of
from mooring.testing.plugin_lifecycle import (
    DETERMINISTIC,
    check_args,
    check_args_kept,
    check_attempts,
    check_queue_sort,
    check_reserve,
)
from mooring.testing.scenes import Scene, SceneMaker
from mooring.testing.signatures import check_reads_no_pods, check_signatures
from mooring.testing.trial import DryRuns

ROW_ORDER = "the order of nodes does not matter"
CHANGES_SEEN = "a change of the cluster is seen"

_ORDERS = "{} in one order of the nodes, {} in another"
_INSTANCES = "{} from one instance, {} from another in an equal cluster"
_CHANGED = "{} from an instance that saw the cluster change, {} from a new one"
_TWICE = "{} the first time, {} the second"


class CheckReport(msgspec.Struct):
    """Counts of what was checked: a check that never saw a refusal has shown little."""

    #: Answers of Filter.
    passed: int = 0
    refused: int = 0
    #: Nodes scored.
    scored: int = 0
    #: Pods added to a node, or removed from it, in a dry run.
    tried: int = 0
    reserved: int = 0
    #: Pods whose answers could be reused.
    signed: int = 0
    #: Whole scheduling attempts.
    attempts: int = 0


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
    - a change of the cluster is noticed: no cached answer becomes stale;
    - whole scheduling attempts raise nothing and wait for nothing outside.

    Clusters and pods are generated, one cluster per round, each from the next seed. Their labels
    and annotations contain words from the plugin's code. If that is not enough, `nodes`, `pods`
    and `objects` are added to every cluster. The report counts what was checked.
    """
    __tracebackhide__ = True  # pytest shows the test instead.
    workbench = Workbench(plugin, args=args, features=features)
    given = _Given(list(nodes), list(pods), list(objects))
    try:
        return _check(workbench, given, range(seed, seed + rounds))
    except PluginError as error:
        # The traceback of the check itself is of no use; what the plugin raised is in the message.
        raise error.with_traceback(None) from error.__cause__


class _Given(msgspec.Struct, frozen=True):
    """The caller's objects, which are in every generated cluster."""

    nodes: list[Node]
    pods: list[Pod]
    objects: list[KubeObject]


def _check(workbench: Workbench, given: _Given, seeds: range) -> CheckReport:
    check_args(workbench)
    before = repr(workbench.args)
    words = words_of(workbench.kind, workbench.args)
    report = CheckReport()
    for seed in seeds:
        rng = random.Random(seed)
        scene = SceneMaker(rng, words).make(given.nodes, given.pods, given.objects)
        _check_scene(workbench, scene, seed, rng, report)
        check_args_kept(workbench, before)
    return report


def _check_scene(
    workbench: Workbench, scene: Scene, seed: int, rng: random.Random, report: CheckReport
) -> None:
    bench = workbench.place(scene.objects_with())
    another = workbench.place(scene.objects_with())
    shuffled = rng.sample(scene.nodes, len(scene.nodes))
    other_order = workbench.place(scene.objects_with(shuffled))
    if Point.QUEUE_SORT in points_of(workbench.kind):
        check_queue_sort(bench.plugin, scene.pending, rng)
    for pod in scene.asked:
        case = Case(workbench.kind.name, pod, seed)
        _check_said(bench, another, other_order, case)
        answers = check_filter(bench, case, rng)
        _count(report, bench, answers)
        report.scored += check_score(bench, case, answers, rng)
        report.tried += DryRuns(workbench, bench, scene, case).check(rng)
        report.reserved += check_reserve(workbench, bench, scene, case, answers)
    report.signed += check_signatures(bench, scene, seed)
    empty = workbench.place([*scene.nodes, *scene.objects])
    check_reads_no_pods(bench, empty, scene, seed)
    _check_changes(workbench, bench, scene, seed, rng)
    report.attempts += check_attempts(workbench, scene, seed)


def _check_changes(
    workbench: Workbench, bench: Bench, scene: Scene, seed: int, rng: random.Random
) -> None:
    """Change the cluster after an instance has given answers about it, and compare."""
    cluster = bench.scheduler.cluster
    coming, changing = rng.choice(scene.pending), rng.choice(scene.nodes)
    placed = replace(coming, spec=replace(coming.spec, node_name=changing.name))
    changed = replace(changing, metadata=scene.nodes[0].metadata, spec=scene.nodes[0].spec)
    changed = replace(
        changed, metadata=replace(changed.metadata, name=changing.name, uid=changing.uid)
    )
    cluster.delete(coming)
    cluster.add(placed)
    cluster.add(changed)
    gone = rng.choice(scene.placed) if scene.placed else None
    if gone is not None:
        cluster.delete(gone)
    nodes = [changed if node is changing else node for node in scene.nodes]
    afresh = workbench.place(scene.objects_with(nodes, add=[placed], without=gone))
    for pod in scene.asked:
        if pod is not coming:
            case = Case(workbench.kind.name, pod, seed)
            case.compare_said(CHANGES_SEEN, ask(bench, pod), ask(afresh, pod), _CHANGED)


def _check_said(bench: Bench, another: Bench, other_order: Bench, case: Case) -> None:
    first = ask(bench, case.pod)
    case.compare_said(DETERMINISTIC, first, ask(bench, case.pod), _TWICE)
    case.compare_said(DETERMINISTIC, first, ask(another, case.pod), _INSTANCES)
    case.compare_said(ROW_ORDER, first, ask(other_order, case.pod), _ORDERS)


def _count(report: CheckReport, bench: Bench, answers: Answers) -> None:
    if bench.profile.filter or bench.profile.pre_filter:
        refused = sum(answer is not None for answer in answers)
        report.refused += refused
        report.passed += len(answers) - refused

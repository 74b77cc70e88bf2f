"""The feature gates of a local cluster: pod groups are on unless the user turns them off.

kube-apiserver and kube-scheduler have them off by default; the user of a local cluster wants to
try them. A cluster that is asked to have no nodes has no controllers either, and without these a
pod group is never deleted: there they are off by default too.
"""

from __future__ import annotations

from collections.abc import Mapping

from mooring.api.field_errors import aggregate
from mooring.api.go_format import go_text
from mooring.errors import ConfigError
from mooring.framework.features import ALL_ALPHA, ALL_BETA, FeatureGates, features_of
from mooring.framework.releases import DEFAULT_VERSION, EffectiveVersion

GENERIC_WORKLOAD = "GenericWorkload"
#: The gates that are on by default, and the gates that each of them needs.
ON: Mapping[str, tuple[str, ...]] = {
    GENERIC_WORKLOAD: (),
    "TopologyAwareWorkloadScheduling": (GENERIC_WORKLOAD,),
    "PodGroupPreemptionPolicy": (GENERIC_WORKLOAD,),
    "CompositePodGroup": (GENERIC_WORKLOAD, "TopologyAwareWorkloadScheduling"),
}
#: The group versions of pod groups.
GROUP_VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")

#: The stages of the gates that can be turned on together.
_STAGES = {ALL_ALPHA: "ALPHA", ALL_BETA: "BETA"}
_TRUE = ("1", "t", "T", "true", "TRUE", "True")


def server_gates(text: str, *, has_nodes: bool = True) -> frozenset[str]:
    """Return the gates that are on in the API server, given the value of `--feature-gates`.

    Raise ConfigError if it turns a gate on and one that this gate needs off.

    >>> sorted(server_gates("TopologyAwareWorkloadScheduling=false"))
    ['GenericWorkload', 'PodGroupPreemptionPolicy']
    >>> "DRADerivedAttributes" in server_gates("DRADerivedAttributes=true")
    True
    """
    on = frozenset(_on(_completed(text, frozenset(ON), has_nodes=has_nodes)))
    # component-base: featuregate/feature_gate.go
    problems = [
        f"{gate} is enabled, but depends on features that are disabled: {go_text(missing)}"
        for gate, needs in sorted(ON.items())
        if gate in on and (missing := [one for one in needs if one not in on])
    ]
    if problems:
        raise ConfigError(aggregate(problems))
    return on


def scheduler_gates(
    text: str, version: EffectiveVersion = DEFAULT_VERSION, *, has_nodes: bool = True
) -> FeatureGates:
    """Return the gates of the scheduler, given `--feature-gates` and the release it emulates."""
    wanted = frozenset(ON) if version.release.pod_groups else frozenset()
    return FeatureGates.from_text(_completed(text, wanted, has_nodes=has_nodes), version)


def served_versions(gates: frozenset[str]) -> tuple[str, ...]:
    """Return the group versions of pod groups, if the API server's gates turn them on."""
    return GROUP_VERSIONS if GENERIC_WORKLOAD in gates else ()


def _completed(text: str, wanted: frozenset[str], *, has_nodes: bool) -> str:
    """Return the text with the wanted gates that it does not name, if what they need is on."""
    if not has_nodes and GENERIC_WORKLOAD not in _on(text):
        return text
    prefix = "kube:" if "kube:" in text else ""
    named, on = _settings(text).keys(), _on(text)
    added = []
    for gate, needs in ON.items():
        if gate in wanted and gate not in named and all(one in on for one in needs):
            on.append(gate)
            added.append(f"{prefix}{gate}=true")
    return ",".join((*added, *filter(None, (text,))))


def _on(text: str) -> list[str]:
    """Return the gates that a text turns on, by name or with all others of their stage."""
    settings = _settings(text)
    on = [name for name, value in settings.items() if value in _TRUE]
    stages = [stage for name, stage in _STAGES.items() if name in on]
    every = features_of().items()
    return on + [name for name, one in every if one.stage in stages and name not in settings]


def _settings(text: str) -> dict[str, str]:
    pairs = (item.rpartition(":")[2].partition("=") for item in text.split(",") if item)
    return {name.strip(): value.strip() for name, _, value in pairs}

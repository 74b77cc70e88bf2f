"""Inter-pod affinity computed pod by pod and node by node, to compare the columns with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from mooring.api import Namespace, Pod
from mooring.framework.node_info import NodeInfo
from mooring.framework.pod_info import AffinityTerm, PodInfo
from mooring.framework.status import Status
from mooring.plugins.inter_pod_affinity.filtering import (
    AFFINITY_NOT_MATCH,
    ANTI_AFFINITY_NOT_MATCH,
    EXISTING_ANTI_AFFINITY_NOT_MATCH,
)

_Pairs = dict[tuple[str, str], int]


class Namespaces:
    """A matcher of terms as in kube-scheduler: own and existing terms see different labels."""

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self._labels = {one.metadata.name: one.metadata.labels for one in namespaces}

    def own(self, term: AffinityTerm, other: Pod) -> bool:
        """Return whether a term of the incoming pod matches an existing one."""
        merged = {
            name for name, labels in self._labels.items() if term.namespace_selector.matches(labels)
        }
        return (
            other.metadata.namespace in term.namespaces | merged
            or (not term.namespace_selector.nothing and not term.namespace_selector.requirements)
        ) and term.selector.matches(other.metadata.labels)

    def existing(self, term: AffinityTerm, pod: Pod) -> bool:
        """Return whether a term of an existing pod matches the incoming one."""
        return term.matches(pod, self._labels.get(pod.metadata.namespace, {}))


def _add(pairs: _Pairs, labels: Mapping[str, str], key: str, amount: int = 1) -> None:
    if key in labels:
        pair = (key, labels[key])
        pairs[pair] = pairs.get(pair, 0) + amount


def filter_nodes(
    pod: PodInfo, infos: Sequence[NodeInfo], namespaces: Namespaces
) -> dict[str, Status] | None:
    """Return the refusals by node; None if no term applies."""
    wanted, unwanted = pod.required_affinity, pod.required_anti_affinity
    affinity: _Pairs = {}
    anti_affinity: _Pairs = {}
    existing: _Pairs = {}

    def all_match(other: Pod) -> bool:
        return bool(wanted) and all(namespaces.own(term, other) for term in wanted)

    for info in infos:
        for other in info.pods.values():
            if all_match(other.pod):
                for term in wanted:
                    _add(affinity, info.labels, term.topology_key)
            for term in unwanted:
                if namespaces.own(term, other.pod):
                    _add(anti_affinity, info.labels, term.topology_key)
            for term in other.required_anti_affinity:
                if namespaces.existing(term, pod.pod):
                    _add(existing, info.labels, term.topology_key)
    if not wanted and not unwanted and not existing:
        return None
    refused = {}
    for info in infos:
        labels = info.labels
        have_keys = all(term.topology_key in labels for term in wanted)
        together = have_keys and all(
            (term.topology_key, labels[term.topology_key]) in affinity for term in wanted
        )
        first = have_keys and not affinity and all_match(pod.pod)
        if not together and not first:
            refused[info.name] = AFFINITY_NOT_MATCH
        elif any(
            (term.topology_key, labels.get(term.topology_key)) in anti_affinity for term in unwanted
        ):
            refused[info.name] = ANTI_AFFINITY_NOT_MATCH
        elif any(pair in existing for pair in labels.items()):
            refused[info.name] = EXISTING_ANTI_AFFINITY_NOT_MATCH
    return refused


def score_nodes(
    pod: PodInfo,
    infos: Sequence[NodeInfo],
    feasible: Collection[str],
    namespaces: Namespaces,
    hard_weight: int,
) -> tuple[dict[str, int], dict[str, int]] | None:
    """Return raw and normalised scores by node; None if no term matched in any domain."""
    pairs: _Pairs = {}
    for info in infos:
        for other in info.pods.values():
            for sign, own in ((1, pod.preferred_affinity), (-1, pod.preferred_anti_affinity)):
                for term in own:
                    if namespaces.own(term, other.pod):
                        _add(pairs, info.labels, term.topology_key, sign * term.weight)
            for sign, theirs in (
                (1, other.preferred_affinity),
                (-1, other.preferred_anti_affinity),
            ):
                for term in theirs:
                    if namespaces.existing(term, pod.pod):
                        _add(pairs, info.labels, term.topology_key, sign * term.weight)
            for term in other.required_affinity:
                if hard_weight and namespaces.existing(term, pod.pod):
                    _add(pairs, info.labels, term.topology_key, hard_weight)
    if not pairs:
        return None
    raw = {
        info.name: sum(pairs.get(pair, 0) for pair in info.labels.items())
        for info in infos
        if info.name in feasible
    }
    lowest = min(raw.values())
    span = max(raw.values()) - lowest
    normalized = {
        name: int(100.0 * ((score - lowest) / span)) if span else 0 for name, score in raw.items()
    }
    return raw, normalized

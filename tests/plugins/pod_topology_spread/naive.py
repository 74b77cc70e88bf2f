"""Topology spreading computed pod by pod and node by node, to compare the columns with."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mooring.api import Pod, required_node_affinity
from mooring.api.taints import find_untolerated
from mooring.framework.node_info import NodeInfo
from mooring.framework.status import Status
from mooring.plugins.pod_topology_spread.filtering import LABEL_MISSING, TOO_SKEWED
from mooring.plugins.pod_topology_spread.logarithm import log
from mooring.plugins.pod_topology_spread.spread_constraints import HOSTNAME, SpreadConstraint


def _counts(constraint: SpreadConstraint, pod: Pod, info: NodeInfo) -> bool:
    if constraint.honor_affinity and not required_node_affinity(pod).matches(info.node):
        return False
    untolerated = find_untolerated(info.taints, pod.spec.tolerations)
    return not (constraint.honor_taints and untolerated is not None)


def _pods(constraint: SpreadConstraint, pod: Pod, info: NodeInfo) -> int:
    if constraint.selector.empty:
        return 0
    return sum(
        1
        for other in info.pods.values()
        if not other.pod.is_terminating
        and other.pod.metadata.namespace == pod.metadata.namespace
        and constraint.selector.matches(other.pod.metadata.labels)
    )


def _has_all(constraints: Sequence[SpreadConstraint], info: NodeInfo) -> bool:
    return all(constraint.topology_key in info.labels for constraint in constraints)


def filter_nodes(
    constraints: Sequence[SpreadConstraint], pod: Pod, infos: Sequence[NodeInfo]
) -> dict[str, Status]:
    """Return the refusals by node."""
    domains: list[dict[str, int]] = [{} for _ in constraints]
    for info in infos:
        if not _has_all(constraints, info):
            continue
        for found, constraint in zip(domains, constraints, strict=True):
            if _counts(constraint, pod, info):
                value = info.labels[constraint.topology_key]
                found[value] = found.get(value, 0) + _pods(constraint, pod, info)
    refused = {}
    for info in infos:
        for found, constraint in zip(domains, constraints, strict=True):
            value = info.labels.get(constraint.topology_key)
            if value is None:
                refused[info.name] = LABEL_MISSING
                break
            enough = len(found) >= constraint.min_domains
            least = min(found.values(), default=2**31 - 1) if enough else 0
            own = int(constraint.selector.matches(pod.metadata.labels))
            if found.get(value, 0) + own - least > constraint.max_skew:
                refused[info.name] = TOO_SKEWED
                break
    return refused


def score_nodes(
    constraints: Sequence[SpreadConstraint],
    pod: Pod,
    infos: Sequence[NodeInfo],
    feasible: Collection[str],
    require_all: bool,
) -> tuple[dict[str, int], dict[str, int]]:
    """Return raw and normalised scores by node."""
    candidates = [info for info in infos if info.name in feasible]
    ignored = {info.name for info in candidates if require_all and not _has_all(constraints, info)}
    domains: list[dict[str, int]] = [
        {
            info.labels.get(constraint.topology_key, ""): 0
            for info in candidates
            if info.name not in ignored
        }
        for constraint in constraints
    ]
    for info in infos:
        if require_all and not _has_all(constraints, info):
            continue
        for found, constraint in zip(domains, constraints, strict=True):
            value = info.labels.get(constraint.topology_key, "")
            if value in found and _counts(constraint, pod, info):
                found[value] += _pods(constraint, pod, info)
    raw = {}
    for info in candidates:
        score = 0.0
        for found, constraint in zip(domains, constraints, strict=True):
            value = info.labels.get(constraint.topology_key)
            if value is None:
                continue
            if constraint.topology_key == HOSTNAME:
                count, size = _pods(constraint, pod, info), len(candidates) - len(ignored)
            else:
                count, size = found.get(value, 0), len(found)
            score += count * log(size + 2) + (constraint.max_skew - 1)
        raw[info.name] = 0 if info.name in ignored else int(score) + (score % 1 >= 0.5)
    judged = [score for name, score in raw.items() if name not in ignored]
    highest, lowest = max(judged, default=0), min(judged, default=0)
    normalized = {
        name: 0
        if name in ignored
        else 100
        if highest == 0
        else 100 * (highest + lowest - score) // highest
        for name, score in raw.items()
    }
    return raw, normalized

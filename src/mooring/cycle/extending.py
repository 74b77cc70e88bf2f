"""What extenders add to the cycle: they refuse nodes after Filter and add to the scores.

# kube-scheduler: schedule_one.go (findNodesThatPassExtenders, prioritizeNodes)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.api import Pod
from mooring.cycle.scoring import MAX_EXTENDER_PRIORITY, Ranking
from mooring.framework.decision import NodeStatuses, PluginScores
from mooring.framework.extender import Extender
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.framework.status import Status

#: Name under which a pod is queued that extenders refused. # kube-scheduler: framework/types.go
EXTENDER_NAME = "Extender"

_SCALE = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


async def filter_by_extenders(
    extenders: Sequence[Extender], pod: Pod, nodes: Nodes, statuses: NodeStatuses
) -> Nodes:
    """Ask the extenders in turn, each about what the one before left; a failure raises."""
    for extender in extenders:
        if not len(nodes):
            break
        if not extender.is_filter or not extender.is_interested(pod):
            continue
        try:
            result = await extender.filter(pod, nodes.infos())
        except Exception:
            if extender.ignorable:
                continue
            raise
        kept = set(result.feasible)
        mask = np.fromiter((name in kept for name in nodes.names), np.bool_, len(nodes))
        statuses.forget(np.flatnonzero(~mask) if nodes.rows is None else nodes.rows[~mask])
        for name, reason in result.failed.items():
            _refuse(statuses, nodes, name, Status.unschedulable(reason))
        for name, reason in result.failed_and_unresolvable.items():
            _refuse(statuses, nodes, name, Status.unresolvable(reason))
        nodes = nodes.where(mask)
    return nodes


def _refuse(statuses: NodeStatuses, nodes: Nodes, name: str, status: Status) -> None:
    row = nodes.row(name)
    if row >= 0:
        statuses.refuse(np.array([row], dtype=np.intp), status)


async def prioritize_by_extenders(
    extenders: Sequence[Extender], pod: Pod, nodes: Nodes, ranking: Ranking
) -> None:
    """Add the extenders' weighted scores to a ranking; one that fails adds nothing."""
    names = nodes.names
    for extender in extenders:
        if not extender.is_prioritizer or not extender.is_interested(pod):
            continue
        try:
            given = await extender.prioritize(pod, nodes.infos())
            raw = np.array([given.get(name, 0) for name in names], dtype=np.int64)
        except Exception:
            continue
        ranking.scores[extender.name] = PluginScores(raw, raw * _SCALE, extender.weight)
        ranking.totals += raw * (extender.weight * _SCALE)

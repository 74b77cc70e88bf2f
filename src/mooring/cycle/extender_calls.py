"""The part of extenders in the cycle: they refuse nodes after Filter and add to the scores.

# kube-scheduler: schedule_one.go (findNodesThatPassExtenders, prioritizeNodes)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import numpy as np

from mooring.api import Pod
from mooring.cycle.scoring import MAX_EXTENDER_PRIORITY, Ranking
from mooring.framework.decision import NodeStatuses, PluginScores
from mooring.framework.extender import Extender
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.framework.plugin_errors import raise_if_external
from mooring.framework.status import Status
from mooring.observe.logs import kv, vlog
from mooring.observe.series import Gauge
from mooring.typing import Ints

log = logging.getLogger(__name__)

T = TypeVar("T")

# kube-scheduler: framework/types.go
#: Recorded as the unschedulable plugin of a pod that extenders refused.
EXTENDER_NAME = "Extender"

SKIPPING = "Skipping extender as it returned error and has ignorable flag set"
NO_SCORE = "Failed to run extender's priority function. No score given by this extender."

_SCALE = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


async def filter_by_extenders(
    extenders: Sequence[Extender], pod: Pod, nodes: Nodes, statuses: NodeStatuses
) -> Nodes:
    """Return the nodes that all extenders accept, and record the refusals in `statuses`.

    The extenders are called in turn, each with the nodes that the previous one accepted. The
    failure of an extender is raised, unless the extender is ignorable.
    """
    for extender in extenders:
        if not len(nodes):
            return nodes
        if not extender.is_filter or not extender.is_interested(pod):
            continue
        try:
            result = await extender.filter(pod, nodes.infos())
        except BaseException as error:
            raise_if_external(error)
            if not extender.ignorable:
                raise
            log.info(SKIPPING, extra=kv(extender=extender.name, err=error))
            continue
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
    extenders: Sequence[Extender], pod: Pod, nodes: Nodes, ranking: Ranking, asking: Gauge
) -> None:
    """Call the extenders concurrently and add their weighted scores to a ranking.

    An extender that fails adds nothing. `asking` is a gauge of the calls in progress.
    """
    asked = [
        extender
        for extender in extenders
        if extender.is_prioritizer and extender.is_interested(pod)
    ]
    asking.inc(len(asked))
    try:
        answers = await _all_at_once([_ask(extender, pod, nodes) for extender in asked])
    finally:
        asking.dec(len(asked))
    for extender, raw in zip(asked, answers, strict=True):
        if raw is None:
            continue
        scaled = raw * _SCALE
        ranking.scores[extender.name] = PluginScores(raw, scaled, extender.weight)
        # Scores that overflow int64 wrap around, as in Go.
        ranking.totals += scaled * np.int64(extender.weight)


async def _ask(extender: Extender, pod: Pod, nodes: Nodes) -> Ints | None:
    try:
        given = await extender.prioritize(pod, nodes.infos())
        return np.array([given.get(name, 0) for name in nodes.names], dtype=np.int64)
    except BaseException as error:
        raise_if_external(error)
        vlog(log, 5, NO_SCORE, error=error, pod=pod, extender=extender.name)
        return None


async def _all_at_once(questions: Sequence[Coroutine[Any, Any, T]]) -> Sequence[T]:
    """Await all coroutines: concurrently, or one by one if no event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return [await question for question in questions]
    return await asyncio.gather(*questions)

"""A scheduler in memory that says why a pod gets another node than the one expected."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.cycle.scheduling_cycle import by_name
from mooring.framework.decision import Decision
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.outcomes import OutcomeRecorder


class Why(msgspec.Struct, frozen=True):
    """Why a pod gets one node and not another."""

    #: The plugin that refuses the other node, or whose weighted score favours the chosen one most.
    plugin: str = ""
    #: By how much; 0 if the plugin refuses the other node.
    change: int = 0
    #: The refusal.
    reason: str = ""


class MoveRecorder(OutcomeRecorder):
    """A recorder of why pods do not get the nodes where they are expected."""

    def __init__(self) -> None:
        super().__init__(with_details=False)
        #: By uid, the node where a pod is expected.
        self.origins: dict[str, str] = {}
        #: By uid, why a pod has got another node.
        self.reasons: dict[str, Why] = {}

    def record(self, decision: Decision) -> None:
        """Keep the decision on a single pod, and why it is not the expected one."""
        super().record(decision)
        uid = decision.pod.metadata.uid
        origin = self.origins.get(uid, "")
        if origin and origin != decision.node_name:
            why = why_elsewhere(decision, origin, decision.node_name)
            # An attempt that tries only the nominated node has no reason; the one before has.
            if why.plugin:
                self.reasons[uid] = why


class ComparingScheduler(MemoryScheduler):
    """A scheduler that records why pods do not get the nodes where they are expected."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.moves = MoveRecorder()
        super().__init__(*args, recorder=self.moves, **kwargs)

    def decide_without(self, info: PodInfo) -> Decision:
        """Decide for a pod that has a node on the state without this pod; nothing changes."""
        pod, cache = info.pod, self.cache
        unplaced = replace(pod, spec=replace(pod.spec, node_name=""))
        cache.lift_pod(info)
        try:
            return drive(self.cycle.run(unplaced, CycleState(), post_filter=False))
        finally:
            cache.lower_pod(info)
            for work in self.tasks.take_spawned():
                work.close()


def why_elsewhere(decision: Decision, origin: str, target: str) -> Why:
    """Return why a decision prefers `target` to `origin`; without `target` why it refuses that."""
    refusal = _refusal(decision, origin)
    if refusal is not None:
        return Why(refusal.plugin, 0, refusal.message)
    return _largest(weighted_gains(decision, origin, target))


def why_changed(old: Decision, new: Decision, origin: str, target: str) -> Why:
    """Return why `new` prefers `target` to `origin` and `old` does not.

    That is a refusal of one of them alone, or the plugin with the largest change of what its
    weighted score adds to the lead of `target`.
    """
    for decision, name in ((new, origin), (old, target)):
        refusal = _refusal(decision, name)
        if refusal is not None:
            return Why(refusal.plugin, 0, refusal.message)
    before = weighted_gains(old, origin, target)
    after = weighted_gains(new, origin, target)
    names = dict.fromkeys((*after, *before))
    return _largest({name: after.get(name, 0) - before.get(name, 0) for name in names})


def reweighed(decision: Decision, weights: Mapping[str, int]) -> Decision:
    """Return the decision that other weights lead to; plugins without a weight do not count.

    What plugins say does not depend on the weights, so they are not asked again.
    """
    if decision.totals is None or decision.feasible is None:
        return decision
    found = copy.copy(decision)
    found.scores = {
        name: replace(scores, weight=weights[name])
        for name, scores in decision.scores.items()
        if name in weights
    }
    found.totals = np.zeros(len(decision.totals), dtype=np.int64)
    for scores in found.scores.values():
        found.totals += scores.normalized * scores.weight
    best = np.flatnonzero(found.totals == found.totals.max())
    found.node_name = decision.feasible.info(by_name(decision.feasible, best, 0)).name
    return found


def is_best(decision: Decision, name: str) -> bool:
    """Return whether a node is one of the best of a decision."""
    totals = decision.totals
    if totals is None:
        return decision.node_name == name
    position = decision.position(name)
    return position >= 0 and bool(totals[position] == totals.max())


def weighted_gains(decision: Decision, origin: str, target: str) -> dict[str, int]:
    """Return by plugin how much more its weighted score is for `target` than for `origin`."""
    here, there = decision.position(target), decision.position(origin)
    if here < 0 or there < 0:
        return {}
    return {
        name: int(scores.normalized[here] - scores.normalized[there]) * scores.weight
        for name, scores in decision.scores.items()
    }


def _largest(gains: dict[str, int]) -> Why:
    if not gains:
        return Why()
    plugin = max(gains, key=gains.__getitem__)
    return Why(plugin, gains[plugin])


def _refusal(decision: Decision, name: str) -> Status | None:
    """Return the refusal of a node; None if it passes, does not exist or was not asked about."""
    statuses, feasible = decision.statuses, decision.feasible
    if statuses is None or feasible is None or feasible.row(name) < 0:
        return None
    status = statuses.get(name)
    return status if status is not None and status.plugin else None

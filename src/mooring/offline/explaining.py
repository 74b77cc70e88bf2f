"""A scheduler in memory that explains the attempts of some pods as it makes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from msgspec.structs import replace

from mooring.api import Pod
from mooring.explain.examination import Examination, ask_filters, examine
from mooring.framework.decision import Decision
from mooring.offline.memory_scheduler import Attempt, MemoryScheduler


class ExplainingScheduler(MemoryScheduler):
    """Count every pod's attempts, and examine those of the pods whose uids are `explained`."""

    def __init__(self, *args: Any, explained: Collection[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.attempts: Counter[str] = Counter()
        #: Whether a plugin raised an exception in any attempt.
        self.has_raised = False
        #: By uid, every attempt in order.
        self.examinations: dict[str, list[Examination]] = {uid: [] for uid in explained}

    async def schedule_one(self, pod: Pod) -> Decision:
        """Try one pod through all points; the details are kept of explained pods only."""
        decision = await super().schedule_one(pod)
        self.has_raised |= any(status.traceback for status in decision.errors)
        if pod.metadata.uid not in self.examinations:
            _drop_details(decision)
        return decision

    async def explain(self, pod: Pod) -> Examination:
        """Examine one attempt of a pod without applying its decision."""
        self.examinations.setdefault(pod.metadata.uid, [])
        self.discard(await self.decide(pod))
        return self.examinations[pod.metadata.uid][-1]

    async def decide(self, pod: Pod, *, examine: bool = False) -> Attempt:
        """Run PreEnqueue and the scheduling cycle, and look at it closely where that is wanted."""
        uid = pod.metadata.uid
        self.attempts[uid] += 1
        if uid not in self.examinations:
            return await super().decide(pod, examine=examine)
        return await self._examined(pod)

    async def _examined(self, pod: Pod) -> Attempt:
        uid = pod.metadata.uid
        profile = self.profiles[pod.spec.scheduler_name]
        # Asked first: a preemption within the cycle changes the cluster.
        answers = ask_filters(profile, self.cluster.nominator, pod, self.cluster.cache.nodes)
        attempt = await super().decide(pod)
        found = examine(answers, attempt.decision, self.attempts[uid])
        self.examinations[uid].append(found)
        return attempt


def _drop_details(decision: Decision) -> None:
    """Let go of what grows with the number of nodes: a run may hold a decision for every pod."""
    decision.statuses = None
    decision.feasible = None
    decision.scores = {}
    decision.totals = None
    if decision.post_filter is not None:
        decision.post_filter = replace(decision.post_filter, candidates=())

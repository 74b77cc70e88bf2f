"""A scheduler in memory that examines the attempts of some pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from msgspec.structs import replace

from mooring.api import AnyPodGroup, Pod, scheduling_group_key
from mooring.explain.examination import Examination, ask_filters, examine
from mooring.framework.decision import Decision, Outcome
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.examined_group import ExaminedGroup
from mooring.virtual.memory_scheduler import Attempt, MemoryScheduler


class ExplainingScheduler(MemoryScheduler):
    """A scheduler that counts attempts, and examines those of the pods with `explained` uids."""

    def __init__(self, *args: Any, explained: Collection[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.attempts: Counter[str] = Counter()
        #: Whether a plugin raised an exception in any attempt.
        self.has_raised = False
        #: By uid, every attempt in order.
        self.examinations: dict[str, list[Examination]] = {uid: [] for uid in explained}
        #: By "namespace/name" of a pod group, every attempt in order; set for those explained.
        self.group_examinations: dict[str, list[ExaminedGroup]] = {}

    def wants(self, group: AnyPodGroup) -> bool:
        """Return whether the attempts of a group, or of a pod group below it, are explained."""
        return bool(self._explained_in(group))

    def take(self, examined: ExaminedGroup) -> None:
        """Keep what an attempt of a group has looked at."""
        for key in self._explained_in(examined.tried.group):
            self.group_examinations[key].append(examined)

    def _explained_in(self, group: AnyPodGroup) -> list[str]:
        assert self.pod_groups is not None
        leaves = self.pod_groups.leaves(group)
        return [leaf.key for leaf in leaves if leaf.key in self.group_examinations]

    async def explain_in_group(self, pod: Pod) -> list[ExaminedGroup]:
        """Examine one attempt of a pod's group, and carry it out."""
        found = self.group_examinations.setdefault(scheduling_group_key(pod), [])
        await self.schedule_group_of(pod)
        return found

    async def schedule_one(self, pod: Pod, info: QueuedPodInfo | None = None) -> Decision:
        """Try one pod through all points; keep the details only if it is explained."""
        decision = await super().schedule_one(pod, info)
        self.has_raised |= any(status.traceback for status in decision.errors)
        if pod.metadata.uid not in self.examinations:
            drop_details(decision)
        return decision

    async def explain(self, pod: Pod) -> Examination:
        """Examine one attempt of a pod without applying its decision."""
        self.examinations.setdefault(pod.metadata.uid, [])
        self.discard(await self.decide(pod))
        return self.examinations[pod.metadata.uid][-1]

    async def decide(
        self, pod: Pod, info: QueuedPodInfo | None = None, *, examine: bool = False
    ) -> Attempt:
        """Run the scheduling cycle, and examine it if the pod is explained."""
        uid = pod.metadata.uid
        self.attempts[uid] += 1
        if uid not in self.examinations:
            return await super().decide(pod, info, examine=examine)
        return await self._examined(pod, info)

    async def _examined(self, pod: Pod, info: QueuedPodInfo | None) -> Attempt:
        uid = pod.metadata.uid
        profile = self.profiles[pod.spec.scheduler_name]
        # Call the filters first, because a preemption in the cycle changes the cluster.
        answers = ask_filters(profile, self.cluster.nominator, pod, self.cluster.cache.nodes)
        attempt = await super().decide(pod, info)
        if not self.is_grouped(pod) or attempt.decision.outcome is Outcome.GATED:
            found = examine(answers, attempt.decision, self.attempts[uid])
            self.examinations[uid].append(found)
        return attempt


def drop_details(decision: Decision) -> None:
    """Drop what grows with the number of nodes: a run may keep a decision for every pod."""
    decision.statuses = None
    decision.feasible = None
    decision.scores = {}
    decision.totals = None
    if decision.post_filter is not None:
        decision.post_filter = replace(decision.post_filter, candidates=())

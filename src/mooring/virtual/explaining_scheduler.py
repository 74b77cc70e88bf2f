"""A scheduler in memory that examines the attempts of some pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from mooring.api import AnyPodGroup, Pod, scheduling_group_key
from mooring.explain.examination import Answers, Examination, ask_filters, examine
from mooring.framework.decision import Decision
from mooring.framework.nodes import Rows
from mooring.framework.status import Status
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.examined_group import ExaminedGroup
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.outcomes import OutcomeRecorder


class AttemptExaminer(OutcomeRecorder):
    """A recorder that counts attempts, and examines those of the pods with `explained` uids."""

    #: Set by the scheduler whose attempts are examined.
    scheduler: MemoryScheduler

    def __init__(self, explained: Collection[str] = ()) -> None:
        super().__init__()
        self.attempts: Counter[str] = Counter()
        #: Whether a plugin raised an exception in any attempt.
        self.has_raised = False
        #: By uid, every attempt in order.
        self.examinations: dict[str, list[Examination]] = {uid: [] for uid in explained}
        #: By "namespace/name" of a pod group, every attempt in order; set for those explained.
        self.group_examinations: dict[str, list[ExaminedGroup]] = {}
        self._answers: Answers | None = None

    def keeps_details(self, uid: str) -> bool:
        """Return whether a pod is explained."""
        return uid in self.examinations

    # Groups.

    def wants(self, group: AnyPodGroup) -> bool:
        """Return whether the attempts of a group, or of a pod group below it, are explained."""
        return bool(self._explained_in(group))

    def take(self, examined: ExaminedGroup) -> None:
        """Keep what an attempt of a group has looked at."""
        for key in self._explained_in(examined.tried.group):
            self.group_examinations[key].append(examined)

    def _explained_in(self, group: AnyPodGroup) -> list[str]:
        groups = self.scheduler.pod_groups
        assert groups is not None
        return [leaf.key for leaf in groups.leaves(group) if leaf.key in self.group_examinations]

    # Single pods.

    def gated(self, decision: Decision, *, with_group: bool = False) -> None:
        """Count the attempt of a pod that PreEnqueue keeps out, and examine it if it is alone."""
        if with_group:
            self.attempts[decision.pod.metadata.uid] += 1
            return
        self._ask(decision.pod)
        self._examine(decision)

    def deciding(
        self,
        info: QueuedPodInfo,
        start: float,
        within: Rows | None,
        seed: int,
        sampling_start: int,
    ) -> None:
        """Call the filters before the cycle, in which a preemption changes the cluster."""
        if self._group is None:
            self._ask(info.pod)

    def record(self, decision: Decision) -> None:
        """Count, examine and keep the decision on a single pod."""
        self._examine(decision)
        self._note(decision.errors)
        super().record(decision)

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """See SchedulingTap."""
        self._note(failure.faults)
        super().failed(info, failure)

    def post_bind_failed(self, attempt: SchedulingAttempt, faults: Sequence[Status]) -> None:
        """See SchedulingTap."""
        self._note(faults)
        super().post_bind_failed(attempt, faults)

    def _note(self, faults: Iterable[Status]) -> None:
        self.has_raised |= any(status.traceback for status in faults)

    def _ask(self, pod: Pod) -> None:
        if pod.metadata.uid in self.examinations:
            scheduler = self.scheduler
            profile = scheduler.profiles[pod.spec.scheduler_name]
            nodes = scheduler.cache.nodes
            self._answers = ask_filters(profile, scheduler.nominator, pod, nodes)

    def _examine(self, decision: Decision) -> None:
        uid = decision.pod.metadata.uid
        self.attempts[uid] += 1
        if uid in self.examinations and self._answers is not None:
            found = examine(self._answers, decision, self.attempts[uid])
            self.examinations[uid].append(found)


class ExplainingScheduler(MemoryScheduler):
    """A scheduler whose attempts for some pods are examined."""

    def __init__(self, *args: Any, explained: Collection[str] = (), **kwargs: Any) -> None:
        self.examiner = AttemptExaminer(explained)
        super().__init__(*args, recorder=self.examiner, **kwargs)
        self.examiner.scheduler = self

    async def explain_in_group(self, pod: Pod) -> list[ExaminedGroup]:
        """Examine one attempt of a pod's group, and carry it out."""
        found = self.examiner.group_examinations.setdefault(scheduling_group_key(pod), [])
        await self.schedule_group_of(pod)
        return found

    async def explain(self, pod: Pod) -> Examination:
        """Examine one attempt of a pod without applying its decision."""
        examinations = self.examiner.examinations.setdefault(pod.metadata.uid, [])
        self.discard(await self.decide(pod))
        return examinations[-1]

"""Questioner: asks a scheduler of a soak about its pods, at random moments."""

from __future__ import annotations

from random import Random
from typing import Any

from mooring.explain.attempt_history import AttemptHistory
from mooring.explain.live_examination import LiveExaminer
from mooring.framework.decision import Decision
from mooring.framework.status import Status
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.scheduler.scheduler import Scheduler
from mooring.scheduler.taps import SilentTap

#: The share of the moments at which a question is asked.
SHARE = 0.2


class Questioner(SilentTap):
    """An observer that examines pods while the scheduler works; `asks` says whether it does.

    It also passes everything on to a history, whose sizes must stay right.
    """

    def __init__(self, seed: int, *, asks: bool) -> None:
        self.answers = 0
        self._random = Random(f"{seed}/questions")
        self._asks = asks
        self._history = AttemptHistory(300_000)
        self._scheduler: Scheduler | None = None
        self._examiner: LiveExaminer | None = None

    def begin(self, scheduler: Scheduler) -> None:
        """Ask this scheduler."""
        self._scheduler, self._examiner = scheduler, LiveExaminer(scheduler)

    def group_begins(self, info: QueuedPodGroupInfo, start: float, seed: int) -> None:
        """Record."""
        self._history.group_begins(info, start, seed)

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """Ask when all pods of a group have been tried."""
        self._history.group_ends(info, outcome)
        self._ask()

    def gave_back(self, attempt: SchedulingAttempt, status: Status) -> None:
        """Record."""
        self._history.gave_back(attempt, status)

    def deciding(self, info: QueuedPodInfo, *args: Any) -> None:
        """Ask right before a cycle, when a changed random state or sample would show."""
        self._history.deciding(info, *args)
        self._ask()

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """Record."""
        self._history.decided(info, decision, start)

    def permitted(self, attempt: SchedulingAttempt) -> None:
        """Ask while a pod is assumed."""
        self._history.permitted(attempt)
        self._ask()

    def bound(self, attempt: SchedulingAttempt) -> None:
        """Ask between two cycles."""
        self._history.bound(attempt)
        self._ask()

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """Ask before a pod goes back into the queue."""
        self._history.failed(info, failure)
        self._ask()
        self._history.validate()

    def _ask(self) -> None:
        scheduler, examiner = self._scheduler, self._examiner
        assert scheduler is not None and examiner is not None
        if not self._asks or self._random.random() > SHARE:
            return
        pods = [
            pod for pod in scheduler.pods.list() if pod.spec.scheduler_name in scheduler.profiles
        ]
        if pods:
            pod = self._random.choice(pods)
            examiner.examine(pod)
            scheduler.queue.where.of(pod)
            self.answers += 1

"""Explainer: the answers of a running scheduler to questions about its pods.

Questions come from outside, over HTTP. They are answered by the scheduling loop between two
cycles, one at a time, and change nothing. A question that costs more than a look into a table is
subject to a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.binding.binding_pods import PermitWait
from mooring.explain.attempt_details import recorded_decision, recorded_examination
from mooring.explain.attempt_history import AttemptHistory
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.examination import Examination
from mooring.explain.filter_verdicts import PASSES
from mooring.explain.journal_questions import (
    JournalAnswer,
    JournalAnswers,
    JournalQuestion,
)
from mooring.explain.live_examination import NOW, LiveExaminer
from mooring.explain.live_explanation import LiveExplanation
from mooring.explain.questions import AnswerLimitError, QuestionLimit, UnknownPodError
from mooring.explain.record_store import AttemptDetail, RecordBatch
from mooring.explain.scheduler_rules import SchedulerRules
from mooring.framework.tried_groups import GroupLine
from mooring.queue.queue_places import QueuePlace, Whereabouts, place_of
from mooring.scheduler.scheduler import Scheduler

T = TypeVar("T")

#: How many entries a page of the queue has if nothing else is asked for, and at most.
PAGE = 500
LONGEST_PAGE = 5000


class QueuePage(msgspec.Struct, kw_only=True, rename="camel"):
    """A part of the pods that wait, in the order of their names."""

    items: list[QueuePlace]
    #: What to ask the next page with; "" if this is the last one.
    continue_: str = msgspec.field(default="", name="continue")
    #: How many pods wait, on all pages.
    total: int = 0


class Explainer:
    """The answers of one scheduler. Its methods are called in the scheduler's event loop."""

    def __init__(
        self,
        scheduler: Scheduler,
        history: AttemptHistory | None = None,
        journal: JournalAnswers | None = None,
        rules: SchedulerRules | None = None,
    ) -> None:
        #: The records of attempts; None if they are not kept.
        self.history = history
        self._journal = journal
        self._limit = QuestionLimit()
        self.attach(scheduler, rules)

    def attach(self, scheduler: Scheduler, rules: SchedulerRules | None = None) -> None:
        """Ask another scheduler from now on, which takes the place of the one so far."""
        self._scheduler = scheduler
        #: The rules by which it decides; None if they are not known.
        self.rules = rules
        self._examiner = LiveExaminer(scheduler)

    async def explain_pod(
        self, namespace: str, name: str, attempt: int | None = None
    ) -> LiveExplanation:
        """Explain an attempt of a pod; None is the last one, 0 asks the plugins now.

        An attempt whose details were dropped is replayed from the journal, in another process.
        Raise UnknownPodError, TooManyQuestions, AnswerLimitError, or ObjectError if no profile
        serves the pod.
        """
        answer = None
        if self._journal is not None and attempt != NOW:
            question = await self._between_cycles(lambda: self._question(namespace, name, attempt))
            if question is not None:
                answer = await self._ask_journal(self._journal, question)
        return await self._between_cycles(lambda: self._explain(namespace, name, attempt, answer))

    async def queue_page(self, after: str = "", limit: int = PAGE) -> QueuePage:
        """Return where the pods are that wait, from the first name after `after` on."""
        return await self._between_cycles(lambda: self._queue_page(after, limit))

    def records_since(self, sequence: int, limit: int | None = None) -> RecordBatch:
        """Return the records that were made or changed after `sequence`, at most `limit`."""
        if self.history is None:
            return RecordBatch((), missed=False)
        return self.history.since(sequence, limit)

    async def wait_for_records(self, sequence: int) -> None:
        """Wait until there is a record after `sequence`; forever if no records are kept."""
        if self.history is None:
            await asyncio.get_running_loop().create_future()
        else:
            await self.history.wait(sequence)

    async def node_names(self) -> Sequence[str]:
        """Return the names of the nodes that the scheduler knows."""
        return await self._between_cycles(lambda: tuple(self._scheduler.cache.nodes.names))

    async def _between_cycles(self, answer: Callable[[], T]) -> T:
        answered: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def run() -> None:
            if answered.done():
                # The question was withdrawn.
                return
            try:
                answered.set_result(answer())
            except Exception as error:
                answered.set_exception(error)

        self._scheduler.inbox.post(run)
        return await answered

    # ---- one pod

    def _find(
        self, namespace: str, name: str, attempt: int | None
    ) -> tuple[Pod | None, AttemptDetail | None]:
        """Return a pod, or None if it does not exist, and its attempt, or None if unknown."""
        pod = self._scheduler.pods.get(name, namespace)
        known = None if self.history is None else self.history.find(namespace, name, attempt)
        if attempt is None and pod is not None and known is not None:
            # The records may be of another pod that had the name.
            known = known if known.record.uid == pod.metadata.uid else None
        return pod, known

    def _question(self, namespace: str, name: str, attempt: int | None) -> JournalQuestion | None:
        """Return the question for the journal; None if the journal is not needed."""
        pod, known = self._find(namespace, name, attempt)
        if known is not None and known.details is not None:
            return None
        uid = since = None
        if known is not None:
            uid, since, attempt = known.record.uid, known.record.time, known.record.attempt
        elif pod is not None and attempt is None:
            place = self._place(pod)
            if place is not None and not place.attempts:
                # The pod was never tried.
                return None
            uid = pod.metadata.uid
        self._limit.admit(self._scheduler.clock.now())
        return JournalQuestion(
            namespace=namespace, name=name, attempt=attempt, uid=uid or "", since=since or 0.0
        )

    async def _ask_journal(
        self, journal: JournalAnswers, question: JournalQuestion
    ) -> JournalAnswer | None:
        try:
            return await journal.explain(question)
        except AnswerLimitError as error:
            pod, _ = self._find(question.namespace, question.name, None)
            if question.attempt is not None or pod is None:
                raise
            # No attempt was named, so the plugins can be asked now instead.
            return JournalAnswer(problem=str(error))

    def _explain(
        self, namespace: str, name: str, attempt: int | None, answer: JournalAnswer | None
    ) -> LiveExplanation:
        pod, known = self._find(namespace, name, attempt)
        record = None if known is None else known.record
        from_journal = answer is not None and answer.found is not None
        if answer is not None and answer.found is not None:
            found, asked_now, tree = answer.found, False, answer.tree
            record = record or answer.record
        else:
            self._check(namespace, name, attempt, pod, known)
            found, asked_now = self._details(pod, attempt, known)
            tree = self._last_tree(record)
        return LiveExplanation(
            time=self._scheduler.clock.now(),
            found=found,
            record=record,
            asked_now=asked_now,
            from_journal=from_journal,
            journal_problem="" if answer is None else answer.problem,
            others=[other for other in self._records(namespace, name) if other is not record],
            queue=None if pod is None else self._place(pod),
            tree=tree,
            current_node="" if pod is None else pod.spec.node_name,
            pod=pod,
            exists=pod is not None,
            extenders=[extender.name for extender in self._scheduler.extenders],
        )

    def _check(
        self,
        namespace: str,
        name: str,
        attempt: int | None,
        pod: Pod | None,
        known: AttemptDetail | None,
    ) -> None:
        if known is not None or (pod is not None and not attempt):
            return
        if attempt:
            records = self._records(namespace, name)
            numbers = ", ".join(str(record.attempt) for record in records) or "none"
            raise UnknownPodError(
                f"attempt {attempt} of pod {namespace}/{name} is not known; known are: {numbers}"
            )
        raise UnknownPodError(f"pod {namespace}/{name} is not known to the scheduler")

    def _details(
        self, pod: Pod | None, attempt: int | None, known: AttemptDetail | None
    ) -> tuple[Examination, bool]:
        """Return what the plugins said, and whether they were asked now."""
        if known is not None and known.details is not None:
            recorded = recorded_examination(known.record, known.details)
            if pod is None or pod.spec.node_name or not self._is_last(known):
                return recorded, False
            # The pod still waits. If nothing has changed, the plugins can say more about it.
            now = self._examine(pod)
            return (_combined(recorded, now), False) if _agree(recorded, now) else (recorded, False)
        if pod is None:
            assert known is not None
            decision = recorded_decision(known.record, None)
            return Examination(decision, known.record.attempt, known.record.node), False
        return self._examine(pod), True

    def _records(self, namespace: str, name: str) -> Sequence[AttemptRecord]:
        return () if self.history is None else self.history.records(namespace, name)

    def _last_tree(self, record: AttemptRecord | None) -> Sequence[GroupLine]:
        """Return the groups of a pod's tree in the last attempt of the tree."""
        composite = "" if record is None else record.composite_pod_group
        return self.history.tree(composite) if composite and self.history is not None else ()

    def _is_last(self, known: AttemptDetail) -> bool:
        assert self.history is not None
        last = self.history.find(known.record.namespace, known.record.name)
        return last is not None and last.record is known.record

    def _examine(self, pod: Pod) -> Examination:
        self._limit.admit(self._scheduler.clock.now())
        return self._examiner.examine(pod)

    # ---- the queue

    def _place(self, pod: Pod) -> QueuePlace | None:
        wait = self._scheduler.on_the_way.wait_of(pod.metadata.uid)
        if wait is not None:
            return _at_permit(wait)
        found = self._scheduler.queue.where.of(pod)
        if found is None and self._scheduler.cache.is_assumed(pod.metadata.uid):
            # It is being bound.
            return place_of(pod, Whereabouts.IN_FLIGHT)
        return found

    def _places(self) -> Iterator[QueuePlace]:
        scheduler = self._scheduler
        waits = {wait.pod.metadata.uid: wait for wait in scheduler.on_the_way.waits()}
        for place in scheduler.queue.where.all():
            if place.uid not in waits:
                yield place
        for wait in waits.values():
            yield _at_permit(wait)

    def _queue_page(self, after: str, limit: int) -> QueuePage:
        self._limit.admit(self._scheduler.clock.now())
        limit = max(1, min(limit, LONGEST_PAGE))
        places = sorted(self._places(), key=lambda place: place.key)
        found = list(islice((place for place in places if place.key > after), limit + 1))
        following = found[limit - 1].key if len(found) > limit else ""
        return QueuePage(items=found[:limit], continue_=following, total=len(places))


def _at_permit(wait: PermitWait) -> QueuePlace:
    place = place_of(wait.pod, Whereabouts.WAITING_AT_PERMIT)
    place.plugins, place.since, place.until = wait.pending_plugins(), wait.since, wait.deadline
    return place


def _agree(recorded: Examination, now: Examination) -> bool:
    """Return whether the same nodes are asked, and the first refusal of each is the recorded one.

    A pod of a group was asked about the nodes of one placement only.
    """
    before, after = recorded.verdicts, now.verdicts
    if before.names != after.names or not np.array_equal(before.asked, after.asked):
        return False
    index = {status: code for code, status in enumerate(before.statuses)}
    # The last entry is what PASSES, which is -1, finds.
    codes = [index.get(status, len(index)) for status in after.statuses]
    return np.array_equal(before.first, np.array([*codes, PASSES])[after.first])


def _combined(recorded: Examination, now: Examination) -> Examination:
    """Return a recorded attempt with all that the plugins say now, where the two agree."""
    return Examination(
        recorded.decision,
        recorded.attempt,
        chosen=recorded.chosen,
        verdicts=now.verdicts,
        causes=now.causes,
        near_misses=now.near_misses,
        faults=now.faults,
        feasible=recorded.feasible,
        scores=recorded.scores,
    )

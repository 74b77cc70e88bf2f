"""AttemptHistory: the last attempts of every pod, within a number of bytes.

For each pod the records of its last attempts are kept, also after the pod is gone, and for the
newest attempts the answers of the plugins per node. `RecordStore` holds them.

What the loop tells is first put on a list, and entered for several attempts at once, or when
somebody reads: right after a cycle the processor's caches hold arrays, and the same work takes
three times as long. For the same reason a decision is read only at the next call.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from mooring.api import AnyPodGroup, Pod, scheduling_group_key
from mooring.explain.attempt_details import AttemptDetails, details_of
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.record_store import AttemptDetail, KeptAttempt, RecordBatch, RecordStore
from mooring.explain.recording import (
    AttemptOutline,
    PlacedAttempt,
    composite_key,
    outline_of,
)
from mooring.framework.decision import Decision, Outcome
from mooring.framework.nodes import Rows
from mooring.framework.status import Status
from mooring.framework.tried_groups import GroupLine
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.scheduler.taps import SilentTap

#: Bytes if nothing else is configured.
DEFAULT_MEMORY = 16 * 2**20

#: What happened is entered after so many calls, or when it holds this part of the limit.
_LONGEST_LOG = 100
_LOG_SHARE = 8
#: Bytes of a decision without its arrays, but with its pod.
_DECISION_SIZE = 5000
#: Bytes of an entry of an array.
_NODE_SIZE = 8
#: How many arrays of an attempt are usually new if it shares answers with earlier ones.
_NEW_ARRAYS = 4
#: How many attempts of scheduled pods in a row have their answers kept, and for how many nodes per
#: second answers are kept: with 5,000 nodes for 10 attempts per second. The default memory holds
#: the answers of about 70 attempts of this size. Keeping the answers of an attempt takes a third of
#: the time of its cycle.
_BURST = 64
_NODES_PER_SECOND = 50_000
#: For how many cycles of a pod in one attempt of its group answers are kept: those of the first
#: cycle and of the latest ones. Any of them may turn out to be the one that counts.
_DETAILED_TRIALS = 8
#: For how many trees of groups the last attempt is kept.
_MOST_TREES = 500


class _Decided(msgspec.Struct, frozen=True, gc=False):
    """A decision with its pod, and the number and start time of the attempt."""

    decision: Decision
    info: QueuedPodInfo
    attempt: int
    start: float


class AttemptHistory(SilentTap):
    """Records of attempts, and the answers of the newest. Owned by the scheduling loop.

    It is a tap of the scheduler; one history can follow several schedulers in turn.
    """

    def __init__(self, limit: int = DEFAULT_MEMORY) -> None:
        #: Bytes that are kept at most.
        self.limit = limit
        self._store = RecordStore()
        #: What happened and is not entered yet: placements without answers, the uids of bound
        #: pods, and calls with their arguments. `_log_size` is the bytes of the arguments.
        self._log: list[PlacedAttempt | str | tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._log_size = 0
        #: By uid: attempts before Permit, and attempts in their binding cycle.
        self._deciding: dict[str, KeptAttempt] = {}
        self._binding: dict[str, KeptAttempt] = {}
        #: The random state and the sampling start of the cycle that is running.
        self._seed = self._sampling_start = 0
        #: The latest decision; None if it has been put on the list.
        self._decided: _Decided | None = None
        #: The pod group that is being tried, and when its attempt began.
        self._group: AnyPodGroup | None = None
        self._group_info: QueuedPodGroupInfo | None = None
        self._group_start = 0.0
        #: By uid, the cycles of the group's pods so far, until it is known which of them counts.
        self._trials: dict[str, list[KeptAttempt]] = {}
        #: By "namespace/name" of the top: the last attempt of each tree, the oldest first.
        self._trees: OrderedDict[str, Sequence[GroupLine]] = OrderedDict()
        #: For how many more scheduled pods answers may be kept, the time at which that was
        #: computed, and the time from which it is at least one.
        self._allowed, self._allowed_at, self._allowed_from = float(_BURST), 0.0, 0.0
        self._news: asyncio.Future[None] | None = None

    # ---- reading

    @property
    def size(self) -> int:
        """Return the bytes that are kept, as estimated."""
        self._settle()
        return self._store.size

    @property
    def count(self) -> int:
        """Return how many records are kept."""
        self._settle()
        return self._store.count

    @property
    def latest(self) -> int:
        """Return the sequence of the latest record; 0 if there is none."""
        self._settle()
        return self._store.latest

    def records(self, namespace: str, name: str) -> Sequence[AttemptRecord]:
        """Return the attempts of the pods with a name, the oldest first."""
        self._settle()
        return [kept.record for kept in self._store.of_pod(namespace, name)]

    def find(self, namespace: str, name: str, attempt: int | None = None) -> AttemptDetail | None:
        """Return an attempt of a pod by number, or the last one; of equals, the last."""
        self._settle()
        for kept in reversed(self._store.of_pod(namespace, name)):
            if attempt is None or kept.record.attempt == attempt:
                return AttemptDetail(kept.record, kept.details)
        return None

    def tree(self, composite: str) -> Sequence[GroupLine]:
        """Return the groups of a tree in its last attempt; `composite` is the key of its top."""
        return self._trees.get(composite, ())

    def since(self, sequence: int, limit: int | None = None) -> RecordBatch:
        """Return the first records, at most `limit`, that were made or changed after `sequence`."""
        self._settle()
        return self._store.since(sequence, limit)

    async def wait(self, sequence: int) -> None:
        """Wait until there is a record after `sequence`. Called in the scheduler's event loop."""
        while self.latest <= sequence:
            if self._news is None or self._news.done():
                self._news = asyncio.get_running_loop().create_future()
            # Several readers wait for the same future, and one of them may be cancelled.
            await asyncio.shield(self._news)

    # ---- the tap

    def group_begins(self, info: QueuedPodGroupInfo, start: float, seed: int) -> None:
        """Take note of the group that the next pods are tried with."""
        self._list_decision()
        self._group, self._group_info, self._group_start = info.group, info, start
        # A scheduler that was stopped does not tell how the attempt for a group ended.
        self._log.append((self._drop_trials, ()))

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """Drop decisions that were only trials, and keep the result of a tree of groups."""
        self._list_decision()
        self._group = self._group_info = None
        if info.tree is not None:
            self._trees[info.group.key] = info.tree.lines()
            self._trees.move_to_end(info.group.key)
            if len(self._trees) > _MOST_TREES:
                self._trees.popitem(last=False)
        self._log.append((self._drop_trials, ()))

    def deciding(
        self,
        info: QueuedPodInfo,
        start: float,
        within: Rows | None,
        seed: int,
        sampling_start: int,
    ) -> None:
        """Remember what the cycle begins with."""
        if self._decided is not None:
            self._list_decision()
        self._seed, self._sampling_start = seed, sampling_start

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """Take note of a decision; the attempt goes on."""
        if self._decided is not None:
            self._list_decision()
        self._decided = _Decided(decision, info, info.attempts, start)

    def _list_decision(self) -> None:
        """Put the latest decision on the list, unless it is there already."""
        decided, self._decided = self._decided, None
        if decided is not None:
            details = self._details(decided)
            outline = outline_of(
                decided.decision,
                decided.attempt,
                decided.start,
                self._seed,
                self._sampling_start,
                self._group,
            )
            enter = self._enter_decision if self._group is None else self._enter_trial
            self._log.append((enter, (outline, details)))

    def _details(self, decided: _Decided) -> AttemptDetails | None:
        """Return the answers in a decision if they are kept; this may enter the list first."""
        decision = decided.decision
        if decision.outcome is Outcome.SCHEDULED and not self._keeps_more(decided):
            return None
        return self._kept_details(decision)

    def _kept_details(self, decision: Decision) -> AttemptDetails:
        """Return the answers in a decision, which are to be kept; the list may be entered."""
        details = details_of(decision, self._store.parts)
        # Cached scores are shared, except for those of the few plugins that follow the pods.
        arrays = _NEW_ARRAYS if details.scores is decision.scores else 2 + 2 * len(details.scores)
        self._log_size += _DECISION_SIZE + decision.num_nodes * _NODE_SIZE * arrays
        if self._log_size > self.limit // _LOG_SHARE:
            self._settle()
        return details

    def _keeps_more(self, decided: _Decided) -> bool:
        """Return whether the answers of one more scheduled pod are to be kept."""
        now = decided.start
        if self._allowed_at <= now < self._allowed_from:
            return False
        nodes = decided.decision.num_nodes
        more = max(0.0, now - self._allowed_at) * _NODES_PER_SECOND / nodes
        left = min(float(_BURST), self._allowed + more) - 1.0
        keeps = left >= 0.0
        self._allowed, self._allowed_at = left if keeps else left + 1.0, now
        self._allowed_from = now + (1.0 - self._allowed) * nodes / _NODES_PER_SECOND
        return keeps

    def permitted(self, attempt: SchedulingAttempt) -> None:
        """Take note that a pod has found its node."""
        decided = self._decided
        if decided is not None and decided.info is attempt.info and self._group is None:
            self._decided = None
            decision = decided.decision
            placed = PlacedAttempt(
                attempt,
                decided.attempt,
                decision.unschedulable_plugins,
                self._seed,
                self._sampling_start,
            )
            if self._keeps_more(decided):
                details = self._kept_details(decision)
                self._log.append((self._enter_placed, (placed, details)))
            else:
                self._log.append(placed)
        else:
            self._list_decision()
            self._list_counted(attempt.info.uid)
            self._log.append((self._enter_permitted, (attempt.info.uid,)))
        self._settle_if_needed()

    def gave_back(self, attempt: SchedulingAttempt, status: Status) -> None:
        """Take note of why a binding cycle failed."""
        self._list_decision()
        self._log.append((self._enter_lost_node, (attempt.info.uid, status)))

    def bound(self, attempt: SchedulingAttempt) -> None:
        """Take note that an attempt has reached its end."""
        self._log.append(attempt.info.uid)

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """Take note of an attempt that failed."""
        self._list_decision()
        self._list_counted(info.uid)
        group = (self._group, self._group_start)
        told = (info.uid, info.pod, info.attempts, failure, group)
        self._log.append((self._enter_failure, told))
        self._settle_if_needed()

    def _list_counted(self, uid: str) -> None:
        """Put on the list which cycle of a pod counts, if it is tried with its group."""
        if self._group_info is not None:
            self._log.append((self._enter_counted, (uid, self._group_info.counted.get(uid))))

    # ---- entering what happened

    def _settle_if_needed(self) -> None:
        """Enter what happened if the list is long, or if somebody waits for records."""
        if len(self._log) >= _LONGEST_LOG or (self._news is not None and not self._news.done()):
            self._settle()

    def _settle(self) -> None:
        """Enter everything that is on the list."""
        self._list_decision()
        log, self._log, self._log_size = self._log, [], 0
        binding = self._binding
        for entry in log:
            if type(entry) is PlacedAttempt:
                self._enter_placed(entry, None)
            elif type(entry) is str:
                if (kept := binding.pop(entry, None)) is not None:
                    kept.record.bound = True
            elif type(entry) is tuple:
                enter, args = entry
                enter(*args)
        if log:
            self._shrink()

    def _drop_trials(self) -> None:
        for trials in self._trials.values():
            for kept in trials:
                self._store.drop_details(kept)
        self._trials.clear()

    def _enter_trial(self, outline: AttemptOutline, details: AttemptDetails | None) -> None:
        """Enter a decision in a placement of a group, or in a trial without other pods."""
        kept = self._make_kept(outline, details)
        self._binding.pop(kept.record.uid, None)
        trials = self._trials.setdefault(kept.record.uid, [])
        trials.append(kept)
        if len(trials) > _DETAILED_TRIALS:
            self._store.drop_details(trials[-_DETAILED_TRIALS])

    def _enter_counted(self, uid: str, number: int | None) -> None:
        """Keep the cycle of a pod that counts, and forget the others."""
        for place, kept in enumerate(self._trials.pop(uid, ())):
            if place == number:
                self._deciding[uid] = kept
            else:
                self._store.drop_details(kept)

    def _enter_decision(self, outline: AttemptOutline, details: AttemptDetails | None) -> None:
        kept = self._make_kept(outline, details)
        uid = kept.record.uid
        # A scheduler that was stopped does not tell how its binding cycles ended.
        self._binding.pop(uid, None)
        self._deciding[uid] = kept

    def _enter_placed(self, placed: PlacedAttempt, details: AttemptDetails | None) -> None:
        """Enter a decision whose pod has passed Permit or waits there."""
        kept = self._make_kept(placed, details)
        self._binding[kept.record.uid] = kept
        self._publish(kept)

    def _make_kept(
        self, made_from: AttemptOutline | PlacedAttempt, details: AttemptDetails | None
    ) -> KeptAttempt:
        kept = KeptAttempt(made_from.record(), details)
        if (before := self._deciding.pop(kept.record.uid, None)) is not None:
            self._store.drop_details(before)
        if details is not None:
            self._store.count_details(kept)
        return kept

    def _enter_permitted(self, uid: str) -> None:
        kept = self._deciding.pop(uid, None)
        if kept is not None:
            self._binding[uid] = kept
            self._publish(kept)

    def _enter_lost_node(self, uid: str, status: Status) -> None:
        if (kept := self._binding.get(uid)) is not None:
            kept.record.binding_error = status.message

    def _enter_failure(
        self,
        uid: str,
        pod: Pod,
        attempt: int,
        failure: Failure,
        group: tuple[AnyPodGroup | None, float],
    ) -> None:
        """Publish an attempt, or publish it again if its binding cycle failed."""
        kept = self._binding.pop(uid, None) or self._deciding.pop(uid, None)
        if kept is None:
            # The group failed before the pod was tried in the placement that counts.
            kept = KeptAttempt(_untried(pod, attempt, *group))
        record = kept.record
        record.outcome = (Outcome.UNSCHEDULABLE if failure.rejected else Outcome.ERROR).value
        record.message = failure.message
        record.refusing_plugins = tuple(sorted({*failure.unschedulable, *failure.pending}))
        record.nominated_node = failure.nominated or ""
        self._publish(kept)

    # ---- keeping

    def _publish(self, kept: KeptAttempt) -> None:
        self._store.publish(kept)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _shrink(self) -> None:
        """Drop the oldest if the limit is reached: some at once, as they are entered."""
        # A part is for what is on the list, and as much is freed at once.
        part = self.limit // _LOG_SHARE
        if self._store.size > self.limit - part:
            self._store.shrink(self.limit - 2 * part)

    def validate(self) -> None:
        """Check that the sizes are those of what is kept."""
        self._settle()
        trials = (kept for cycles in self._trials.values() for kept in cycles)
        self._store.validate((*self._deciding.values(), *trials))


def make_history(limit: int) -> AttemptHistory | None:
    """Return a history of at most `limit` bytes; None for 0."""
    return AttemptHistory(limit) if limit else None


def _untried(pod: Pod, attempt: int, group: AnyPodGroup | None, start: float) -> AttemptRecord:
    meta = pod.metadata
    return AttemptRecord(
        sequence=0,
        time=start,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        profile=pod.spec.scheduler_name,
        attempt=attempt,
        outcome="",
        pod_group="" if group is None else scheduling_group_key(pod),
        composite_pod_group=composite_key(group),
    )

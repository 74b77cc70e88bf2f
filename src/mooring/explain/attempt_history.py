"""AttemptHistory: the last attempts of every pod, within a number of bytes.

For each pod the records of its last attempts are kept, also after the pod is gone, and for the
newest attempts the answers of the plugins per node. If the limit is reached, the oldest answers are
dropped first; when none are left, the oldest records.

The answers are mostly arrays that the cycle shares between attempts of identical pods. So sizes are
counted per array, not per attempt: an array counts once, as long as some attempt has it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import msgspec

from mooring.explain.attempt_details import (
    DETAILS_SIZE,
    AttemptDetails,
    details_of,
    size_of_part,
)
from mooring.explain.attempt_record import AttemptRecord
from mooring.framework.decision import Decision, Outcome
from mooring.framework.nodes import Rows
from mooring.framework.status import Status
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.scheduler.taps import SilentTap

#: How many attempts of one pod are kept.
ATTEMPTS_PER_POD = 8
#: Bytes if nothing else is configured.
DEFAULT_MEMORY = 16 * 2**20

#: Bytes of the entries of one record in the tables of the history, by measurement.
_ENTRY_SIZE = 450


class AttemptDetail(msgspec.Struct, frozen=True):
    """A record, with the answers per node if they are still there."""

    record: AttemptRecord
    details: AttemptDetails | None


class RecordBatch(msgspec.Struct, frozen=True):
    """Records that were made or changed after some moment, in order."""

    records: Sequence[AttemptRecord]
    #: Whether records between that moment and the first of these are gone already.
    missed: bool


class _Kept(msgspec.Struct, eq=False):
    record: AttemptRecord
    details: AttemptDetails | None = None
    #: The bytes of the record; 0 while the attempt is in progress.
    size: int = 0


class AttemptHistory(SilentTap):
    """Records of attempts, and the answers of the newest. Owned by the scheduling loop.

    It is a tap of the scheduler; one history can follow several schedulers in turn.
    """

    def __init__(self, limit: int = DEFAULT_MEMORY) -> None:
        #: Bytes that are kept at most.
        self.limit = limit
        #: The sequence of the latest record; 0 if there is none.
        self.latest = 0
        self._size = 0
        #: By sequence, the oldest first.
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        #: Those with answers, by identity, the oldest first.
        self._detailed: OrderedDict[int, _Kept] = OrderedDict()
        #: The finished attempts by "namespace" and "name", in order.
        self._by_pod: dict[tuple[str, str], list[_Kept]] = {}
        #: By uid: attempts before Permit, and attempts in their binding cycle.
        self._deciding: dict[str, _Kept] = {}
        self._binding: dict[str, _Kept] = {}
        #: By identity: the arrays that are kept, how many attempts have each, and its bytes.
        self._parts: dict[int, list[Any]] = {}
        #: The highest sequence that was dropped.
        self._dropped = 0
        self._seed = self._sampling_start = 0
        #: The pod group that is being tried, and when its attempt began.
        self._group, self._group_start = "", 0.0
        self._news: asyncio.Future[None] | None = None

    # ---- reading

    @property
    def size(self) -> int:
        """Return the bytes that are kept, as estimated."""
        return self._size

    def __len__(self) -> int:
        return len(self._kept)

    def records(self, namespace: str, name: str) -> Sequence[AttemptRecord]:
        """Return the attempts of the pods with a name, the oldest first."""
        return [kept.record for kept in self._by_pod.get((namespace, name), ())]

    def find(self, namespace: str, name: str, attempt: int | None = None) -> AttemptDetail | None:
        """Return an attempt of a pod by number, or the last one; of equals, the last."""
        for kept in reversed(self._by_pod.get((namespace, name), ())):
            if attempt is None or kept.record.attempt == attempt:
                return AttemptDetail(kept.record, kept.details)
        return None

    def since(self, sequence: int, limit: int | None = None) -> RecordBatch:
        """Return the first records, at most `limit`, that were made or changed after `sequence`."""
        found = takewhile(lambda number: number > sequence, reversed(self._kept))
        numbers = sorted(found)[:limit]
        return RecordBatch(
            [self._kept[number].record for number in numbers], missed=self._dropped > sequence
        )

    async def wait(self, sequence: int) -> None:
        """Wait until there is a record after `sequence`. Called in the scheduler's event loop."""
        while self.latest <= sequence:
            if self._news is None:
                self._news = asyncio.get_running_loop().create_future()
            # Several readers wait for the same future, and one of them may be cancelled.
            await asyncio.shield(self._news)

    # ---- the tap

    def group_begins(self, info: QueuedPodGroupInfo, start: float, seed: int) -> None:
        """Take note of the group that the next pods are tried with."""
        self._group, self._group_start = info.group.key, start

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """Forget what was decided in trials only."""
        self._group = ""
        for member in info.each():
            if (kept := self._deciding.pop(member.uid, None)) is not None:
                self._drop_details(kept)

    def deciding(
        self,
        info: QueuedPodInfo,
        start: float,
        within: Rows | None,
        seed: int,
        sampling_start: int,
    ) -> None:
        """Remember what the cycle begins with."""
        self._seed, self._sampling_start = seed, sampling_start

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """Record a decision; the attempt goes on."""
        result, feasible = decision.post_filter, decision.feasible
        record = self._record(info, start, decision.outcome)
        record.seed = self._seed
        record.sampling_start = self._sampling_start
        record.node = decision.node_name
        record.message = decision.message
        record.refusing_plugins = _sorted(decision.unschedulable_plugins, decision.pending_plugins)
        record.evaluated = decision.evaluated_nodes
        record.feasible = 0 if feasible is None else len(feasible)
        if result is not None:
            record.nominated_node = result.nominated_node or ""
            record.victims = tuple(pod.key for pod in result.victims)
        kept = _Kept(record, details_of(decision))
        # A scheduler that was stopped does not tell how its binding cycles ended.
        self._binding.pop(info.uid, None)
        if (before := self._deciding.pop(info.uid, None)) is not None:
            self._drop_details(before)
        self._deciding[info.uid] = kept
        self._count_details(kept)
        self._shrink()

    def permitted(self, attempt: SchedulingAttempt) -> None:
        """Publish the attempt of a pod that has found its node."""
        uid = attempt.info.uid
        kept = self._deciding.pop(uid, None)
        if kept is not None:
            self._binding[uid] = kept
            self._publish(kept)

    def gave_back(self, attempt: SchedulingAttempt, status: Status) -> None:
        """Take note of why a binding cycle failed."""
        if (kept := self._binding.get(attempt.info.uid)) is not None:
            kept.record.binding_error = status.message

    def bound(self, attempt: SchedulingAttempt) -> None:
        """Take note that the attempt has reached its end."""
        if (kept := self._binding.pop(attempt.info.uid, None)) is not None:
            kept.record.bound = True

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """Publish an attempt that failed, or publish it again if its binding cycle failed."""
        kept = self._binding.pop(info.uid, None) or self._deciding.pop(info.uid, None)
        outcome = Outcome.UNSCHEDULABLE if failure.rejected else Outcome.ERROR
        if kept is None:
            # The group failed before its pods were tried.
            kept = _Kept(self._record(info, self._group_start, outcome))
        record = kept.record
        record.outcome = outcome.value
        record.message = failure.message
        record.refusing_plugins = _sorted(failure.unschedulable, failure.pending)
        record.nominated_node = failure.nominated or ""
        self._publish(kept)

    def _record(self, info: QueuedPodInfo, start: float, outcome: Outcome) -> AttemptRecord:
        meta = info.pod.metadata
        return AttemptRecord(
            sequence=0,
            time=start,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            profile=info.pod.spec.scheduler_name,
            attempt=info.attempts,
            outcome=outcome.value,
            pod_group=self._group,
        )

    # ---- keeping

    def _publish(self, kept: _Kept) -> None:
        record = kept.record
        if kept.size:
            # It was published before, and has changed.
            self._kept.pop(record.sequence, None)
            self._size -= kept.size
        else:
            attempts = self._by_pod.setdefault((record.namespace, record.name), [])
            attempts.append(kept)
            if len(attempts) > ATTEMPTS_PER_POD:
                self._drop(attempts[0])
        self.latest = record.sequence = self.latest + 1
        self._kept[record.sequence] = kept
        kept.size = _size_of(record)
        self._size += kept.size
        self._shrink()
        if self._news is not None:
            self._news.set_result(None)
            self._news = None

    def _shrink(self) -> None:
        while self._size > self.limit and self._detailed:
            self._drop_details(next(iter(self._detailed.values())))
        while self._size > self.limit and self._kept:
            self._drop(next(iter(self._kept.values())))

    def _drop(self, kept: _Kept) -> None:
        record = kept.record
        key = (record.namespace, record.name)
        attempts = self._by_pod[key]
        attempts.remove(kept)
        if not attempts:
            del self._by_pod[key]
        del self._kept[record.sequence]
        self._dropped = max(self._dropped, record.sequence)
        self._size -= kept.size
        kept.size = 0
        self._drop_details(kept)

    def _count_details(self, kept: _Kept) -> None:
        details = kept.details
        assert details is not None
        self._detailed[id(kept)] = kept
        size, parts = DETAILS_SIZE, self._parts
        for part in details.parts():
            entry = parts.get(id(part))
            if entry is None:
                bytes_ = size_of_part(part)
                parts[id(part)] = [1, bytes_, part]
                size += bytes_
            else:
                entry[0] += 1
        self._size += size

    def _drop_details(self, kept: _Kept) -> None:
        details, kept.details = kept.details, None
        if details is None:
            return
        del self._detailed[id(kept)]
        size, parts = DETAILS_SIZE, self._parts
        for part in details.parts():
            entry = parts[id(part)]
            entry[0] -= 1
            if not entry[0]:
                size += entry[1]
                del parts[id(part)]
        self._size -= size

    def validate(self) -> None:
        """Check that the sizes are those of what is kept."""
        every = (*self._kept.values(), *self._deciding.values())
        detailed = [kept for kept in every if kept.details is not None]
        assert {id(kept) for kept in detailed} == set(self._detailed)
        parts = {
            id(part): size_of_part(part)
            for kept in detailed
            if kept.details is not None
            for part in kept.details.parts()
        }
        size = sum(parts.values()) + len(detailed) * DETAILS_SIZE
        size += sum(kept.size for kept in self._kept.values())
        assert size == self._size, f"{self._size} bytes are counted, {size} are kept"
        assert parts.keys() == self._parts.keys(), "arrays are kept for no attempt"
        published = sorted(kept.record.sequence for pod in self._by_pod.values() for kept in pod)
        assert published == sorted(self._kept), "a record is lost"
        assert list(self._kept) == sorted(self._kept), "records are out of order"


def make_history(limit: int) -> AttemptHistory | None:
    """Return a history of at most `limit` bytes; None for 0."""
    return AttemptHistory(limit) if limit else None


def _size_of(record: AttemptRecord) -> int:
    """Return the bytes of a record, its texts and its entries in the tables."""
    texts = (
        record.namespace,
        record.name,
        record.uid,
        record.node,
        record.message,
        record.nominated_node,
        record.binding_error,
        *record.victims,
    )
    return _ENTRY_SIZE + sys.getsizeof(record) + sum(map(sys.getsizeof, texts))


def _sorted(*names: Any) -> tuple[str, ...]:
    found = {name for group in names for name in group}
    return tuple(sorted(found)) if found else ()

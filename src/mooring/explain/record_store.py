"""RecordStore: records of attempts and the answers of the newest, and how many bytes they take.

`shrink` drops the oldest answers first; when none are left, the oldest records.

The answers are mostly arrays that the cycle shares between attempts of identical pods. So sizes are
counted per array, not per attempt: an array counts once, as long as some attempt has it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from mooring.explain.attempt_details import DETAILS_SIZE, AttemptDetails, size_of_part
from mooring.explain.attempt_record import AttemptRecord

#: How many attempts of one pod are kept.
ATTEMPTS_PER_POD = 8

#: Bytes of a record and of its entries in the tables of the store, by measurement, without the
#: texts. Namespaces and names of nodes are shared with other objects.
_ENTRY_SIZE = 1000


class AttemptDetail(msgspec.Struct, frozen=True):
    """A record, with the answers per node if they are still there."""

    record: AttemptRecord
    details: AttemptDetails | None


class RecordBatch(msgspec.Struct, frozen=True):
    """Records that were made or changed after some moment, in order."""

    records: Sequence[AttemptRecord]
    #: Whether records between that moment and the first of these are gone already.
    missed: bool


class KeptAttempt(msgspec.Struct, eq=False, gc=False):
    """A record, with the answers per node until they are dropped."""

    record: AttemptRecord
    details: AttemptDetails | None = None
    #: The bytes of the record; 0 until it is published.
    size: int = 0


class RecordStore:
    """Published records by number and by pod, and the answers of all attempts."""

    def __init__(self) -> None:
        #: The bytes that are kept, as estimated.
        self.size = 0
        #: The sequence of the latest record; 0 if there is none.
        self.latest = 0
        #: By identity: the arrays that are kept, how many attempts have each, and its bytes.
        self.parts: dict[int, list[Any]] = {}
        #: By sequence, the oldest first.
        self._published: OrderedDict[int, KeptAttempt] = OrderedDict()
        #: Those with answers, by identity, the oldest first.
        self._detailed: OrderedDict[int, KeptAttempt] = OrderedDict()
        #: By "namespace" and "name", in order.
        self._by_pod: dict[tuple[str, str], list[KeptAttempt]] = {}
        #: The highest sequence that was dropped.
        self._dropped = 0

    # ---- reading

    @property
    def count(self) -> int:
        """Return how many records are published."""
        return len(self._published)

    def of_pod(self, namespace: str, name: str) -> Sequence[KeptAttempt]:
        """Return the published attempts of the pods with a name, the oldest first."""
        return self._by_pod.get((namespace, name), ())

    def since(self, sequence: int, limit: int | None) -> RecordBatch:
        """Return the first records, at most `limit`, that were made or changed after `sequence`."""
        found = takewhile(lambda number: number > sequence, reversed(self._published))
        numbers = sorted(found)[:limit]
        return RecordBatch(
            [self._published[number].record for number in numbers], missed=self._dropped > sequence
        )

    # ---- records

    def publish(self, kept: KeptAttempt) -> None:
        """Give an attempt the next number; one that has a number has changed."""
        record = kept.record
        if kept.size:
            self._published.pop(record.sequence, None)
            self.size -= kept.size
        else:
            key = (record.namespace, record.name)
            attempts = self._by_pod.get(key)
            if attempts is None:
                self._by_pod[key] = [kept]
            else:
                attempts.append(kept)
                if len(attempts) > ATTEMPTS_PER_POD:
                    self._drop(attempts[0])
        number = self.latest = record.sequence = self.latest + 1
        self._published[number] = kept
        size = kept.size = _size_of(record)
        self.size += size

    def shrink(self, most: int) -> None:
        """Drop the oldest answers, and then the oldest records, until `most` bytes are left."""
        while self.size > most and self._detailed:
            self.drop_details(next(iter(self._detailed.values())))
        while self.size > most and self._published:
            self._drop(next(iter(self._published.values())))

    def _drop(self, kept: KeptAttempt) -> None:
        record = kept.record
        key = (record.namespace, record.name)
        attempts = self._by_pod[key]
        attempts.remove(kept)
        if not attempts:
            del self._by_pod[key]
        del self._published[record.sequence]
        self._dropped = max(self._dropped, record.sequence)
        self.size -= kept.size
        kept.size = 0
        self.drop_details(kept)

    # ---- answers

    def count_details(self, kept: KeptAttempt) -> None:
        """Count the answers of an attempt."""
        details = kept.details
        assert details is not None
        self._detailed[id(kept)] = kept
        size, parts = DETAILS_SIZE, self.parts
        for part in details.parts():
            entry = parts.get(id(part))
            if entry is None:
                entry = parts[id(part)] = [0, size_of_part(part), part]
                size += entry[1]
            entry[0] += 1
        self.size += size

    def drop_details(self, kept: KeptAttempt) -> None:
        """Drop the answers of an attempt, if it has any."""
        details, kept.details = kept.details, None
        if details is None:
            return
        del self._detailed[id(kept)]
        size, parts = DETAILS_SIZE, self.parts
        for part in details.parts():
            entry = parts[id(part)]
            entry[0] -= 1
            if not entry[0]:
                size += entry[1]
                del parts[id(part)]
        self.size -= size

    def validate(self, unpublished: Iterable[KeptAttempt]) -> None:
        """Check that the sizes are those of what is kept, with attempts not published yet."""
        every = (*self._published.values(), *unpublished)
        detailed = [kept for kept in every if kept.details is not None]
        assert {id(kept) for kept in detailed} == set(self._detailed)
        parts = {
            id(part): size_of_part(part)
            for kept in detailed
            if kept.details is not None
            for part in kept.details.parts()
        }
        size = sum(parts.values()) + len(detailed) * DETAILS_SIZE
        size += sum(kept.size for kept in self._published.values())
        assert size == self.size, f"{self.size} bytes are counted, {size} are kept"
        assert parts.keys() == self.parts.keys(), "arrays are kept for no attempt"
        published = sorted(kept.record.sequence for pod in self._by_pod.values() for kept in pod)
        assert published == sorted(self._published), "a record is lost"
        assert list(self._published) == sorted(self._published), "records are out of order"


def _size_of(record: AttemptRecord) -> int:
    """Return the bytes of a record, its texts and its entries in the tables."""
    size = _ENTRY_SIZE + len(record.name) + len(record.uid)
    if record.message or record.binding_error or record.victims:
        size += len(record.message) + len(record.binding_error) + sum(map(len, record.victims))
    return size

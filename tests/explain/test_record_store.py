"""The store of records: numbers, the order in which it drops, and sizes."""

from __future__ import annotations

import numpy as np

from mooring.explain.attempt_details import DETAILS_SIZE, AttemptDetails, size_of_part
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.record_store import ATTEMPTS_PER_POD, KeptAttempt, RecordStore
from mooring.typing import Ints


def attempt(name: str, totals: Ints | None = None) -> KeptAttempt:
    record = AttemptRecord(
        sequence=0,
        time=1.0,
        namespace="shop",
        name=name,
        uid=f"uid of {name}",
        profile="default-scheduler",
        attempt=1,
        outcome="scheduled",
    )
    return KeptAttempt(record, None if totals is None else AttemptDetails(totals=totals))


def publish(store: RecordStore, *attempts: KeptAttempt) -> None:
    for kept in attempts:
        if kept.details is not None:
            store.count_details(kept)
        store.publish(kept)
        store.validate(())


def names(store: RecordStore, since: int = 0) -> list[str]:
    return [record.name for record in store.since(since, None).records]


def test_records_are_numbered_in_the_order_of_publishing() -> None:
    store = RecordStore()
    publish(store, attempt("a"), attempt("b"), attempt("c"))
    assert (store.latest, store.count) == (3, 3)
    assert (names(store), names(store, since=2)) == (["a", "b", "c"], ["c"])
    assert [record.sequence for record in store.since(0, 2).records] == [1, 2]


def test_a_record_that_changes_gets_a_new_number() -> None:
    store = RecordStore()
    changed = attempt("a")
    publish(store, changed, attempt("b"))
    before = store.size
    changed.record.message = "no disk"
    publish(store, changed)
    assert (names(store), store.latest) == (["b", "a"], 3)
    assert store.size == before + len("no disk")
    assert store.of_pod("shop", "a") == [changed]


def test_the_last_attempts_of_a_pod_are_kept() -> None:
    store = RecordStore()
    attempts = [attempt("a") for _ in range(ATTEMPTS_PER_POD + 1)]
    publish(store, *attempts)
    assert store.of_pod("shop", "a") == attempts[1:]
    assert store.of_pod("shop", "b") == ()
    assert store.since(0, None).missed
    assert not store.since(1, None).missed


def test_an_array_counts_once_as_long_as_an_attempt_has_it() -> None:
    store = RecordStore()
    totals = np.arange(1000)
    first, second = attempt("a", totals), attempt("b", totals)
    store.count_details(first)
    alone = store.size
    store.count_details(second)
    assert store.size == alone + DETAILS_SIZE
    store.drop_details(first)
    assert store.size == alone == DETAILS_SIZE + size_of_part(totals)
    store.validate([second])
    store.drop_details(second)
    assert (store.size, store.parts) == (0, {})


def test_the_oldest_answers_are_dropped_first_and_then_the_oldest_records() -> None:
    store = RecordStore()
    attempts = [attempt(name, np.arange(1000)) for name in "abc"]
    publish(store, *attempts)
    store.shrink(store.size - 1)
    assert [kept.details is not None for kept in attempts] == [False, True, True]
    assert names(store) == ["a", "b", "c"]
    store.shrink(sum(kept.size for kept in attempts) - 1)
    store.validate(())
    assert not any(kept.details for kept in attempts)
    assert names(store) == ["b", "c"]
    store.shrink(0)
    assert (store.size, store.count, store.latest) == (0, 0, 3)

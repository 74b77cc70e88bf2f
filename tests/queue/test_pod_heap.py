"""The heap from which any pod can be removed."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.queue.pod_heap import PodHeap
from mooring.queue.queued_pod_info import QueuedPodInfo
from tests.queue.pods import pod


def a_heap() -> PodHeap:
    return PodHeap(lambda info: -info.pod.priority, count(1))


def an_info(name: str, priority: int, sequence: int = 0) -> QueuedPodInfo:
    return QueuedPodInfo(pod(name, priority=priority), 0.0, sequence)


def test_an_empty_heap_gives_nothing() -> None:
    heap = a_heap()
    assert heap.peek() is None
    assert heap.pop() is None
    assert len(heap) == 0


def test_equal_keys_come_out_in_the_order_of_their_sequence() -> None:
    heap = a_heap()
    for sequence in (3, 1, 2):
        heap.push(an_info(f"p{sequence}", 5, sequence))
    popped = [heap.pop() for _ in range(3)]
    assert [info.key for info in popped if info] == ["default/p1", "default/p2", "default/p3"]


def test_a_pod_can_be_put_back_after_it_was_taken_out() -> None:
    heap = a_heap()
    info = an_info("a", 1)
    heap.push(info)
    heap.remove(info)
    info.pod = pod("a", priority=9)
    heap.push(info)
    heap.push(an_info("b", 5))
    assert heap.pop() is info
    assert len(heap) == 1


def test_entries_left_behind_are_tidied_away() -> None:
    heap = a_heap()
    infos = [an_info(f"p{n}", n) for n in range(1000)]
    for info in infos:
        heap.push(info)
    for info in infos[10:]:
        heap.remove(info)
    assert heap.entries < 200
    heap.validate()
    assert {info.key for info in heap} == {f"default/p{n}" for n in range(10)}


def test_a_few_entries_left_behind_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removing stale entries takes time proportional to the heap's size, so it must be rare."""
    tidied: list[int] = []
    heapify = heapq.heapify

    def counting(entries: list[Any]) -> None:
        tidied.append(len(entries))
        heapify(entries)

    monkeypatch.setattr(heapq, "heapify", counting)
    heap = a_heap()
    infos = [an_info(f"p{n}", n) for n in range(1000)]
    for info in infos:
        heap.push(info)
    for info in infos[:499]:
        heap.remove(info)
    assert tidied == []
    for info in infos[499:990]:
        heap.remove(info)
    assert tidied == [499, 249, 124, 61, 30, 14]


def test_a_pod_outside_a_heap_has_no_ticket() -> None:
    heap = a_heap()
    infos = [an_info(f"p{n}", n) for n in range(3)]
    for info in infos:
        heap.push(info)
        assert info.ticket is not None
    heap.remove(infos[0])
    heap.pop()
    assert [info.ticket is None for info in infos] == [True, False, True]


@pytest.mark.parametrize(
    ("removed", "entries"),
    [
        pytest.param(5, 10, id="half of the entries are left behind: all stay"),
        pytest.param(6, 4, id="more than half: only the pods stay"),
        pytest.param(9, 1, id="and so again and again"),
        pytest.param(10, 0, id="an empty heap keeps nothing"),
    ],
)
def test_entries_left_behind_are_at_most_half_of_the_heap(removed: int, entries: int) -> None:
    heap = a_heap()
    infos = [an_info(f"p{n}", n) for n in range(10)]
    for info in infos:
        heap.push(info)
    for info in infos[:removed]:
        heap.remove(info)
    assert heap.entries == entries
    heap.validate()


def test_a_key_that_fails_while_the_heap_is_tidied_costs_no_pod() -> None:
    Moody.left = 10**9
    heap = PodHeap(lambda info: Moody(), count(1))
    infos = [an_info(f"p{n:03}", n, n) for n in range(200)]
    for info in infos:
        heap.push(info)
    Moody.left = 0
    for info in infos[:150]:
        heap.remove(info)
    heap.validate()
    assert [heap.pop() for _ in range(50)] == infos[:149:-1]


def test_a_key_that_fails_while_a_pod_is_popped_costs_no_pod() -> None:
    Moody.left = 10**9
    heap = PodHeap(lambda info: Moody(), count(1))
    infos = [an_info(f"p{n}", n, n) for n in range(10)]
    for info in infos:
        heap.push(info)
    Moody.left = 0
    first = heap.pop()
    heap.validate()
    rest = [heap.pop() for _ in range(9)]
    assert rest == sorted(rest, key=lambda info: -info.pod.priority)
    assert {first, *rest} == set(infos)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=300))
def test_pods_come_out_as_if_sorted(plan: list[tuple[int, bool]]) -> None:
    heap = a_heap()
    inside = []
    for sequence, (priority, removed) in enumerate(plan):
        info = an_info(f"p{sequence}", priority, sequence)
        heap.push(info)
        inside.append(info)
        if removed:
            heap.remove(inside.pop(len(inside) // 2))
        heap.validate()
    expected = sorted(inside, key=lambda info: (-info.pod.priority, info.sequence))
    assert [heap.pop() for _ in expected] == expected
    assert heap.pop() is None


def _broken(info: QueuedPodInfo) -> Any:
    if info.pod.name == "odd":
        raise ValueError("boom")
    return 0


def _incomparable(info: QueuedPodInfo) -> Any:
    return "text" if info.pod.name == "odd" else 7


class Moody:
    """A key whose comparison raises after `left` calls."""

    left = 0

    def __lt__(self, other: object) -> bool:
        Moody.left -= 1
        if Moody.left < 0:
            raise ValueError("boom")
        return False


@pytest.mark.parametrize(
    "key",
    [pytest.param(_broken, id="raises"), pytest.param(_incomparable, id="cannot be compared")],
)
def test_a_key_that_fails_costs_the_order_but_no_pod(
    key: Any, caplog: pytest.LogCaptureFixture
) -> None:
    heap = PodHeap(key, count(1))
    for name, priority in (("low", 1), ("odd", 5), ("high", 9)):
        heap.push(an_info(name, priority))
        heap.validate()
    popped = [heap.pop() for _ in range(4)]
    assert [info and info.pod.name for info in popped] == ["high", "odd", "low", None]
    assert len(caplog.records) == 1


@given(st.integers(0, 120), st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_whenever_the_key_fails_no_pod_is_lost(left: int, priorities: list[int]) -> None:
    Moody.left = left
    heap = PodHeap(lambda info: Moody(), count(1))
    infos = [an_info(f"p{n}", priority, n) for n, priority in enumerate(priorities)]
    for info in infos:
        heap.push(info)
    removed = infos[::3]
    for info in removed:
        heap.remove(info)
    popped = [heap.pop() for _ in range(len(infos) - len(removed))]
    assert {info.key for info in popped if info} == {
        info.key for info in infos if info not in removed
    }
    assert heap.pop() is None

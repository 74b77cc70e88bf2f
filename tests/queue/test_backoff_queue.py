"""How long a pod waits after a failure, and in which order waits end."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import pytest

from mooring.queue.backoff_queue import BackoffQueue
from mooring.queue.queued_pod_info import NEVER, QueuedPodInfo
from tests.queue.pods import pod


def a_backoff(**settings: Any) -> BackoffQueue:
    return BackoffQueue(lambda info: -info.pod.priority, count(1), **settings)


def failed(
    name: str, at: float, *, refusals: int = 0, errors: int = 0, priority: int = 0
) -> QueuedPodInfo:
    info = QueuedPodInfo(pod(name, priority=priority), at, 0)
    info.unschedulable_count, info.consecutive_errors = refusals, errors
    if not errors:
        info.unschedulable_plugins = frozenset({"P"})
    return info


@pytest.mark.parametrize(
    ("failures", "initial", "maximum", "seconds"),
    [
        pytest.param(1, 1, 10, 1, id="the first failure waits the initial time"),
        pytest.param(2, 1, 10, 2, id="the second twice as long"),
        pytest.param(4, 1, 10, 8, id="the fourth eight times"),
        pytest.param(5, 1, 10, 10, id="never longer than the maximum"),
        pytest.param(64, 1, 2.0**63, 2.0**63, id="which it reaches exactly"),
        pytest.param(6400, 1, 10, 10, id="however often it failed"),
        pytest.param(6400, 0, 10, 0, id="an initial time of zero stays zero"),
        pytest.param(1, 20, 10, 10, id="an initial time above the maximum is cut"),
    ],
)
def test_duration(failures: int, initial: float, maximum: float, seconds: float) -> None:
    assert a_backoff(initial=initial, maximum=maximum).duration(failures) == seconds


@pytest.mark.parametrize(
    ("info", "settings", "expiration"),
    [
        pytest.param(failed("a", 100.7, refusals=1), {}, 101.0, id="cut to the second"),
        pytest.param(
            failed("a", 100.7, refusals=1), {"pop_early": False}, 101.7, id="exact without popping"
        ),
        pytest.param(failed("a", 100.0, refusals=4, errors=2), {}, 102.0, id="errors count first"),
        pytest.param(failed("a", 100.0, refusals=4), {"maximum": 0}, NEVER, id="switched off"),
        pytest.param(failed("a", 100.0), {}, NEVER, id="no failure, no wait"),
    ],
)
def test_when_a_wait_is_over(info: QueuedPodInfo, settings: Any, expiration: float) -> None:
    a_backoff(**settings).start(info)
    assert info.backoff_expiration == expiration


@pytest.mark.parametrize(
    ("pop_early", "now", "waits"),
    [
        pytest.param(True, 101.0, True, id="still in the second of its end"),
        pytest.param(True, 101.99, True, id="to the end of that second"),
        pytest.param(True, 102.0, False, id="not in the next"),
        pytest.param(False, 101.5, True, id="at the moment itself"),
        pytest.param(False, 101.51, False, id="not after it"),
    ],
)
def test_is_waiting(pop_early: bool, now: float, waits: bool) -> None:
    backoff = a_backoff(pop_early=pop_early)
    info = failed("a", 100.5, refusals=1)
    backoff.start(info)
    assert backoff.is_waiting(info, now) is waits


def fill(backoff: BackoffQueue, *infos: QueuedPodInfo) -> None:
    for info in infos:
        backoff.start(info)
        backoff.push(info)


def test_waits_that_end_in_the_same_second_end_by_importance() -> None:
    backoff = a_backoff()
    fill(
        backoff,
        failed("early", 100.1, refusals=1),
        failed("important", 100.9, refusals=1, priority=9),
        failed("before", 98.0, refusals=1),
    )
    popped = [backoff.pop_early() for _ in range(3)]
    assert [info.key for info in popped if info] == [
        "default/before",
        "default/important",
        "default/early",
    ]


def test_without_an_order_waits_that_end_in_the_same_second_end_by_priority() -> None:
    def broken(info: QueuedPodInfo) -> Any:
        raise ValueError("boom")

    backoff = BackoffQueue(broken, count(1))
    fill(
        backoff,
        failed("early", 100.1, refusals=1),
        failed("important", 100.9, refusals=1, priority=9),
        failed("before", 98.0, refusals=1),
    )
    popped = [backoff.pop_early() for _ in range(3)]
    assert [info.pod.name for info in popped if info] == ["before", "important", "early"]


def test_pods_that_met_a_fault_are_not_taken_early() -> None:
    backoff = a_backoff()
    fill(backoff, failed("faulty", 100.0, errors=1))
    assert backoff.pop_early() is None
    assert len(backoff) == 1
    assert [info.key for info in backoff.pop_completed(102.0)] == ["default/faulty"]


def test_all_completed_waits_end_at_once() -> None:
    backoff = a_backoff()
    fill(
        backoff,
        failed("faulty", 100.0, errors=1),
        failed("refused", 100.0, refusals=1),
        failed("later", 105.0, refusals=1),
    )
    assert [info.key for info in backoff.pop_completed(102.0)] == [
        "default/refused",
        "default/faulty",
    ]
    assert [info.key for info in backoff] == ["default/later"]
    backoff.validate()


@pytest.mark.parametrize(
    ("pop_early", "moment"),
    [
        pytest.param(True, 102.0, id="when the second has passed"),
        pytest.param(False, math.nextafter(101.5, math.inf), id="just after the moment"),
    ],
)
def test_the_next_completion_is_the_first_moment_that_completes(
    pop_early: bool, moment: float
) -> None:
    backoff = a_backoff(pop_early=pop_early)
    assert backoff.next_completion() is None
    fill(backoff, failed("b", 105.0, refusals=1), failed("a", 100.5, errors=1))
    assert backoff.next_completion() == moment
    assert list(backoff.pop_completed(math.nextafter(moment, 0))) == []
    assert len(list(backoff.pop_completed(moment))) == 1


def test_a_pod_can_be_taken_out_of_either_heap() -> None:
    backoff = a_backoff()
    faulty, refused = failed("faulty", 100.0, errors=1), failed("refused", 100.0, refusals=1)
    fill(backoff, faulty, refused)
    backoff.remove(faulty)
    backoff.remove(refused)
    assert len(backoff) == 0
    assert backoff.next_completion() is None


def test_pods_whose_attempt_took_long_are_not_taken_early() -> None:
    backoff = a_backoff()
    costly = failed("costly", 100.0, refusals=1)
    costly.backs_off = True
    fill(backoff, costly)
    backoff.validate()
    assert backoff.pop_early() is None
    assert [info.key for info in backoff.pop_completed(102.0)] == ["default/costly"]

"""The rate limit of requests."""

from __future__ import annotations

import asyncio

import pytest

from mooring.client.rate_limit import RateLimit, rate_limit
from mooring.observe.clock import VirtualClock
from tests.client.fakes import RecordingClock, SettableClock


def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    limit = RateLimit(10.0, 3, VirtualClock())
    assert [round(limit.reserve(), 3) for _ in range(6)] == [0, 0, 0, 0.1, 0.2, 0.3]


def test_a_pause_gives_back_no_more_than_the_burst() -> None:
    clock = VirtualClock()
    limit = RateLimit(10.0, 3, clock)
    for _ in range(3):
        limit.reserve()
    clock.advance(0.1)
    assert limit.reserve() == 0
    assert limit.reserve() == pytest.approx(0.1)
    clock.advance(3600)
    assert [limit.reserve() for _ in range(4)] == [0, 0, 0, pytest.approx(0.1)]


def test_nobody_waits_while_a_part_of_a_token_is_left_over() -> None:
    clock = VirtualClock()
    limit = RateLimit(10.0, 2, clock)
    assert [limit.reserve(), limit.reserve()] == [0.0, 0.0]
    clock.advance(0.15)
    assert limit.reserve() == 0.0


async def test_waiting_takes_as_long_as_was_said() -> None:
    clock = RecordingClock()
    limit = RateLimit(2.0, 1, clock)
    assert await limit.wait() == 0
    assert await limit.wait() == pytest.approx(0.5)
    assert clock.slept == [pytest.approx(0.5)]


async def test_whoever_gives_up_gives_the_place_back() -> None:
    class Forever(VirtualClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    limit = RateLimit(1.0, 1, Forever())
    await limit.wait()
    task = asyncio.create_task(limit.wait())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert limit.reserve() == pytest.approx(1.0)


def test_a_clock_set_back_does_no_harm() -> None:
    clock = SettableClock(start=1000.0)
    limit = RateLimit(10.0, 1, clock)
    limit.reserve()
    clock.set(0.0)
    assert limit.reserve() == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("qps", "burst", "spaced"),
    [
        pytest.param(50.0, 100, 0.02, id="as configured"),
        pytest.param(0.0, 0, 0.2, id="client-go's default where it is zero"),
    ],
)
def test_the_limit_of_a_configuration(qps: float, burst: int, spaced: float) -> None:
    limit = rate_limit(qps, burst, VirtualClock())
    assert limit is not None
    for _ in range(burst or 10):
        assert limit.reserve() == 0
    assert limit.reserve() == pytest.approx(spaced)


def test_a_negative_rate_is_no_limit() -> None:
    assert rate_limit(-1.0, 0, VirtualClock()) is None


@pytest.mark.parametrize(("qps", "burst"), [(0.0, 1), (1.0, 0)])
def test_a_limit_that_lets_nothing_pass_is_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        RateLimit(qps, burst, VirtualClock())

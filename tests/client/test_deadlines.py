from __future__ import annotations

import asyncio
import math

import pytest

from mooring.client.deadlines import ConnectError, Deadlines


async def test_a_wait_ends_at_its_deadline() -> None:
    deadlines = Deadlines()
    now = asyncio.get_running_loop().time()
    with pytest.raises(ConnectError, match="too late") as raised:
        async with deadlines.until(now + 0.01, "too late"):
            await asyncio.Event().wait()
    assert isinstance(raised.value.cause, TimeoutError)


@pytest.mark.parametrize("deadline", [math.inf, 10**9])
async def test_a_wait_that_is_over_in_time_costs_nothing(deadline: float) -> None:
    async with Deadlines().until(deadline, "too late"):
        await asyncio.sleep(0)


async def test_what_fails_within_is_told_as_it_is() -> None:
    """This includes a timeout of another kind."""
    for error in (ValueError("x"), TimeoutError("connection timed out")):
        with pytest.raises(type(error), match=str(error)):
            async with Deadlines().until(math.inf, "too late"):
                raise error


async def test_closing_ends_all_waits_and_allows_no_more() -> None:
    deadlines = Deadlines()

    async def wait() -> None:
        async with deadlines.until(math.inf, "too late"):
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(wait()) for _ in range(3)]
    await asyncio.sleep(0)
    deadlines.close()
    async with asyncio.timeout(30.0):
        for task in tasks:
            with pytest.raises(ConnectError, match="the client was closed"):
                await task
    with pytest.raises(ConnectError, match="the client was closed"):
        await wait()


async def test_a_cancelled_wait_is_cancelled() -> None:
    deadlines = Deadlines()

    async def wait() -> None:
        async with deadlines.until(math.inf, "too late"):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_closing_does_not_touch_a_wait_that_is_over() -> None:
    deadlines = Deadlines()
    for deadline in (math.inf, 10**9):
        async with deadlines.until(deadline, "too late"):
            pass
    deadlines.close()
    # A wait that was kept would be ended here.
    await asyncio.sleep(0)
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


async def test_a_wait_that_is_late_is_late_even_if_all_is_closed_afterwards() -> None:
    deadlines = Deadlines()
    late = asyncio.Event()

    async def wait() -> None:
        async with deadlines.until(asyncio.get_running_loop().time(), "too late"):
            try:
                await asyncio.Event().wait()
            finally:
                late.set()
                # The clean-up takes a while.
                await asyncio.sleep(0)
                await asyncio.sleep(0)

    task = asyncio.create_task(wait())
    async with asyncio.timeout(30.0):
        await late.wait()
        deadlines.close()
        with pytest.raises(ConnectError, match="the client was closed"):
            await task

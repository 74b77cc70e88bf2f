"""Whether an exception raised in plugin code is the plugin's or comes from outside."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis.errors import StopTest

from mooring.framework.plugin_errors import (
    AbandonedError,
    abandon,
    error_text,
    ignore_signal,
    raise_if_external,
)


class Unreadable(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.fixture
def handled_elsewhere() -> Iterator[None]:
    """Install a handler for SIGINT that raises nothing."""
    before = signal.signal(signal.SIGINT, ignore_signal)
    yield
    signal.signal(signal.SIGINT, before)


def is_external(error: BaseException) -> bool:
    try:
        raise_if_external(error)
    except BaseException as raised:
        assert raised is error
        return True
    return False


@pytest.mark.parametrize(
    "error",
    [ValueError(), SystemExit(), GeneratorExit(), asyncio.CancelledError(), BaseException()],
    ids=repr,
)
def test_what_a_plugin_raises_is_its_own(error: BaseException) -> None:
    assert not is_external(error)


@pytest.mark.parametrize(
    "error",
    [AbandonedError(), pytest.fail.Exception("failed"), pytest.skip.Exception(), StopTest(1)],
    ids=lambda error: type(error).__name__,
)
def test_what_ends_a_test_or_a_coroutine_is_not(error: BaseException) -> None:
    assert is_external(error)


def test_an_interrupt_may_be_the_users() -> None:
    assert is_external(KeyboardInterrupt())


@pytest.mark.usefixtures("handled_elsewhere")
def test_an_interrupt_is_the_plugins_where_signals_raise_nothing() -> None:
    assert not is_external(KeyboardInterrupt())


def test_an_interrupt_on_another_thread_is_the_plugins() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(is_external(KeyboardInterrupt())))
    thread.start()
    thread.join()
    assert found == [False]


async def test_a_cancellation_of_the_task_is_its_owners() -> None:
    seen: list[bool] = []

    async def work() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        try:
            await future
        except asyncio.CancelledError as error:
            seen.append(is_external(error))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            seen.append(is_external(error))

    task = asyncio.create_task(work())
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,))
    assert seen == [False, True]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (asyncio.CancelledError(), "CancelledError"),
        (Unreadable(), "Unreadable: <Unreadable whose message cannot be read>"),
    ],
)
def test_how_an_exception_is_worded(error: BaseException, text: str) -> None:
    assert error_text(error) == text


async def waits() -> None:
    await asyncio.sleep(3600)


async def swallows() -> None:
    try:
        await asyncio.sleep(3600)
    except AbandonedError:
        return


@pytest.mark.parametrize("make", [waits, swallows])
def test_a_coroutine_that_nothing_resumes_is_ended(make: Callable[[], Any]) -> None:
    async def drive() -> None:
        work = make()
        work.send(None)
        abandon(work)
        assert work.cr_frame is None

    asyncio.run(drive())

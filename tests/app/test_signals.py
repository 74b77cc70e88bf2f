"""Signals: the first stops the process, the second ends it, and so does a blocked loop."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Any

import pytest

from mooring.app.signals import ProcessSignals, ended_by_interrupt, run_until_done
from mooring.framework.plugin_errors import ignore_signal

LONG = 60.0


class Ended:
    """A substitute for the end of the process."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.statuses: list[int] = []

    def __call__(self, status: int) -> None:
        self.statuses.append(status)
        self.event.set()


def restore(signals: ProcessSignals) -> None:
    """Restore the handlers, which a process that was asked to end leaves in place."""
    signals._turned = None
    signals.__exit__(None, None, None)


async def test_a_first_signal_stops_and_a_second_ends_at_once() -> None:
    stopped, ended = asyncio.Event(), Ended()
    signals = ProcessSignals(asyncio.get_running_loop(), stopped.set, grace=LONG, end=ended)
    try:
        with signals:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(stopped.wait(), LONG)
            assert ended.statuses == []
            signal.raise_signal(signal.SIGINT)
            assert await asyncio.to_thread(ended.event.wait, LONG)
        assert ended.statuses == [1]
    finally:
        restore(signals)


async def test_a_second_signal_ends_a_loop_that_is_blocked() -> None:
    ended = Ended()
    signals = ProcessSignals(asyncio.get_running_loop(), lambda: None, grace=LONG, end=ended)
    try:
        with signals:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            # From here on the loop is blocked.
            assert ended.event.wait(LONG)
    finally:
        restore(signals)
    assert ended.statuses == [1]


async def test_a_loop_that_stays_blocked_after_a_signal_ends_the_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended = Ended()
    signals = ProcessSignals(asyncio.get_running_loop(), lambda: None, grace=0.2, end=ended)
    try:
        with signals:
            signal.raise_signal(signal.SIGTERM)
            assert ended.event.wait(LONG)
    finally:
        restore(signals)
    assert ended.statuses == [1]
    assert "The process does not end after a signal, and is ended" in caplog.messages


async def test_a_process_that_has_done_all_and_does_not_end_is_ended() -> None:
    ended, stopped = Ended(), asyncio.Event()
    signals = ProcessSignals(asyncio.get_running_loop(), stopped.set, grace=0.2, end=ended)
    try:
        with signals:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(stopped.wait(), LONG)
        # The loop still runs, as it does while it waits for the threads of its executor.
        assert await asyncio.to_thread(ended.event.wait, LONG)
    finally:
        restore(signals)
    assert ended.statuses == [1]


async def test_a_loop_that_turns_may_take_its_time_to_stop() -> None:
    ended, turns = Ended(), 0
    grace = 0.5
    signals = ProcessSignals(asyncio.get_running_loop(), lambda: None, grace=grace, end=ended)
    try:
        with signals:
            signal.raise_signal(signal.SIGTERM)
            while turns < 4 * grace / 0.05:
                turns += 1
                await asyncio.sleep(0.05)
            assert ended.statuses == []
    finally:
        restore(signals)


async def test_other_signals_make_their_calls() -> None:
    called, ended = asyncio.Event(), Ended()
    with ProcessSignals(asyncio.get_running_loop(), lambda: None, end=ended) as signals:
        signals.on(signal.SIGUSR2, called.set)
        signal.raise_signal(signal.SIGUSR2)
        await asyncio.wait_for(called.wait(), LONG)
    assert ended.statuses == []


async def test_handlers_are_those_of_before_afterwards() -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
    before = [signal.getsignal(number) for number in numbers]
    with ProcessSignals(asyncio.get_running_loop(), lambda: None, end=Ended()) as signals:
        signals.on(signal.SIGUSR2, lambda: None)
        assert [signal.getsignal(number) for number in numbers] == [ignore_signal] * 3
    assert [signal.getsignal(number) for number in numbers] == before


async def test_a_forked_child_is_ended_by_its_own_signals() -> None:
    ended, stopped = Ended(), asyncio.Event()
    with ProcessSignals(asyncio.get_running_loop(), stopped.set, end=ended):
        child = os.fork()
        if not child:
            signal.raise_signal(signal.SIGTERM)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        await asyncio.sleep(0)
        assert not stopped.is_set()


def test_an_interrupt_ends_the_process_in_place_of_raising() -> None:
    with ended_by_interrupt():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_on_another_thread_signals_are_left_alone() -> None:
    found: list[Any] = []

    def run() -> None:
        with ended_by_interrupt():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


# The event loop.


async def agen(error: BaseException) -> Any:
    try:
        yield 1
    finally:
        raise error


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["a callback", "a task", "a generator"])
def test_a_loop_goes_on_after_what_a_plugins_own_work_raises(
    where: str, kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise kind

    async def work() -> None:
        fail()

    async def main() -> str:
        loop = asyncio.get_running_loop()
        if where == "a callback":
            loop.call_soon(fail)
        elif where == "a task":
            task = loop.create_task(work())
            await asyncio.wait((task,))
        else:
            generator = agen(kind())
            await anext(generator)
            del generator
        for _ in range(10):
            await asyncio.sleep(0)
        return "done"

    before = signal.signal(signal.SIGINT, ignore_signal)
    try:
        assert run_until_done(main()) == "done"
    finally:
        signal.signal(signal.SIGINT, before)
    assert "A task or callback of a plugin failed" in caplog.messages


def test_an_interrupt_that_may_be_the_users_ends_the_loop() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)
        await asyncio.sleep(LONG)

    with pytest.raises(KeyboardInterrupt):
        run_until_done(main())


def test_what_the_main_coroutine_raises_is_raised() -> None:
    async def main() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run_until_done(main())

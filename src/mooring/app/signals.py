"""Signals: how a process ends when it is asked to, whatever plugin code does meanwhile.

Python runs signal handlers on the main thread, and asyncio runs its own between two callbacks.
While a plugin blocks the event loop neither can end the process, and a handler that raises would
raise into the plugin. So the handlers do nothing. The interpreter writes the number of each signal
to a socket as soon as it arrives, and a thread reads it from there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from mooring.app.plugin_calls import running_call
from mooring.framework.plugin_errors import (
    error_text,
    ignore_signal,
    raise_if_external,
    traceback_text,
)
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Signals that ask a process to end.
TERMINATION = (signal.SIGTERM, signal.SIGINT)
#: Seconds that an event loop may be blocked after such a signal.
GRACE = 5.0
#: Seconds between two checks of the loop.
_INTERVAL = 0.1
#: Seconds that writing the last log line may take.
_LOG_SECONDS = 1.0


class ProcessSignals:
    """The signal handling of a process whose event loop runs on the main thread.

    The first signal that asks the process to end calls `stop` on the loop; a second one ends the
    process at once with status 1. So does an event loop that is blocked for `grace` seconds after
    the first signal, and an interpreter that waits that long for a plugin's threads at its end.

    # apiserver: pkg/server/signal.go
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stop: Callable[[], object],
        *,
        grace: float = GRACE,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self._loop = loop
        self._stop = stop
        self._grace = grace
        self._end = end
        self._thread_id = threading.get_ident()
        self._calls: dict[int, Callable[[], object]] = {}
        self._before: dict[int, Any] = {}
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        #: When the loop last ran, once the process has been asked to end.
        self._turned: float | None = None
        #: Whether the process has finished its work.
        self._left = False
        self._ended = False

    def __enter__(self) -> ProcessSignals:
        self._wakeup_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in TERMINATION:
            self._before[number] = signal.signal(number, ignore_signal)
        os.register_at_fork(after_in_child=self._leave_child)
        # A daemon thread: it keeps running while the interpreter ends, and does not delay that.
        threading.Thread(target=self._run, name="signals", daemon=True).start()
        return self

    def on(self, number: signal.Signals, call: Callable[[], object]) -> None:
        """Call a function on the loop for every signal with this number."""
        self._calls[number] = call
        self._before[number] = signal.signal(number, ignore_signal)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._turned is not None:
            # The process has been asked to end, and the thread continues to make sure that it
            # does: a plugin's threads may keep the loop or the interpreter from ending.
            self._left = True
            return
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._writer.close()

    def _leave_child(self) -> None:
        """Restore default handlers in a child that a plugin forks, detached from the parent."""
        if signal.getsignal(signal.SIGTERM) is ignore_signal:
            signal.set_wakeup_fd(-1)
            for number in self._before:
                signal.signal(number, signal.SIG_DFL)

    # On the signal thread.

    def _run(self) -> None:
        with self._reader:
            while not self._ended:
                wait = None if self._turned is None else _INTERVAL
                if select.select((self._reader,), (), (), wait)[0]:
                    received = self._reader.recv(64)
                    if not received:
                        return
                    for number in received:
                        self._receive(number)
                if self._turned is not None:
                    self._look_at_loop(self._turned)

    def _receive(self, number: int) -> None:
        if number not in TERMINATION:
            self._post(self._calls.get(number, _do_nothing))
        elif self._turned is None:
            self._turned = time.monotonic()
            self._post(self._stop)
        else:
            self._end_process()

    def _look_at_loop(self, turned: float) -> None:
        if time.monotonic() - turned > self._grace:
            # Log on another thread: the blocked thread may hold the lock of the log.
            logging_thread = threading.Thread(target=self._log_end, daemon=True)
            logging_thread.start()
            logging_thread.join(_LOG_SECONDS)
            self._end_process()
            return
        self._post(self._note_turn)

    def _log_end(self) -> None:
        call = running_call(self._thread_id)
        log_error(
            log,
            None,
            "The process does not end after a signal, and is ended",
            plugin="" if call is None else call.plugin,
            point="" if call is None else call.point,
            at="" if call is None else call.place,
        )

    def _end_process(self) -> None:
        self._ended = True
        self._end(1)

    def _post(self, call: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            # The loop is closed: only the end of the interpreter is left.
            return

    def _note_turn(self) -> None:
        if not self._left:
            self._turned = time.monotonic()


def _do_nothing() -> None:
    """Do nothing, for a signal without a call."""


def run_until_done(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop, and return its result.

    SystemExit and KeyboardInterrupt end an event loop, whichever callback or task raises them. If
    that is not `main`, it is a plugin's own task, callback or asynchronous generator: the exception
    is logged and the loop continues.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(main)
        while True:
            try:
                return loop.run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as error:
                if task.done():
                    raise
                raise_if_external(error)
                text = "A task or callback of a plugin failed"
                log_error(log, error_text(error), text, traceback=traceback_text(error))


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once, even in plugin code that ignores exceptions."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""An event loop on virtual time: it jumps to the next timer, and nothing outside can reach it.

Everything that waits (`asyncio.sleep`, `asyncio.timeout`, a `LoopClock`) waits in virtual time, so
hours pass in milliseconds. Tasks that are ready at the same moment run in an order that a seed
chooses, which reveals accidental dependence on that order. Other callbacks keep the order that
asyncio promises.

A `Process` is what a simulation kills: the tasks that were started within it, and their tasks.
While it is suspended, as by SIGSTOP, its tasks do not run, but its timers do, and so do tasks
started by `start_outside`.
"""

from __future__ import annotations

import asyncio
import contextvars
import random as random_module
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_process: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)
#: Whether a task runs while its process is suspended.
_outside: contextvars.ContextVar[bool] = contextvars.ContextVar("outside", default=False)


#: After this many turns of the loop without time passing, something must be spinning.
MAX_TURNS = 100_000


class StandstillError(RuntimeError):
    """Virtual time has stopped: everything waits forever, or something spins."""


class Process:
    """Tasks that live and die together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        #: Set while the process's network works.
        self.link = asyncio.Event()
        self.link.set()
        #: Data that a simulation attaches to the process.
        self.notes: dict[Any, Any] = {}
        self.suspended = False
        self._tasks: dict[asyncio.Task[Any], None] = {}
        #: Steps of its tasks that became ready while it was suspended.
        self._held: list[asyncio.Handle] = []

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine, and every task that it starts, within this process."""
        context = contextvars.copy_context()
        context.run(_process.set, self)
        return asyncio.get_running_loop().create_task(work, context=context)

    def kill(self) -> None:
        """Cancel every task; requests that tasks send while they end do not arrive."""
        self.dead = True
        self.resume()
        for task in list(self._tasks):
            task.cancel()

    def suspend(self) -> None:
        """Stop every task from running; a dead process has none."""
        if not self.dead:
            self.suspended = True
            _running_loop().suspended[self] = None

    def resume(self) -> None:
        """Continue the tasks, whatever has happened meanwhile."""
        if self.suspended:
            self.suspended = False
            _running_loop().resume(self, self._held)
            self._held = []

    def hold(self, handle: asyncio.Handle) -> bool:
        """Keep a step of a task for later, if it is one of this process; return whether it is."""
        context: contextvars.Context = handle._context  # type: ignore[attr-defined]
        held = context.get(_process) is self and not context.get(_outside)
        if held:
            self._held.append(handle)
        return held

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Add a task to the process until it ends."""
        self._tasks[task] = None
        task.add_done_callback(lambda task: self._tasks.pop(task, None))


def current_process() -> Process | None:
    """Return the process of the current task, or the one that set the current timer."""
    return _process.get()


def start_outside(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run a coroutine that dies with its process, but runs while that is suspended.

    A message that was sent stays in transit even if its sender is suspended.
    """
    context = contextvars.copy_context()
    context.run(_outside.set, True)
    return asyncio.get_running_loop().create_task(work, context=context)


def _running_loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop that runs timers in order without waiting, and tasks in a random order."""

    _ready: deque[asyncio.Handle]
    _run_once: Any

    def __init__(self, random: random_module.Random) -> None:
        super().__init__()
        self._random = random
        self._passed = 0.0
        self._turns = 0
        self._selector = self
        self.suspended: dict[Process, None] = {}
        #: Contexts of uncaught exceptions.
        self.failures: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.failures.append(context))
        self.set_task_factory(_make_task)  # type: ignore[arg-type]

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._passed

    def stand_still(self, seconds: float) -> None:
        """Let time pass while nothing runs, as if the process were stopped."""
        self._passed += seconds

    def select(self, timeout: float | None = None) -> list[Any]:
        """Advance virtual time, instead of waiting for sockets."""
        if timeout is None:
            raise StandstillError("everything waits, and nothing will ever happen")
        self._turns = 0 if timeout else self._turns + 1
        if self._turns > MAX_TURNS:
            self._turns = 0
            raise StandstillError(f"something spins at {self._passed:.3f} s")
        self._passed += timeout
        ready = self._ready
        if self.suspended and ready:
            self._hold(ready)
        if len(ready) > 1:
            self._shuffle(ready)
        return []

    def resume(self, process: Process, held: Sequence[asyncio.Handle]) -> None:
        """Schedule the steps that were held back of a process."""
        del self.suspended[process]
        self._ready.extend(held)

    def _hold(self, ready: deque[asyncio.Handle]) -> None:
        """Remove the steps of suspended processes from those that are ready."""
        handles = list(ready)
        ready.clear()
        ready.extend(
            handle
            for handle in handles
            if not any(process.hold(handle) for process in self.suspended)
        )

    def _shuffle(self, ready: deque[asyncio.Handle]) -> None:
        """Shuffle the tasks that are ready; each has at most one step."""
        steps = [place for place, handle in enumerate(ready) if _is_step(handle)]
        if len(steps) > 1:
            handles = [ready[place] for place in steps]
            self._random.shuffle(handles)
            for place, handle in zip(steps, handles, strict=True):
                ready[place] = handle

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: no other thread calls."""


def run_virtually(work: Coroutine[Any, Any, T], random: random_module.Random | None = None) -> T:
    """Run a coroutine to its end on a loop of its own; what it leaves behind is ended.

    `random` chooses the order of tasks; without it, the order is the same in every run.
    """
    loop = VirtualLoop(random_module.Random(0) if random is None else random)
    try:
        try:
            return loop.run_until_complete(work)
        finally:
            loop.run_until_complete(_end_all())
    finally:
        loop.close()


async def _end_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


class LoopClock:
    """The clock of a virtual loop, early or late by `skew` seconds."""

    def __init__(self, start: float = 1_800_000_000.0, skew: float = 0.0) -> None:
        self._start = start + skew
        #: By how many seconds the wall clock was set since the start.
        self.set_by = 0.0

    def now(self) -> float:
        """Return seconds since the epoch, by a clock that never jumps."""
        return self._start + asyncio.get_running_loop().time()

    def wall_time(self) -> float:
        """Return seconds since the epoch, by a clock that is set (`set_by`)."""
        return self.now() + self.set_by

    async def sleep(self, seconds: float) -> None:
        """Wait, in virtual time."""
        await asyncio.sleep(seconds)


def _make_task(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], **options: Any
) -> asyncio.Task[T]:
    task = asyncio.Task(work, loop=loop, **options)
    context = options.get("context") or contextvars.copy_context()
    process = context.get(_process)
    if process is not None:
        process.adopt(task)
        if process.dead:
            task.cancel()
    return task


def _is_step(handle: asyncio.Handle) -> bool:
    callback = handle._callback  # type: ignore[attr-defined]
    return isinstance(getattr(callback, "__self__", None), asyncio.Task)

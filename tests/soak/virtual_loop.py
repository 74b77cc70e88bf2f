"""An event loop on virtual time: it jumps to the next timer, and nothing outside can reach it.

Everything that waits (`asyncio.sleep`, `asyncio.timeout`, a `LoopClock`) waits in virtual time, so
hours pass in milliseconds. Tasks that are ready at the same moment go on in an order that a seed
chooses: what depends on that order by accident shows. Other callbacks keep the order that asyncio
promises.

A `Process` is what a simulation kills: the tasks that were started within it, and their tasks.
"""

from __future__ import annotations

import asyncio
import contextvars
import random as random_module
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_process: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


#: Turns of the loop within one moment after which nothing but spinning can be going on.
MAX_TURNS = 100_000


class StandstillError(RuntimeError):
    """Report that virtual time has stopped: everything waits for ever, or something spins."""


class Process:
    """Tasks that live and die together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        #: Set while its network works.
        self.link = asyncio.Event()
        self.link.set()
        #: What a simulation remembers of it.
        self.notes: dict[Any, Any] = {}
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine, and every task that it starts, within this process."""
        context = contextvars.copy_context()
        context.run(_process.set, self)
        return asyncio.get_running_loop().create_task(work, context=context)

    def kill(self) -> None:
        """End every task where it waits; what they still do as they end reaches nobody."""
        self.dead = True
        for task in list(self._tasks):
            task.cancel()

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Count a task in until it ends."""
        self._tasks[task] = None
        task.add_done_callback(lambda task: self._tasks.pop(task, None))


def current_process() -> Process | None:
    """Return the process within which this runs, or which set a timer that this is the end of."""
    return _process.get()


class VirtualLoop(asyncio.BaseEventLoop):
    """Run timers in their order, at once, and tasks in an order of its own."""

    _ready: deque[asyncio.Handle]
    _run_once: Any

    def __init__(self, random: random_module.Random) -> None:
        super().__init__()
        self._random = random
        self._passed = 0.0
        self._turns = 0
        self._selector = self
        #: What the loop was told of exceptions that nobody caught.
        self.failures: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.failures.append(context))
        self.set_task_factory(_make_task)  # type: ignore[arg-type]

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._passed

    def select(self, timeout: float | None = None) -> list[Any]:
        """Let time pass, where a selector would wait for sockets."""
        if timeout is None:
            raise StandstillError("everything waits, and nothing will ever happen")
        self._turns = 0 if timeout else self._turns + 1
        if self._turns > MAX_TURNS:
            self._turns = 0
            raise StandstillError(f"something spins at {self._passed:.3f} s")
        self._passed += timeout
        ready = self._ready
        if len(ready) > 1:
            self._shuffle(ready)
        return []

    def _shuffle(self, ready: deque[asyncio.Handle]) -> None:
        """Change places among tasks that are ready; each has one step at most."""
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


def run_virtually(work: Coroutine[Any, Any, T], random: random_module.Random) -> T:
    """Run a coroutine to its end on a loop of its own; what it leaves behind is ended."""
    loop = VirtualLoop(random)
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
    """The wall clock of a virtual loop."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._start = start

    def now(self) -> float:
        """Return seconds since the epoch."""
        return self._start + asyncio.get_running_loop().time()

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

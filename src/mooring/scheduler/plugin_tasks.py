"""PluginTasks: work beside a loop that must neither wait for it nor fail with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol

from mooring.api import Pod
from mooring.binding.binding_cycle import StartTask, wait_in_task
from mooring.binding.binding_pods import PermitWait
from mooring.cycle.profile import Profile
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_text, raise_if_external, traceback_text
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

#: Seconds that cancelled work, and a plugin that is closed, have to end.
_GRACE = 5.0

FAILED = "Work beside the scheduling loop failed"


class Tasks(Protocol):
    """The interface to what runs beside a scheduling loop: `PluginTasks`, or virtual tasks."""

    #: Makes the task of its own in which PreBind runs; None: PreBind runs in place.
    start_task: StartTask | None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the loop; log what it raises."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        """Run a plugin's work on behalf of a pod; log what it raises."""
        ...

    async def wait_for(self, wait: PermitWait) -> None:
        """Suspend the current coroutine until a wait at Permit has ended."""
        ...

    async def stop(self, grace: float) -> None:
        """End what runs, after at most `grace` seconds."""
        ...


class PluginTasks:
    """The asyncio tasks that run beside a loop. Owned by that loop."""

    wait_for = staticmethod(wait_in_task)

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.start_task: StartTask | None = asyncio.ensure_future

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task; log what it raises."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log_error(log, task.exception(), FAILED)

    def spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        """Run a plugin's work on behalf of a pod; log what it raises."""
        self.start(self._contain(work, pod))

    async def _contain(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        try:
            await work
        except BaseException as error:
            raise_if_external(error)
            log_failure(error, pod)

    async def stop(self, grace: float) -> None:
        """Wait for the tasks for at most `grace` seconds, then cancel those that are left."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        left = tuple(self._tasks)
        for task in left:
            task.cancel()
        if left:
            # A plugin may ignore the cancellation of its task.
            await asyncio.wait(left, timeout=_GRACE)


def log_failure(error: BaseException, pod: Pod) -> None:
    """Log what a plugin's work on behalf of a pod raised."""
    traceback = traceback_text(error)
    log_error(log, error_text(error), FAILED, pod=pod, traceback=traceback)


async def close_plugins(profiles: Iterable[Profile]) -> None:
    """Close the plugins of profiles; log what they raise."""
    for profile in profiles:
        for plugin in profile.plugins.values():
            await _close(plugin)


async def _close(plugin: Plugin) -> None:
    try:
        async with asyncio.timeout(_GRACE):
            await plugin.close()
    except BaseException as error:
        raise_if_external(error)
        log_error(
            log,
            error_text(error),
            "Closing a plugin failed",
            plugin=plugin.name,
            traceback=traceback_text(error),
        )

"""PluginTasks: work beside a loop that must neither wait for it nor fail with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any

from mooring.api import Pod
from mooring.cycle.profile import Profile
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_text, raise_if_external, traceback_text
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

#: Seconds that cancelled work, and a plugin that is closed, have to end.
_GRACE = 5.0

_FAILED = "Work beside the scheduling loop failed"


class PluginTasks:
    """The tasks that run beside a loop. Owned by that loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task; log what it raises."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log_error(log, task.exception(), _FAILED)

    def spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        """Run a plugin's work on behalf of a pod; log what it raises."""
        self.start(self._contain(work, pod))

    async def _contain(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        try:
            await work
        except BaseException as error:
            raise_if_external(error)
            traceback = traceback_text(error)
            log_error(log, error_text(error), _FAILED, pod=pod, traceback=traceback)

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

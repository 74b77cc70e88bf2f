"""Work beside a loop: it is started, contained, waited for and cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring import Plugin
from mooring.scheduler.plugin_tasks import PluginTasks, close_plugins
from mooring.testing import make_pod
from tests.cycle.scheduling import make_nodes, make_scheduler
from tests.support.virtual_loop import run_virtually


async def fail() -> None:
    raise ValueError("no such thing")


def test_what_work_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def live() -> None:
        tasks = PluginTasks()
        tasks.start(fail())
        tasks.spawn(fail(), make_pod("web"))
        await tasks.stop(1.0)

    run_virtually(live())
    assert caplog.messages == ["Work beside the scheduling loop failed"] * 2


def test_work_ends_or_is_cancelled() -> None:
    said: list[str] = []

    async def work(name: str, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
            said.append(f"{name} ended")
        except asyncio.CancelledError:
            said.append(f"{name} cancelled")
            raise

    async def live() -> None:
        tasks = PluginTasks()
        tasks.start(work("short", 1.0))
        tasks.spawn(work("long", 60.0), make_pod("web"))
        await tasks.stop(5.0)
        await tasks.stop(5.0)

    run_virtually(live())
    assert said == ["short ended", "long cancelled"]


def test_plugins_are_closed_even_if_one_fails(caplog: pytest.LogCaptureFixture) -> None:
    closed: list[str] = []

    class Good(Plugin):
        """A plugin that closes."""

        def filter(self, state: Any, pod: Any, node: Any) -> None: ...

        async def close(self) -> None:
            closed.append(self.name)

    class Bad(Good):
        """A plugin that cannot close."""

        async def close(self) -> None:
            raise OSError("the file is gone")

    class Slow(Good):
        """A plugin that never closes."""

        async def close(self) -> None:
            await asyncio.Event().wait()

    scheduler = make_scheduler([Bad, Slow, Good], make_nodes("n"))
    run_virtually(close_plugins(scheduler.profiles.values()))
    assert closed == ["Good"]
    assert caplog.messages == ["Closing a plugin failed"] * 2

"""An informer: a store that a reflector fills."""

from __future__ import annotations

import asyncio
from typing import Any

from mooring.api import Pod
from mooring.errors import ApiError
from mooring.informers.informer import Informer
from mooring.informers.reflector import Reflector
from mooring.informers.store import EventHandler, Store
from tests.client.fakes import RecordingClock
from tests.informers.scripted import ScriptedSource, Silence, event, page
from tests.support.waiting import PATIENCE


def informer(**script: Any) -> tuple[Informer[Pod], ScriptedSource]:
    clock = RecordingClock()
    source = ScriptedSource(clock, **script)
    store: Store[Pod] = Store()
    reflector = Reflector(Pod, source, store, clock=clock, watch_list=False)
    return Informer("pods", store, reflector), source


async def test_it_has_synced_once_its_store_holds_the_state() -> None:
    pods, _ = informer(lists=[page(5, "a")])
    assert not pods.has_synced
    assert pods.failure is None
    pods.start()
    async with asyncio.timeout(PATIENCE):
        await pods.wait_synced()
    assert pods.has_synced
    assert [pod.name for pod in pods.store.list()] == ["a"]
    await pods.close()
    assert [pod.name for pod in pods.store.list()] == ["a"], "the store keeps its objects"


async def test_handlers_hear_of_what_is_there_and_of_what_comes() -> None:
    pods, source = informer(lists=[page(5, "a")], watches=[[event("ADDED", "b", 6)]])
    heard: list[str] = []
    pods.add_handler(EventHandler(on_add=lambda pod: heard.append(pod.name)))
    pods.start()
    async with asyncio.timeout(PATIENCE):
        await source.over.wait()
    late: list[str] = []
    pods.add_handler(EventHandler(on_add=lambda pod: late.append(pod.name)))
    await pods.close()
    assert heard == ["a", "b"]
    assert sorted(late) == ["a", "b"]


async def test_it_starts_once_and_may_be_closed_at_any_time() -> None:
    pods, source = informer(lists=[page(5)])
    await pods.close()
    pods.start()
    pods.start()
    async with asyncio.timeout(PATIENCE):
        await source.over.wait()
    await pods.close()
    await pods.close()
    assert [verb for verb, _ in source.asked].count("list") == 1


async def test_a_failure_is_kept_until_the_next_success() -> None:
    pods, source = informer(lists=[ApiError(403, "may not list")])
    pods.start()
    async with asyncio.timeout(PATIENCE):
        await source.over.wait()
    assert "may not list" in str(pods.failure)
    assert not pods.has_synced
    await pods.close()


async def test_a_refresh_reads_the_latest_state_and_waits_for_it() -> None:
    pods, source = informer(lists=[page(5, "a"), page(9, "b")], watches=[[Silence()]])
    heard: list[str] = []
    pods.add_handler(
        EventHandler(
            on_add=lambda pod: heard.append(f"+{pod.name}"),
            on_delete=lambda pod: heard.append(f"-{pod.name}"),
        )
    )
    await pods.refresh()
    assert source.asked == [], "it has not been started"
    pods.start()
    async with asyncio.timeout(10):
        await pods.wait_synced()
        await pods.refresh()
        await source.over.wait()
    assert heard == ["+a", "+b", "-a"]
    assert source.versions("list") == ["0", ""]
    await pods.close()

"""Informers, one per kind."""

from __future__ import annotations

import asyncio
from typing import Any

from mooring.api import FinishedPod, Namespace, Node, Pod, Service
from mooring.errors import ApiError
from mooring.informers.factory import InformerFactory
from mooring.informers.informer import Informer
from tests.client.fakes import RecordingClock
from tests.informers.scripted import ScriptedSource, Silence, page
from tests.support.virtual_loop import run_virtually
from tests.support.waiting import PATIENCE

PODS = "status.phase!=Succeeded,status.phase!=Failed"


def factory_of(**script: object) -> tuple[InformerFactory, ScriptedSource]:
    clock = RecordingClock()
    source = ScriptedSource(clock, **script)
    return InformerFactory(source, clock=clock, watch_list=False), source


def test_all_who_ask_share_an_informer() -> None:
    factory, _ = factory_of()
    pods = factory.informer(Pod)
    assert factory.informer("pods.v1.") is pods
    assert factory.lister(Pod) is pods.store
    assert factory.informer("crews.v1.x.io") is not pods
    assert [informer.name for informer in factory] == ["pods.v1.", "crews.v1.x.io"]


async def test_pods_that_have_ended_are_not_asked_for() -> None:
    factory, source = factory_of(lists=[page(5, "a"), page(5)])
    factory.informer(Pod)
    factory.informer(Node)
    factory.start()
    async with asyncio.timeout(PATIENCE):
        await factory.wait_synced()
    await factory.close()
    lists = [options.field_selector for verb, options in source.asked if verb == "list"]
    assert lists == [PODS, ""]


async def test_pods_that_have_ended_can_be_asked_for() -> None:
    factory, source = factory_of(lists=[page(5, "a"), page(5)])
    assert factory.informer(FinishedPod) is not factory.informer(Pod)
    factory.start()
    async with asyncio.timeout(PATIENCE):
        await factory.wait_synced()
    await factory.close()
    lists = [options.field_selector for verb, options in source.asked if verb == "list"]
    assert lists == ["status.phase!=Pending,status.phase!=Running,status.phase!=Unknown", PODS]


async def test_what_is_asked_for_later_is_started_and_waited_for_too() -> None:
    factory, _ = factory_of(lists=[page(5, "a"), page(6, "b")])
    pods = factory.informer(Pod)
    factory.start()
    assert not factory.has_synced and factory.unsynced() == [pods]
    nodes = factory.informer(Node)
    async with asyncio.timeout(PATIENCE):
        await factory.wait_synced()
    assert factory.has_synced and nodes.has_synced and nodes.failure is None
    await factory.close()


async def test_closing_ends_the_watching_and_keeps_what_is_known() -> None:
    factory, source = factory_of(lists=[page(5, "a")])
    pods = factory.informer(Pod)
    factory.start()
    pods.start()
    async with asyncio.timeout(PATIENCE):
        await source.over.wait()
    await factory.close()
    await factory.close()
    assert [one.name for one in pods.store.list()] == ["a"]
    assert len(asyncio.all_tasks()) == 1


async def test_a_refusal_counts_once_the_server_has_let_us_see_anything() -> None:
    forbidden = ApiError(403, "RBAC: not loaded yet", reason="Forbidden")
    # Twice the server has just started and refuses everything; then it has loaded its roles.
    factory, source = factory_of(lists=[forbidden, forbidden, forbidden, page(5, "a"), forbidden])
    namespaces, pods = factory.informer(Namespace), factory.informer(Pod)
    synced: list[str] = []
    notes = [asyncio.create_task(_note(informer, synced)) for informer in (namespaces, pods)]
    factory.start()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*notes)
        await source.over.wait()
    await factory.close()
    assert synced == [pods.name, namespaces.name]
    assert namespaces.failure is forbidden


async def test_without_anything_else_to_see_a_refusal_counts_at_once() -> None:
    forbidden = ApiError(403, "namespaces is forbidden", reason="Forbidden")
    factory, _ = factory_of(lists=[forbidden])
    namespaces = factory.informer(Namespace)
    factory.start()
    async with asyncio.timeout(PATIENCE):
        await factory.wait_synced()
    await factory.close()
    assert namespaces.failure is forbidden


async def _note(informer: Informer[Any], synced: list[str]) -> None:
    await informer.wait_synced()
    synced.append(informer.name)


def test_silent_watches_of_one_client_share_a_limit_and_pods_and_nodes_come_first() -> None:
    async def main() -> list[Any]:
        source = ScriptedSource(RecordingClock(), lists=[page(5)] * 4, watches=[[Silence()]] * 100)
        factories = [InformerFactory(source, watch_list=False) for _ in range(2)]
        for factory, kinds in zip(factories, ((Namespace, Node), (Service, Pod)), strict=True):
            for kind in kinds:
                factory.informer(kind)
            factory.start()
        await asyncio.sleep(29.0)
        assert len(source.watched) == 4
        await asyncio.sleep(600.0)
        for factory in factories:
            await factory.close()
        return source.watched[4:]

    resumed = run_virtually(main())
    assert resumed.count(Pod) == resumed.count(Node) == 10
    assert len(resumed) == 20

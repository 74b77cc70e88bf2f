"""The simulated API server, through the client that schedulers use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import Pod
from mooring.client.client import Client
from mooring.client.resources import ListOptions
from mooring.errors import ApiError, NoAnswerError
from mooring.informers.factory import LIVE_PODS
from tests.soak.api_server import ApiServer
from tests.soak.faults import (
    Breakage,
    FaultPlan,
    RequestFault,
    StreamEnd,
    Weather,
    draw_weather,
)
from tests.soak.object_store import PODS, ObjectStore
from tests.support.virtual_loop import LoopClock, Process, run_virtually

CALM = replace(
    draw_weather(Random(0), 90.0),
    requests=0.0,
    stream_seconds=0.0,
    slow=0.0,
    duplicates=0.0,
    watch_list=True,
    warming=0.0,
)


class Scene:
    """A server with one pod, and a client."""

    def __init__(self, weather: Weather) -> None:
        clock = LoopClock()
        self.server = ApiServer(ObjectStore(), FaultPlan(weather, Random(0)), clock)
        self.store = self.server.store
        self.process = Process("client")
        self.client = Client(self.server.transport(self.process), clock=clock)
        self.pod = self.add("a")

    def add(self, name: str) -> Pod:
        made = self.store.create(
            PODS,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {},
                "status": {"phase": "Pending"},
            },
        )
        uid = made["metadata"]["uid"]
        pod = Pod()
        meta = replace(pod.metadata, name=name, namespace="default", uid=uid)
        return replace(pod, metadata=meta)

    def node_of(self, name: str) -> str:
        return self.store.get(PODS, name, "default")["spec"].get("nodeName", "")


def play(scenario: Callable[[Scene], Awaitable[Any]], weather: Weather = CALM) -> Any:
    async def run() -> Any:
        return await scenario(Scene(weather))

    return run_virtually(run(), Random(0))


def only(*faults: RequestFault) -> Weather:
    return replace(CALM, requests=1.0, request_faults=faults)


def test_a_pod_is_bound_once() -> None:
    async def bind_twice(scene: Scene) -> None:
        again: list[str] = []
        scene.server.bound_before = lambda pod, node_name: again.append(node_name)
        await scene.client.bind(scene.pod, "one")
        with pytest.raises(ApiError, match='pod a is already assigned to node "one"') as refused:
            await scene.client.bind(scene.pod, "two")
        assert refused.value.is_conflict
        assert (scene.node_of("a"), again) == ("one", ["two"])

    play(bind_twice)


def test_a_bind_is_for_one_pod_and_not_for_the_next_of_its_name() -> None:
    async def bind_old(scene: Scene) -> None:
        scene.store.remove(PODS, scene.store.get(PODS, "a", "default"))
        scene.add("a")
        with pytest.raises(ApiError) as refused:
            await scene.client.bind(scene.pod, "one")
        assert refused.value.is_conflict
        assert scene.node_of("a") == ""

    play(bind_old)


def test_so_is_a_patch_that_names_its_uid() -> None:
    async def patch_old(scene: Scene) -> None:
        patch = {"metadata": {"uid": "other"}, "status": {"nominatedNodeName": "one"}}
        with pytest.raises(ApiError, match="immutable"):
            await scene.client.patch(Pod, "a", "default", patch, subresource="status")

    play(patch_old)


def test_a_bound_pod_that_is_deleted_leaves_after_a_while() -> None:
    async def delete(scene: Scene) -> None:
        await scene.client.bind(scene.pod, "one")
        await scene.client.delete(Pod, "a", "default", uid=scene.pod.metadata.uid)
        leaving = await scene.client.get(Pod, "a", "default")
        assert leaving.is_terminating
        await asyncio.sleep(5.0)
        assert scene.store.list(PODS) == []

    play(delete)


APPLIED = (RequestFault.ERROR_APPLIED, RequestFault.CUT_APPLIED, RequestFault.TIMEOUT_APPLIED)
LOST = (
    RequestFault.REFUSED,
    RequestFault.CONFLICT,
    RequestFault.ERROR,
    RequestFault.CUT,
    RequestFault.TIMEOUT,
)


@pytest.mark.parametrize("fault", [*APPLIED, *LOST], ids=lambda fault: fault.name)
def test_a_write_that_fails_has_been_carried_out_or_never_will_be(fault: RequestFault) -> None:
    async def bind(scene: Scene) -> None:
        with pytest.raises(ApiError) as failed:
            await scene.client.bind(scene.pod, "one")
        scene.server.faults.active = False
        found = await scene.client.get(Pod, "a", "default")
        assert bool(found.spec.node_name) is (fault in APPLIED)
        # The error tells the caller that the write may have been applied.
        assert failed.value.maybe_applied or fault not in APPLIED

    play(bind, only(fault))


def test_a_server_that_restarts_cuts_watches_and_refuses_requests() -> None:
    async def restart(scene: Scene) -> None:
        async def watch() -> None:
            async with scene.client.watch(Pod) as changes:
                async for _ in changes.batches():
                    pass

        watching = asyncio.create_task(watch())
        await asyncio.sleep(1.0)
        restarting = asyncio.create_task(scene.server.restart(10.0))
        with pytest.raises(NoAnswerError):
            await watching
        with pytest.raises(NoAnswerError) as refused:
            await scene.client.bind(scene.pod, "one")
        assert not refused.value.sent
        await restarting
        await scene.client.bind(scene.pod, "one")

    play(restart)


def test_a_list_comes_in_pages_that_expire() -> None:
    async def pages(scene: Scene) -> None:
        for number in range(20):
            scene.add(f"pod-{number}")
        found = await scene.client.list(Pod, options=ListOptions(limit=500))
        token = found.metadata.continue_
        assert 0 < len(found.items) < 21 and token
        scene.add("late")
        names = [pod.metadata.name for pod in found.items]
        while token:
            page = await scene.client.list(Pod, options=ListOptions(limit=500, continue_=token))
            names += [pod.metadata.name for pod in page.items]
            last, token = token, page.metadata.continue_
        assert len(names) == len(set(names)) == 21
        scene.store.compact()
        with pytest.raises(ApiError) as gone:
            await scene.client.list(Pod, options=ListOptions(limit=500, continue_=last))
        assert gone.value.is_gone

    play(pages)


async def told(scene: Scene, options: ListOptions, seconds: float = 5.0) -> list[tuple[str, str]]:
    """Return the events of a watch within some seconds."""
    heard: list[tuple[str, str]] = []
    try:
        async with (
            asyncio.timeout(seconds),
            scene.client.watch(Pod, options=options) as changes,
        ):
            async for batch in changes.batches():
                heard += [(event.type, event.object.metadata.name) for event in batch]
    except TimeoutError:
        pass
    return heard


def test_a_watch_tells_changes_in_their_order_and_twice_at_worst() -> None:
    async def watch(scene: Scene) -> None:
        version = str(scene.store.version)
        names = [scene.add(f"pod-{number}").metadata.name for number in range(10)]
        heard = await told(scene, ListOptions(resource_version=version))
        assert list(dict.fromkeys(heard)) == [("ADDED", name) for name in names]
        assert 10 < len(heard) <= 20

    play(watch, replace(CALM, duplicates=0.5))


def test_a_pod_that_ends_leaves_the_sight_of_those_who_watch_live_pods() -> None:
    async def watch(scene: Scene) -> None:
        version = str(scene.store.version)
        pod = scene.store.get(PODS, "a", "default")
        scene.store.replace(PODS, {**pod, "status": {"phase": "Succeeded"}})
        options = ListOptions(resource_version=version, field_selector=LIVE_PODS.field_selector)
        assert await told(scene, options) == [("DELETED", "a")]

    play(watch)


def test_a_watch_may_begin_with_the_state() -> None:
    async def watch(scene: Scene) -> None:
        options = ListOptions(send_initial_events=True, resource_version_match="NotOlderThan")
        assert await told(scene, options) == [("ADDED", "a"), ("BOOKMARK", "")]

    play(watch)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param(StreamEnd.CUT, NoAnswerError, id="the connection breaks"),
        pytest.param(StreamEnd.SILENT, NoAnswerError, id="nothing comes, until it is given up"),
        pytest.param(StreamEnd.GONE, ApiError, id="410 within the stream"),
        pytest.param(StreamEnd.ERROR, ApiError, id="500 within the stream"),
        pytest.param(StreamEnd.CLOSED, None, id="the server ends it"),
    ],
)
def test_a_watch_ends_early(end: StreamEnd, expected: type[ApiError] | None) -> None:
    async def watch(scene: Scene) -> None:
        options = ListOptions(resource_version=str(scene.store.version))
        work = told(scene, options, seconds=1000.0)
        if expected is None:
            assert await work == []
        else:
            with pytest.raises(expected):
                await work
        took = asyncio.get_running_loop().time()
        assert (took > 150.0) is (end is StreamEnd.SILENT)

    play(watch, replace(CALM, stream_seconds=2.0, stream_ends=(end,)))


def test_changes_that_are_forgotten_cannot_be_watched() -> None:
    async def watch(scene: Scene) -> None:
        version = str(scene.store.version)
        scene.add("b")
        scene.store.compact()
        with pytest.raises(ApiError) as gone:
            await told(scene, ListOptions(resource_version=version))
        assert gone.value.is_gone

    play(watch)


def test_a_dead_process_reaches_nobody() -> None:
    async def bind(scene: Scene) -> None:
        scene.process.dead = True
        with pytest.raises(asyncio.CancelledError):
            await scene.client.bind(scene.pod, "one")
        assert scene.node_of("a") == ""

    play(bind)


def test_a_server_that_has_just_started_refuses_for_a_while() -> None:
    async def ask(scene: Scene) -> set[int]:
        await scene.server.restart(1.0)
        met = set()
        for _ in range(100):
            try:
                await scene.client.get(Pod, "a", "default")
                met.add(200)
            except ApiError as error:
                met.add(error.status)
        assert scene.node_of("a") == ""
        await asyncio.sleep(20.0)
        await scene.client.get(Pod, "a", "default")
        return met

    assert play(ask, replace(CALM, warming=20.0)) == {200, 401, 403}


def test_what_is_refused_so_is_not_carried_out() -> None:
    async def bind(scene: Scene) -> None:
        scene.server.faults.refusal = lambda: 403  # type: ignore[method-assign]
        await scene.server.restart(0.0)
        with pytest.raises(ApiError) as refused:
            await scene.client.bind(scene.pod, "one")
        assert refused.value.is_forbidden
        assert scene.node_of("a") == ""

    play(bind, replace(CALM, warming=20.0))


@pytest.mark.parametrize("breakage", list(Breakage), ids=lambda breakage: breakage.name)
def test_however_an_exchange_breaks_the_request_counts_as_sent(breakage: Breakage) -> None:
    async def bind(scene: Scene) -> None:
        with pytest.raises(NoAnswerError) as broken:
            await scene.client.bind(scene.pod, "one")
        assert broken.value.sent
        assert scene.node_of("a") == "one"

    play(bind, replace(only(RequestFault.CUT_APPLIED), breakages=(breakage,)))


def test_what_is_under_way_when_the_server_goes_down_gets_no_answer() -> None:
    async def bind(scene: Scene) -> None:
        scene.server.before_bind = lambda pod, node_name: scene.server.go_down()
        with pytest.raises(NoAnswerError) as broken:
            await scene.client.bind(scene.pod, "one")
        assert broken.value.sent
        assert scene.node_of("a") == "one"

    play(bind)


async def bind_within(scene: Scene) -> asyncio.Task[None]:
    """Start a bind in a process whose network is down."""
    scene.process.link.clear()
    task = scene.process.start(scene.client.bind(scene.pod, "one"))
    await asyncio.sleep(10.0)
    assert not task.done()
    assert scene.node_of("a") == ""
    return task


def test_a_request_waits_until_the_network_works_again() -> None:
    async def bind(scene: Scene) -> None:
        task = await bind_within(scene)
        scene.process.link.set()
        await task
        assert scene.node_of("a") == "one"

    play(bind)


def test_but_not_for_ever() -> None:
    async def bind(scene: Scene) -> None:
        task = await bind_within(scene)
        with pytest.raises(NoAnswerError) as failed:
            await task
        assert failed.value.sent
        scene.process.link.set()
        assert scene.node_of("a") == ""

    play(bind)


@pytest.mark.parametrize(
    ("late", "seconds", "node"),
    [
        pytest.param(False, 5.0, "", id="never, unless that is asked for"),
        pytest.param(True, None, "", id="never"),
        pytest.param(True, 5.0, "one", id="late"),
    ],
)
def test_a_bind_whose_sender_has_died_arrives(late: bool, seconds: float | None, node: str) -> None:
    async def bind(scene: Scene) -> None:
        scene.server.late_writes = late
        scene.server.faults.lateness = lambda: seconds  # type: ignore[method-assign]
        await bind_within(scene)
        scene.process.kill()
        await asyncio.sleep(4.0)
        assert scene.node_of("a") == ""
        await asyncio.sleep(4.0)
        assert scene.node_of("a") == node

    play(bind)

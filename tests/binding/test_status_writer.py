from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from msgspec.structs import replace

from mooring.api import Condition, Pod, decode_as
from mooring.binding.status_writer import StatusChange, StatusWriter
from mooring.errors import ApiError, NoAnswerError
from mooring.observe.clock import VirtualClock
from tests.plugins.cluster import make_pod
from tests.support.virtual_loop import LoopClock, run_virtually

REFUSED = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")


class PatchingClient:
    """Does as it is told to a pod, and fails as often as there are failures."""

    def __init__(self, *failures: ApiError | None) -> None:
        self.patches: list[Any] = []
        self.failures = list(failures)

    async def patch(self, kind, name, namespace, patch, *, subresource):
        assert subresource == "status"
        self.patches.append(patch)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return decode_as(
            {
                "metadata": {"name": name, "uid": "1", "resourceVersion": "9"},
                "status": patch["status"],
            },
            Pod,
        )

    def nominations(self) -> list[str | None]:
        return [patch["status"].get("nominatedNodeName") for patch in self.patches]


def write(*changes: StatusChange, client: PatchingClient | None = None) -> list[Any]:
    client, work = client or PatchingClient(), []
    writer = StatusWriter(client, VirtualClock(), work.append)
    for change in changes:
        writer.write(make_pod("p", uid="1"), change)
    for one in work:
        asyncio.run(one)
    return client.patches


def test_a_patch_names_the_pod_it_is_for_so_that_no_other_of_its_name_gets_it() -> None:
    (patch,) = write(StatusChange(REFUSED, "node"))
    assert patch["metadata"] == {"uid": "1"}
    assert patch["status"]["nominatedNodeName"] == "node"


def test_what_the_pod_shows_already_is_not_written() -> None:
    assert write(StatusChange(nominated_node_name="")) == []


def test_changes_that_come_while_one_is_written_are_written_as_one() -> None:
    patches = write(
        StatusChange(nominated_node_name="a"),
        StatusChange(nominated_node_name="b"),
        StatusChange(REFUSED, "c"),
    )
    assert [patch["status"]["nominatedNodeName"] for patch in patches] == ["a", "c"]


FAULT, REFUSED_FOR_EVER = ApiError(500, "etcdserver: request timed out"), ApiError(403, "no")


def test_a_write_that_met_a_fault_is_made_again() -> None:
    client = PatchingClient(NoAnswerError("cut", sent=True), FAULT, ApiError(429, ""))
    write(StatusChange(nominated_node_name="a"), client=client)
    assert client.nominations() == ["a"] * 4


def test_one_that_can_never_succeed_is_not() -> None:
    for failure in (ApiError(404, "gone"), REFUSED_FOR_EVER, ApiError(422, "another pod")):
        client = PatchingClient(failure)
        write(StatusChange(nominated_node_name="a"), client=client)
        assert client.nominations() == ["a"]


def test_what_came_meanwhile_is_written_in_its_place() -> None:
    client = PatchingClient(FAULT)
    write(
        StatusChange(REFUSED, "a"),
        StatusChange(nominated_node_name="b"),
        client=client,
    )
    assert client.nominations() == ["a", "b"]
    assert all("conditions" in patch["status"] for patch in client.patches)


def play(scenario, *failures: ApiError | None) -> list[str | None]:
    """Run a scenario on virtual time; return the nominations that were written."""
    client = PatchingClient(*failures)

    async def run() -> None:
        clock = LoopClock()
        spawn = asyncio.get_running_loop().create_task
        await scenario(StatusWriter(client, clock, spawn))
        await clock.sleep(100.0)

    run_virtually(run(), Random(0))
    return client.nominations()


def test_a_change_is_compared_with_the_servers_answer_where_the_informer_is_behind() -> None:
    async def clear_soon(writer: StatusWriter) -> None:
        behind = make_pod("p", uid="1")
        writer.write(behind, StatusChange(nominated_node_name="a"))
        await asyncio.sleep(1.0)
        writer.write(behind, StatusChange(nominated_node_name="a"))
        await asyncio.sleep(1.0)
        writer.write(behind, StatusChange(nominated_node_name=""))

    assert play(clear_soon) == ["a", None]


def test_a_pod_that_is_being_bound_is_no_longer_told_what_failed() -> None:
    async def bind_soon(writer: StatusWriter) -> None:
        pod = make_pod("p", uid="1")
        writer.write(pod, StatusChange(nominated_node_name="a"))
        writer.write(pod, StatusChange(nominated_node_name="b"))
        await writer.settle("1")
        await writer.settle("2")

    assert play(bind_soon, FAULT) == ["a"]


def test_but_what_is_said_after_a_failed_bind_is_written() -> None:
    async def fail_to_bind(writer: StatusWriter) -> None:
        pod = make_pod("p", uid="1")
        writer.write(pod, StatusChange(nominated_node_name="a"))
        await writer.settle("1")
        writer.write(pod, StatusChange(nominated_node_name="b"))

    assert play(fail_to_bind, FAULT) == ["a", "b"]


def test_who_waits_for_a_write_goes_on_when_it_was_tried() -> None:
    async def nominate_first(writer: StatusWriter) -> None:
        pod = make_pod("p", uid="1")
        loop = asyncio.get_running_loop()
        before = loop.time()
        await writer.write_first(pod, StatusChange(nominated_node_name="a"))
        assert loop.time() == before, "what failed is tried again beside"
        await writer.settle("1")

    assert play(nominate_first, FAULT) == ["a"]


def test_a_condition_keeps_the_time_of_its_last_change_of_status() -> None:
    earlier = replace(REFUSED, last_transition_time="2020-01-01T00:00:00Z")
    pod = make_pod("p", uid="1")
    pod = replace(pod, status=replace(pod.status, conditions=(earlier,)))
    client, work = PatchingClient(), []
    writer = StatusWriter(client, VirtualClock(1_700_000_000.9), work.append)
    writer.write(pod, StatusChange(REFUSED))
    assert work == []
    writer.write(pod, StatusChange(replace(REFUSED, message="still no")))
    asyncio.run(work[0])
    (condition,) = client.patches[0]["status"]["conditions"]
    assert condition["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    writer = StatusWriter(client, VirtualClock(1_700_000_000.9), work.append)
    writer.write(make_pod("p", uid="1"), StatusChange(REFUSED))
    asyncio.run(work[1])
    (condition,) = client.patches[1]["status"]["conditions"]
    assert condition["lastTransitionTime"] == "2023-11-14T22:13:20Z"

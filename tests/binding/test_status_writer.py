from __future__ import annotations

import asyncio
import itertools
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import Condition, Pod, decode_as
from mooring.binding import status_writer
from mooring.binding.status_writer import StatusChange, StatusWriter
from mooring.errors import ApiError, NoAnswerError
from mooring.observe.clock import VirtualClock
from tests.plugins.cluster import make_pod
from tests.support.virtual_loop import LoopClock, run_virtually

REFUSED = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")


class PatchingClient:
    """A client that records patches; its first calls raise `failures` (None: succeed)."""

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


def play(
    scenario, *failures: ApiError | None, client: PatchingClient | None = None
) -> list[str | None]:
    """Run a scenario on virtual time; return the nominations that were written."""
    client = client or PatchingClient(*failures)

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


def shown(version: str, nominated: str = "") -> Pod:
    """Return the pod as the informer shows it."""
    pod = make_pod("p", uid="1")
    metadata = replace(pod.metadata, resource_version=version)
    return replace(
        pod, metadata=metadata, status=replace(pod.status, nominated_node_name=nominated)
    )


def test_what_the_informer_shows_counts_once_it_has_caught_up() -> None:
    """The server's response has resource version 9."""

    async def go_on(writer: StatusWriter) -> None:
        writer.write(shown("8"), StatusChange(nominated_node_name="a"))
        await asyncio.sleep(1.0)
        # Another client has cleared the nomination since.
        writer.write(shown("10"), StatusChange(nominated_node_name="a"))
        await asyncio.sleep(1.0)
        writer.write(shown("11", "b"), StatusChange(nominated_node_name="b"))
        await asyncio.sleep(1.0)
        # The answer is forgotten: only what the pod shows counts.
        writer.write(shown("8"), StatusChange(nominated_node_name="a"))

    assert play(go_on) == ["a", "a", "a"]


def test_after_a_lost_response_everything_is_written() -> None:
    async def lose_one(writer: StatusWriter) -> None:
        pod = shown("8")
        writer.write(pod, StatusChange(nominated_node_name="a"))
        await asyncio.sleep(1.0)
        writer.write(pod, StatusChange(nominated_node_name="b"))
        await writer.settle("1")
        await asyncio.sleep(10.0)
        # The server may have stored "b".
        writer.write(pod, StatusChange(nominated_node_name="a"))

    lost = NoAnswerError("cut", sent=True)
    assert play(lose_one, None, lost) == ["a", "b", "a"]


def test_only_so_many_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_writer, "MAX_ANSWERS", 2)

    async def nominate_three(writer: StatusWriter) -> None:
        for uid in ("1", "2", "1", "3"):
            nominated = StatusChange(nominated_node_name="a" if uid != "1" else "b")
            writer.write(make_pod("p", uid=uid), nominated)
            writer.write(make_pod("p", uid=uid), StatusChange(nominated_node_name="a"))
            await asyncio.sleep(1.0)
        for uid in ("1", "3", "2"):
            # The server has this already; of the second pod that is forgotten.
            writer.write(make_pod("p", uid=uid), StatusChange(nominated_node_name="a"))
            await asyncio.sleep(1.0)

    assert play(nominate_three) == ["b", "a", "a", "b", "a", "a", "a"]


def test_the_pauses_between_attempts_double_up_to_half_a_minute() -> None:
    times: list[float] = []

    class Timed(PatchingClient):
        async def patch(self, *args: Any, **options: Any) -> Any:
            times.append(asyncio.get_running_loop().time())
            return await super().patch(*args, **options)

    client = Timed(*[FAULT] * 8)

    async def run() -> None:
        spawn = asyncio.get_running_loop().create_task
        writer = StatusWriter(client, LoopClock(), spawn)
        await writer.write_first(make_pod("p", uid="1"), StatusChange(nominated_node_name="a"))
        await asyncio.sleep(300.0)

    run_virtually(run(), Random(0))
    pauses = [round(after - before) for before, after in itertools.pairwise(times)]
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize(
    ("status", "again"),
    [(0, True), (400, False), (409, True), (422, False), (429, True), (499, False), (500, True)],
)
def test_which_failures_may_pass(status: int, again: bool) -> None:
    client = PatchingClient(ApiError(status, ""))
    write(StatusChange(nominated_node_name="a"), client=client)
    assert len(client.patches) == 1 + again


@pytest.mark.parametrize(
    ("change", "pairs"),
    [
        (
            StatusChange(REFUSED),
            {
                "conditionType": "PodScheduled",
                "conditionStatus": "False",
                "conditionReason": "Unschedulable",
                "nominatedNodeName": "",
                "nominatingMode": 0,
            },
        ),
        (
            StatusChange(nominated_node_name="a"),
            {"nominatedNodeName": "a", "nominatingMode": 1},
        ),
        (StatusChange(nominated_node_name=""), {"nominatedNodeName": "", "nominatingMode": 1}),
    ],
    ids=["a condition", "a nomination", "its end"],
)
def test_a_change_is_logged_as_kube_scheduler_does(
    change: StatusChange, pairs: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    write(change)
    (record,) = (entry for entry in caplog.records if entry.message == status_writer.UPDATING)
    logged = dict(record.kv)  # type: ignore[attr-defined]
    assert logged.pop("pod").name == "p"
    assert logged == pairs


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
        assert client.patches, "it was tried"
        await writer.settle("1")

    client = PatchingClient(FAULT)
    assert play(nominate_first, client=client) == ["a"]


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


def test_a_pod_that_is_being_bound_waits_for_the_second_attempt_of_a_write() -> None:
    class Slow(PatchingClient):
        async def patch(self, *args: Any, **options: Any) -> Pod:
            await asyncio.sleep(4)
            return await super().patch(*args, **options)

    async def story() -> float:
        now = asyncio.get_running_loop().time
        client: Any = Slow(FAULT)
        writer = StatusWriter(client, LoopClock(), asyncio.get_running_loop().create_task)
        begin = now()
        writer.write(make_pod("p", uid="1"), StatusChange(nominated_node_name="a"))
        # The first attempt takes four seconds, the pause one.
        await asyncio.sleep(6)
        await writer.settle("1")
        return now() - begin

    assert run_virtually(story(), Random(0)) == 9


def test_of_equal_versions_the_informer_counts() -> None:
    async def story(writer: StatusWriter) -> None:
        behind = make_pod("p", uid="1")
        writer.write(behind, StatusChange(nominated_node_name="a"))
        await asyncio.sleep(1)
        shown = replace(
            behind,
            metadata=replace(behind.metadata, resource_version="9"),
            status=replace(behind.status, nominated_node_name="b"),
        )
        writer.write(shown, StatusChange(nominated_node_name="a"))

    assert play(story) == ["a", "a"]


def test_a_write_that_succeeds_lets_the_one_who_waits_for_it_go_on() -> None:
    moments: list[float] = []

    async def story(writer: StatusWriter) -> None:
        now = asyncio.get_running_loop().time
        begin = now()
        async with asyncio.timeout(50):
            await writer.write_first(make_pod("p", uid="1"), StatusChange(nominated_node_name="a"))
        moments.append(now() - begin)

    assert play(story) == ["a"]
    assert moments == [0]

"""What is written of a group's condition, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from msgspec.structs import replace

from mooring.api import Condition, WorkloadPodGroup
from mooring.api.workload_pod_group import WorkloadPodGroupStatus
from mooring.binding.pod_group_status_writer import PodGroupStatusWriter
from mooring.binding.status_writer import FIRST_WAIT
from mooring.errors import ApiError
from mooring.observe.clock import VirtualClock
from mooring.testing import make_pod_group

GROUP = make_pod_group("g", metadata={"uid": "u"})
TRUE = Condition(type="T", status="True", reason="Scheduled")
FALSE = Condition(type="T", status="False", reason="Unschedulable", message="too big")


class Stage:
    def __init__(self, *failures: ApiError) -> None:
        self.failures = list(failures)
        self.sent: list[dict[str, Any]] = []
        self.clock = VirtualClock(1_700_000_000.0)
        self.tasks: list[asyncio.Task[None]] = []
        #: The pods whose status is being written.
        self.open: dict[str, asyncio.Event] = {}
        self.writer = PodGroupStatusWriter(self, self.clock, self.spawn, self.told)  # type: ignore[arg-type]

    async def told(self, uid: str) -> None:
        await self.open[uid].wait()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    async def patch(
        self, kind: Any, name: str, namespace: str, patch: Any, *, subresource: str
    ) -> None:
        assert (kind, subresource) == (WorkloadPodGroup, "status")
        assert patch["metadata"] == {"uid": "u"}
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        self.sent += patch["status"]["conditions"]

    @property
    def statuses(self) -> list[str]:
        return [one["status"] for one in self.sent]

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


def with_condition(condition: Condition) -> WorkloadPodGroup:
    return replace(GROUP, status=WorkloadPodGroupStatus(conditions=(condition,)))


async def test_a_condition_is_written_once() -> None:
    stage = Stage()
    stage.writer.write(GROUP, FALSE)
    await stage.settle()
    stage.writer.write(GROUP, FALSE)
    await stage.settle()
    (sent,) = stage.sent
    assert sent == {
        "type": "T",
        "status": "False",
        "reason": "Unschedulable",
        "message": "too big",
        "lastTransitionTime": "2023-11-14T22:13:20Z",
    }


async def test_a_group_that_was_scheduled_stays_so_although_the_informer_is_behind() -> None:
    stage = Stage()
    stage.writer.write(GROUP, TRUE)
    stage.writer.write(GROUP, FALSE)
    await stage.settle()
    stage.writer.write(GROUP, FALSE)
    await stage.settle()
    assert stage.statuses == ["True"]


async def test_what_the_server_has_already_is_not_written() -> None:
    stage = Stage()
    stage.writer.write(with_condition(FALSE), FALSE)
    stage.writer.write(with_condition(TRUE), FALSE)
    await stage.settle()
    assert stage.sent == []


async def test_the_time_of_the_transition_is_kept_if_only_the_message_changes() -> None:
    stage = Stage()
    before = replace(FALSE, message="before", last_transition_time="2020-01-01T00:00:00Z")
    stage.writer.write(with_condition(before), FALSE)
    await stage.settle()
    assert stage.sent[0]["lastTransitionTime"] == "2020-01-01T00:00:00Z"


async def test_of_several_conditions_the_last_one_is_written() -> None:
    stage = Stage()
    stage.writer.write(GROUP, FALSE)
    await asyncio.sleep(0)
    stage.writer.write(GROUP, replace(FALSE, message="second"))
    stage.writer.write(GROUP, replace(FALSE, message="third"))
    await stage.settle()
    assert [one["message"] for one in stage.sent][-1] == "third"
    assert len(stage.sent) <= 2


async def test_a_write_that_fails_for_now_is_repeated() -> None:
    stage = Stage(ApiError(503, "busy"))
    began = stage.clock.now()
    stage.writer.write(GROUP, TRUE)
    await stage.settle()
    assert stage.statuses == ["True"]
    assert stage.clock.now() == began + FIRST_WAIT


async def test_a_write_that_is_refused_is_given_up_until_the_next_attempt() -> None:
    stage = Stage(ApiError(403, "no rights"))
    stage.writer.write(GROUP, FALSE)
    await stage.settle()
    stage.clock.advance(60)
    await stage.settle()
    assert stage.sent == []
    stage.writer.write(GROUP, FALSE)
    await stage.settle()
    assert stage.statuses == ["False"]


async def test_the_generation_is_told_if_the_group_has_one() -> None:
    stage = Stage()
    group = replace(GROUP, metadata=replace(GROUP.metadata, generation=4))
    stage.writer.write(group, TRUE)
    await stage.settle()
    assert stage.sent[0]["observedGeneration"] == 4


async def test_the_conditions_of_the_pods_come_first() -> None:
    stage = Stage()
    stage.open = {"p": asyncio.Event(), "q": asyncio.Event()}
    stage.writer.write(GROUP, FALSE, ["p", "q"])
    await stage.settle()
    stage.open["q"].set()
    await stage.settle()
    assert stage.statuses == []
    # A later condition does not wait for the pods again.
    stage.writer.write(GROUP, TRUE)
    stage.open["p"].set()
    await stage.settle()
    assert stage.statuses == ["True"]

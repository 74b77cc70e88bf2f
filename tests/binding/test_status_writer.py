from __future__ import annotations

import asyncio
from typing import Any

from mooring.api import Condition
from mooring.binding.status_writer import StatusChange, StatusWriter
from mooring.observe.clock import VirtualClock
from tests.plugins.cluster import make_pod

REFUSED = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")


class PatchingClient:
    """Answers with the pod unchanged."""

    def __init__(self) -> None:
        self.patches: list[Any] = []

    async def patch(self, kind, name, namespace, patch, *, subresource):
        assert subresource == "status"
        self.patches.append(patch)
        return make_pod(name, uid="1")


def write(*changes: StatusChange) -> list[Any]:
    client, work = PatchingClient(), []
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

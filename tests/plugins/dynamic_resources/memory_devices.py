"""A scheduler in memory with nodes, a class and devices."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import Pod, ResourceClaim
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.plugins.dynamic_resources.devices import (
    GPU,
    device_class,
    node,
)

CLASS = device_class(extendedResourceName=GPU)


class Devices:
    """A cluster of nodes a and b."""

    def __init__(self, *objects: Any, **options: Any) -> None:
        self.scheduler = MemoryScheduler([node("a"), node("b"), CLASS, *objects], **options)

    def try_pod(self, one: Pod) -> str:
        """Add a pod, schedule it once, and return its node or the message."""
        self.scheduler.cluster.add(one)
        decision = drive(self.scheduler.schedule_one(one))
        return decision.node_name or decision.message

    def claim(self, name: str = "c") -> ResourceClaim:
        found = self.scheduler.cluster.store(ResourceClaim).get(name, "default")
        assert found is not None
        return found

    def change(self, one: ResourceClaim, **status: Any) -> None:
        """Change a claim's status, as another client."""
        changed = msgspec.convert(status, type(one.status))
        drive(self.scheduler.client.update(replace(one, status=changed)))


def users(one: ResourceClaim) -> list[str]:
    """Return the pods that a claim is reserved for."""
    return [entry.name for entry in one.status.reserved_for]

"""Devices that have to be prepared on their node."""

from __future__ import annotations

import msgspec
import pytest

from mooring.observe.clock import VirtualClock
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    claim,
    device_slice,
    pod,
)
from tests.plugins.dynamic_resources.memory_devices import Devices, users

PREPARED = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}


class Preparing(VirtualClock):
    """A clock that sets a condition of the device while time passes."""

    devices: Devices | None = None
    condition: str = "Ready"

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if self.devices is not None:
            one = self.devices.claim()
            condition = {"type": self.condition, "status": "True", "reason": "R", "message": "m"}
            device = {"driver": DRIVER, "pool": "b", "device": "d0", "conditions": [condition]}
            status = {**msgspec.to_builtins(one.status), "devices": [device]}
            self.devices, devices = None, self.devices
            devices.change(one, **status)


def _prepare(condition: str = "") -> Devices:
    clock = Preparing(start=1_800_000_000.0)
    devices = Devices(claim(), device_slice("b", "d0", **PREPARED), clock=clock)
    if condition:
        clock.devices, clock.condition = devices, condition
    return devices


def test_a_pod_waits_until_its_device_is_ready() -> None:
    devices = _prepare("Ready")
    assert devices.try_pod(pod("pod", "c")) == "b"
    notes = [event.note for event in devices.scheduler.events.recorded]
    assert "waiting for binding conditions for device on node b" in notes


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        pytest.param("Broken", 'claim=c, reason=R, message="m"', id="failed"),
        pytest.param("", "device binding timeout: context deadline exceeded", id="never ready"),
    ],
)
def test_a_device_that_does_not_get_ready_is_given_back(condition: str, text: str) -> None:
    devices = _prepare(condition)
    assert text in devices.try_pod(pod("pod", "c"))
    assert users(devices.claim()) == []
    devices.scheduler.clock.advance(1.0)
    assert "deallocation of ResourceClaim completed" in devices.try_pod(pod("pod", "c"))
    assert devices.claim().status.allocation is None

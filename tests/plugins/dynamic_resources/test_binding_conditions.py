"""Devices that have to be prepared on their node."""

from __future__ import annotations

import msgspec
import pytest

from mooring.api import ResourceClaim
from mooring.observe.clock import VirtualClock
from mooring.plugins.dynamic_resources.binding_conditions import (
    DeviceBindingError,
    has_binding_conditions,
    is_overdue,
    is_ready,
)
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    allocated_on,
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


def allocated(*conditions: tuple[str, str], at: str | None = None) -> ResourceClaim:
    """Return a claim of a device that must be prepared, with conditions of the device."""
    status = allocated_on("b", bindingConditions=["Ready"], bindingFailureConditions=["Broken"])
    if at is not None:
        status["allocation"]["allocationTimestamp"] = at
    found = [{"type": name, "status": value, "reason": "R"} for name, value in conditions]
    device = {"driver": DRIVER, "pool": "b", "device": "d0", "conditions": found}
    return claim(status={**status, "devices": [device] if conditions else []})


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        pytest.param([], False, id="nothing is said of the device"),
        pytest.param([("Other", "True")], False, id="its condition is missing"),
        pytest.param([("Ready", "False")], False, id="its condition is false"),
        pytest.param([("Ready", "True")], True, id="its condition is true"),
        pytest.param([("Ready", "True"), ("Broken", "False")], True, id="it has not failed"),
    ],
)
def test_a_claim_is_ready_once_its_devices_are(
    conditions: list[tuple[str, str]], ready: bool
) -> None:
    assert is_ready(allocated(*conditions)) is ready


def test_a_claim_without_conditions_is_ready_once_it_is_allocated() -> None:
    assert not is_ready(claim())
    assert is_ready(claim(status=allocated_on("b")))
    assert [has_binding_conditions(one) for one in (claim(), allocated())] == [False, True]
    assert not has_binding_conditions(claim(status=allocated_on("b")))


def test_a_device_that_failed_is_told_with_its_reason() -> None:
    with pytest.raises(DeviceBindingError, match="claim=c, reason=R") as failed:
        is_ready(allocated(("Ready", "True"), ("Broken", "True")))
    assert failed.value.label == "failure"


@pytest.mark.parametrize(
    ("at", "now", "overdue"),
    [
        ("1970-01-01T00:00:10Z", 39.0, False),
        ("1970-01-01T00:00:10Z", 40.0, False),
        ("1970-01-01T00:00:10Z", 41.0, True),
        (None, 1e9, False),
    ],
)
def test_the_time_of_preparation_ends(at: str | None, now: float, overdue: bool) -> None:
    assert is_overdue(allocated(at=at), now, 30) is overdue


def test_only_what_is_prepared_can_be_overdue() -> None:
    status = allocated_on("b")
    status["allocation"]["allocationTimestamp"] = "1970-01-01T00:00:10Z"
    assert not is_overdue(claim(status=status), 1e9, 30)
    assert not is_overdue(claim(), 1e9, 30)

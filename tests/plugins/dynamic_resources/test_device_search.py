"""Which devices are chosen for requests that compete for them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import ResourceClaim
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources.devices import DRIVER, device_slice, pod
from tests.plugins.dynamic_resources.memory_devices import Devices

NUMA = f"{DRIVER}/numa"


def wants(*requests: dict[str, Any], **spec: Any) -> ResourceClaim:
    """Return a claim with requests for devices of the class, named by number."""
    made: list[dict[str, Any]] = []
    for number, one in enumerate(requests):
        parts = [{"deviceClassName": "gpu", **part} for part in one.get("any", [one])]
        served_by = {"firstAvailable": parts} if "any" in one else {"exactly": parts[0]}
        made.append({"name": f"r{number}", **served_by})
    return make(
        ResourceClaim,
        "c",
        "default",
        metadata={"uid": "uid-c"},
        spec={"devices": {"requests": made, **spec}},
    )


def selects(attribute: str, value: int) -> dict[str, Any]:
    expression = f'device.attributes["{DRIVER}"].{attribute} == {value}'
    return {"selectors": [{"cel": {"expression": expression}}]}


def numa(**devices: int) -> Any:
    """Return a slice of node a whose devices have these values of an attribute."""
    made = device_slice("a", *devices)
    spec = {
        "driver": DRIVER,
        "nodeName": "a",
        "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": name, "attributes": {"numa": {"int": value}}}
            for name, value in devices.items()
        ],
    }
    return make(type(made), "slice-a", spec=spec)


def served(claim: ResourceClaim, *objects: Any) -> dict[str, list[str]] | None:
    """Return the devices of each request after one attempt; None if there are none."""
    devices = Devices(claim, *objects)
    if devices.try_pod(pod("pod", "c")) != "a":
        return None
    allocation = devices.claim().status.allocation
    assert allocation is not None
    found: dict[str, list[str]] = {}
    for result in allocation.devices.results:
        found.setdefault(result.request, []).append(result.device)
    return found


def test_a_choice_is_taken_back_if_the_rest_cannot_be_served() -> None:
    # The first request would take d0, which only the second can use.
    claim = wants({}, selects("numa", 0))
    assert served(claim, numa(d0=0, d1=1)) == {"r0": ["d1"], "r1": ["d0"]}
    assert served(claim, numa(d0=1, d1=1)) is None


def test_a_request_for_several_devices_gets_different_ones() -> None:
    assert served(wants({"count": 2}), numa(d0=0, d1=0, d2=0)) == {"r0": ["d0", "d1"]}
    assert served(wants({"count": 4}), numa(d0=0, d1=0, d2=0)) is None


def test_a_constraint_holds_across_requests() -> None:
    together = [{"matchAttribute": NUMA}]
    claim = wants({}, selects("numa", 1), constraints=together)
    assert served(claim, numa(d0=0, d1=1, d2=1)) == {"r0": ["d1"], "r1": ["d2"]}
    apart = [{"distinctAttribute": NUMA}]
    assert served(wants({}, {}, constraints=apart), numa(d0=0, d1=0)) is None


def test_all_devices_that_match_are_wanted() -> None:
    everything = {"allocationMode": "All", **selects("numa", 1)}
    assert served(wants(everything), numa(d0=0, d1=1, d2=1)) == {"r0": ["d1", "d2"]}
    assert served(wants(everything), numa(d0=0)) is None


@pytest.mark.parametrize(
    ("devices", "found"),
    [
        pytest.param({"d0": 0, "d1": 0}, {"r0/two": ["d0", "d1"]}, id="the first alternative"),
        pytest.param({"d0": 0}, {"r0/one": ["d0"]}, id="the next one"),
        pytest.param({}, None, id="none"),
    ],
)
def test_the_first_alternative_that_can_be_served_is_taken(
    devices: dict[str, int], found: dict[str, list[str]] | None
) -> None:
    claim = wants({"any": [{"name": "two", "count": 2}, {"name": "one"}]})
    assert served(claim, numa(**devices)) == found


def test_a_claim_holds_no_more_than_32_devices() -> None:
    devices = numa(**{f"d{i:02}": 0 for i in range(40)})
    assert len(served(wants({"count": 32}), devices)["r0"]) == 32  # type: ignore[index]
    assert served(wants({"count": 20}, {"count": 20}), devices) is None
    fewer = {"any": [{"name": "many", "count": 20}, {"name": "few", "count": 2}]}
    found = served(wants({"count": 20}, fewer), devices)
    assert found is not None
    assert set(found) == {"r0", "r1/few"}

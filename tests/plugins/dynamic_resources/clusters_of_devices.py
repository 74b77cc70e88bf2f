"""Random clusters of devices, claims and changes for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mooring.api import DeviceClass, Node, ResourceClaim, ResourceSlice
from tests.plugins.clusters import HOSTNAME, make

DRIVERS = ("a.example.com", "b.example.com")
NODES = tuple(f"n{i}" for i in range(5))
ZONES = ("x", "y")
SELECTORS = (
    'device.attributes["a.example.com"].model == "A"',
    'device.attributes["a.example.com"].model != "B"',
    'device.attributes["other.example.com"].model in ["A", "C"]',
    'has(device.attributes["b.example.com"].uuid)',
    '"size" in device.attributes["a.example.com"]',
    'device.attributes["a.example.com"].size > 1',
    'device.attributes["a.example.com"].exists(key, key == "uuid")',
    'cel.bind(b, device.attributes["b.example.com"], has(b.model) && b.model == "B")',
    'device.driver == "a.example.com"',
    'device.capacity["a.example.com"].memory.compareTo(quantity("2Gi")) >= 0',
    "device.allowMultipleAllocations",
    'device.attributes["a.example.com"].firmware.isGreaterThan(semver("1.0.0"))',
)
DERIVED = (
    "device.driver",
    "device.allowMultipleAllocations",
    'device.attributes["a.example.com"].?size.orValue(0) > 1 ? "large" : "small"',
    '[device.attributes["a.example.com"].?model.orValue("A"), dyn("B")]',
    'device.attributes["a.example.com"].model',
)
#: The gates of what the devices and claims here use.
GATES = {"DRADerivedAttributes": True, "DRADeviceCompatibilityGroups": True}


def node(name: str, zone: str) -> Node:
    """Build a node in a zone."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return make(
        Node,
        name,
        metadata={"labels": {HOSTNAME: name, "zone": zone}},
        status={"allocatable": room, "capacity": room},
    )


def _in_zone(zone: str, operator: str = "In") -> dict[str, Any]:
    expression = {"key": "zone", "operator": operator, "values": [zone]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def _rarely(strategy: st.SearchStrategy[Any], other: Any = None) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(other), st.just(other), st.just(other), strategy)


@st.composite
def devices(draw: Any, counters: bool, chooses: bool) -> list[dict[str, Any]]:
    """Draw the devices of a slice."""
    found = []
    for i in range(draw(st.integers(0, 3))):
        attributes: dict[str, Any] = {"uuid": {"string": f"u{draw(st.integers(0, 10**6))}"}}
        model = draw(st.sampled_from(["A", "B", None]))
        if model:
            key = draw(_rarely(st.just("other.example.com/model"), "model"))
            attributes[key] = {"string": model}
        size = draw(st.sampled_from([None, 1, 2]))
        if size:
            attributes["size"] = {"int": size}
        firmware = draw(_rarely(st.sampled_from(["1.2.3", "not a version"])))
        if firmware:
            attributes["firmware"] = {"version": firmware}
        device: dict[str, Any] = {"name": f"d{i}", "attributes": attributes}
        memory = draw(st.sampled_from([None, "1Gi", "2Gi", "4Gi"]))
        if memory:
            device["capacity"] = {"memory": {"value": memory}}
        if draw(_rarely(st.just(True))):
            device["allowMultipleAllocations"] = True
            device["capacity"] = {"memory": {"value": "4Gi", "requestPolicy": {"default": "1Gi"}}}
        if draw(_rarely(st.just(True))):
            device["taints"] = [{"key": "t", "value": "v", "effect": "NoSchedule"}]
        if draw(_rarely(st.just(True))):
            device["bindingConditions"] = ["Ready"]
        if counters and draw(st.booleans()):
            amount = str(draw(st.integers(1, 2)))
            consumed: dict[str, Any] = {"counterSet": "c", "counters": {"m": {"value": amount}}}
            groups = draw(st.sampled_from([[], [], ["g"], ["h"], ["g", "h"]]))
            if groups:
                consumed["compatibilityGroups"] = groups
            device["consumesCounters"] = [consumed]
        if chooses:
            where: dict[str, Any] = draw(
                st.sampled_from(
                    [
                        {"allNodes": True},
                        {"nodeName": NODES[0]},
                        {"nodeSelector": _in_zone("x")},
                    ]
                )
            )
            device.update(where)
        found.append(device)
    return found


@st.composite
def slices(draw: Any, faults: bool = True) -> ResourceSlice:
    """Draw a slice; the same names come again, so that slices replace one another."""
    place = draw(st.sampled_from([*NODES, *NODES, "all", "zone", "devices", "counters"]))
    driver = draw(st.sampled_from(DRIVERS))
    pool = draw(st.sampled_from([place, place, "shared"]))
    counters = draw(st.booleans())
    # A pool with counters has two slices: one with the devices, one with the counters.
    count = draw(_rarely(st.just(2), 1)) if not counters else 2
    spec: dict[str, Any] = {
        "driver": driver,
        "pool": {
            "name": pool,
            "generation": draw(_rarely(st.just(2), 1)),
            "resourceSliceCount": count,
        },
    }
    if place == "all":
        spec["allNodes"] = True
    elif place == "zone":
        wrong = faults and draw(st.integers(0, 30)) == 0
        spec["nodeSelector"] = _in_zone("x", "Near" if wrong else "In")
    elif place == "devices":
        spec["perDeviceNodeSelection"] = True
    elif place == "counters":
        spec["pool"] = {**spec["pool"], "name": draw(st.sampled_from([*NODES, "all"]))}
        spec["nodeName"] = NODES[0]
        spec["sharedCounters"] = [{"name": "c", "counters": {"m": {"value": "2"}}}]
    else:
        spec["nodeName"] = place
    if place != "counters":
        spec["devices"] = draw(devices(counters, place == "devices"))
    name = f"{driver[0]}-{place}-{spec['pool']['name']}-{draw(_rarely(st.just(1), 0))}"
    return make(ResourceSlice, name, spec=spec)


def device_class(name: str, *selectors: str) -> DeviceClass:
    """Build a class."""
    return make(
        DeviceClass, name, spec={"selectors": [{"cel": {"expression": s}} for s in selectors]}
    )


@st.composite
def requests(draw: Any, name: str) -> dict[str, Any]:
    """Draw a request, exact or with alternatives."""

    def exactly() -> dict[str, Any]:
        found: dict[str, Any] = {"deviceClassName": draw(st.sampled_from(["any", "any", "a"]))}
        chosen = draw(st.lists(st.sampled_from(SELECTORS), max_size=2))
        found["selectors"] = [{"cel": {"expression": one}} for one in chosen]
        if draw(_rarely(st.just(True))):
            found["allocationMode"] = "All"
        else:
            found["count"] = draw(st.integers(1, 2))
        if draw(_rarely(st.just(True))):
            found["tolerations"] = [{"key": "t", "operator": "Exists"}]
        if draw(_rarely(st.just(True))):
            found["capacity"] = {"requests": {"memory": "2Gi"}}
        derived = draw(_rarely(st.sampled_from(DERIVED)))
        if derived:
            found["derivedAttributes"] = [{"name": "a.example.com/model", "expression": derived}]
        return found

    if draw(_rarely(st.just(True))):
        return {
            "name": name,
            "firstAvailable": [{"name": f"s{i}", **exactly()} for i in range(2)],
        }
    found = exactly()
    if draw(_rarely(st.just(True))):
        found["adminAccess"] = True
    return {"name": name, "exactly": found}


@st.composite
def claims(draw: Any, name: str) -> ResourceClaim:
    """Draw a claim with one or two requests, and perhaps a constraint."""
    wanted = [draw(requests(f"r{i}")) for i in range(draw(st.integers(1, 2)))]
    constraints = draw(
        _rarely(
            st.sampled_from(
                [
                    [{"matchAttribute": "a.example.com/model"}],
                    [{"distinctAttribute": "a.example.com/size"}],
                    [{"matchAttribute": "other.example.com/model", "requests": ["r0"]}],
                ]
            ),
            [],
        )
    )
    return make(
        ResourceClaim,
        name,
        "default",
        metadata={"uid": f"uid-{name}"},
        spec={"devices": {"requests": wanted, "constraints": constraints}},
    )

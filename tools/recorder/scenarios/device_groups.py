"""Scenarios about devices that exclude each other, and about attributes that requests derive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from tools.recorder.scenarios.devices import (
    CLASS,
    DRIVER,
    allocated,
    resource_claim,
    resource_slice,
    with_claim,
)
from tools.recorder.scenarios.objects import Object, nodes, pod, running

#: Makes a claim of a name.
Make = Callable[[Random, str], Object]

GROUPS_GATE = "DRADeviceCompatibilityGroups"
DERIVED_GATE = "DRADerivedAttributes"
#: Names of derived attributes; the last one is also an attribute of devices.
NAMES = ("derived/a", "derived/b", f"{DRIVER}/model")
EXPRESSIONS = (
    f'device.attributes["{DRIVER}"].model',
    f'device.attributes["{DRIVER}"].numa',
    f'device.attributes["{DRIVER}"].numa / 2',
    f'device.attributes["{DRIVER}"].numa > 1 ? "far" : "near"',
    f'device.attributes["{DRIVER}"].?firmware.orValue(semver("1.0.0"))',
    f'cel.bind(d, device.attributes["{DRIVER}"], d.model + "-" + string(d.numa))',
    f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("8Gi"))',
    f'[device.attributes["{DRIVER}"].model, dyn("any")]',
    f'[string(device.attributes["{DRIVER}"].numa % 3), device.driver]',
)
#: Expressions that do not compile, or have no value that an attribute can have.
FAULTY = (
    f'device.attributes["{DRIVER}"].firmware',
    f'device.attributes["{DRIVER}"]',
    f'dyn(device.capacity["{DRIVER}"].memory)',
    '[dyn(1), dyn("a")]',
    "device.model",
)


def counters(on: str, amount: str, everywhere: bool) -> Object:
    """Return the counters that the devices of a node share."""
    made = resource_slice(on, [])
    made["metadata"]["name"] = f"counters-{on}"
    spec = made["spec"]
    del spec["devices"]
    if everywhere:
        del spec["nodeName"]
        spec["allNodes"] = True
    spec["sharedCounters"] = [
        {"name": name, "counters": {"slots": {"value": amount}}} for name in ("chip", "board")
    ]
    return made


def partition(draw: Random, number: int) -> Object:
    """Return a device that consumes counters, mostly with groups."""
    consumed = []
    for name in ("chip", "board") if draw.random() < 0.25 else ("chip",):
        one: Object = {"counterSet": name, "counters": {"slots": {"value": "1"}}}
        if draw.random() < 0.85:
            one["compatibilityGroups"] = draw.sample(("mig", "vgpu", "mps"), draw.choice((1, 1, 2)))
        consumed.append(one)
    return {
        "name": f"dev-{number}",
        "attributes": {"index": {"int": number}},
        "consumesCounters": consumed,
    }


def device_compatibility(draw: Random) -> Object:
    """Return partitions of devices, of which some exclude each other, and a claim."""
    return _with_pod(_partitions(draw), draw, _claim_of_partitions)


def device_compatibility_sequence(draw: Random) -> Object:
    """Return the same with several claims in turn, which compete for the devices."""
    return _with_sequence(_partitions(draw), draw, _claim_of_partitions)


def _with_pod(scenario: Object, draw: Random, make: Make) -> Object:
    scenario["resourceClaims"].append(make(draw, "mine"))
    return {**scenario, "pod": with_claim(pod("incoming"), "mine")}


def _with_sequence(scenario: Object, draw: Random, make: Make) -> Object:
    sequence = []
    for number in range(draw.randint(4, 6)):
        scenario["resourceClaims"].append(make(draw, f"mine-{number}"))
        sequence.append(with_claim(pod(f"incoming-{number}"), f"mine-{number}"))
    return {**scenario, "podSequence": sequence}


def _partitions(draw: Random) -> Object:
    is_on = draw.random() < 0.8
    # Without the gate, requests for all devices are errors, which end an attempt at their node.
    cluster = nodes(draw, 2, 3) if is_on else nodes(draw, 1, 1)
    names = [one["metadata"]["name"] for one in cluster]
    everywhere = draw.random() < 0.3
    slices, claims, pods = [], [], []
    for place, name in enumerate(names):
        devices = [partition(draw, number) for number in range(draw.randint(3, 5))]
        if draw.random() < 0.3:
            devices.append({"name": "plain", "attributes": {"index": {"int": 9}}})
        made = [
            counters(name, draw.choice(("2", "3", "4")), everywhere),
            resource_slice(name, devices),
        ]
        for one in made:
            one["spec"]["pool"]["resourceSliceCount"] = len(made)
        slices += made
        if draw.random() < 0.5:
            taken = draw.choice(devices)["name"]
            user = with_claim(running(f"user-{place}", name, place), f"used-{place}")
            pods.append(user)
            claims.append(allocated(resource_claim(f"used-{place}", {}), name, taken, user))
    scenario: Object = {
        "nodes": cluster,
        "pods": pods,
        "deviceClasses": [CLASS],
        "resourceSlices": slices,
        "resourceClaims": claims,
    }
    if is_on:
        scenario["featureGates"] = {GROUPS_GATE: True}
    return scenario


def _claim_of_partitions(draw: Random, name: str) -> Object:
    request: Object = {"count": draw.choice((1, 1, 2, 2, 3))}
    if draw.random() < 0.15:
        request = {"allocationMode": "All"}
    if draw.random() < 0.4:
        least = draw.randrange(4)
        text = f'device.attributes["{DRIVER}"].index >= {least}'
        request["selectors"] = [{"cel": {"expression": text}}]
    made = resource_claim(name, request)
    if request.get("allocationMode") == "All":
        del made["spec"]["devices"]["requests"][0]["exactly"]["count"]
    return made


def derived_attributes(draw: Random) -> Object:
    """Return devices, and a claim that compares values computed from their attributes."""
    if draw.random() < 0.3:
        # An error ends an attempt at its node.
        make = partial(_claim_of_derived, expressions=FAULTY)
        return _with_pod(_attributed(draw, nodes(draw, 1, 1)), draw, make)
    return _with_pod(_attributed(draw, nodes(draw, 2, 3)), draw, _claim_of_derived)


def derived_attributes_sequence(draw: Random) -> Object:
    """Return the same with several claims in turn, which compete for the devices."""
    return _with_sequence(_attributed(draw, nodes(draw, 2, 3)), draw, _claim_of_derived)


def _attributed(draw: Random, cluster: list[Object]) -> Object:
    slices = []
    for one in cluster:
        devices = []
        for number in range(draw.randint(3, 6)):
            attributes: Object = {
                "model": {"string": draw.choice(("a100", "h100"))},
                "numa": {"int": draw.randrange(4)},
            }
            if draw.random() < 0.5:
                attributes["firmware"] = {"version": draw.choice(("1.0.0", "1.2.3"))}
            memory = {"memory": {"value": draw.choice(("4Gi", "16Gi"))}}
            devices.append({"name": f"dev-{number}", "attributes": attributes, "capacity": memory})
        slices.append(resource_slice(one["metadata"]["name"], devices))
    scenario: Object = {
        "nodes": cluster,
        "pods": [],
        "deviceClasses": [CLASS],
        "resourceSlices": slices,
        "resourceClaims": [],
    }
    if draw.random() < 0.9:
        scenario["featureGates"] = {DERIVED_GATE: True}
        if draw.random() < 0.3:
            scenario["featureGates"]["DRAListTypeAttributes"] = True
    return scenario


def _claim_of_derived(
    draw: Random, name: str, expressions: tuple[str, ...] = EXPRESSIONS
) -> Object:
    attribute = draw.choice(NAMES)
    made = resource_claim(name, {})
    requests = []
    for number in range(draw.choice((1, 2, 2))):
        exactly: Object = {
            "deviceClassName": "gpu",
            "allocationMode": "ExactCount",
            "count": draw.choice((1, 2)) if number else draw.choice((2, 2, 3)),
            "derivedAttributes": [{"name": attribute, "expression": draw.choice(expressions)}],
        }
        if number and draw.random() < 0.3:
            del exactly["derivedAttributes"]
        if number and draw.random() < 0.3:
            one = {"name": "first", **exactly, "count": 3}
            another = {"name": "second", **exactly, "count": 1}
            requests.append({"name": f"r{number}", "firstAvailable": [one, another]})
        else:
            requests.append({"name": f"r{number}", "exactly": exactly})
    kind = draw.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
    made["spec"]["devices"] = {"requests": requests, "constraints": [{kind: attribute}]}
    return made

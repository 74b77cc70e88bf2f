"""Scenarios about the scores of extended resources that devices back."""

from __future__ import annotations

from random import Random

from tools.recorder.scenarios.devices import (
    DRIVER,
    allocated,
    resource_claim,
    resource_slice,
    with_claim,
)
from tools.recorder.scenarios.objects import ZONE, ZONES, Object, config, nodes, pod, running

GPU = "example.com/gpu"
#: The name under which a pod can request any class.
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
SELECTORS = (
    f'device.driver == "{DRIVER}"',
    f'device.attributes["{DRIVER}"].model == "large"',
    "!device.allowMultipleAllocations",
)
#: A selector that fails for devices without the attribute.
FAILING = f'device.attributes["{DRIVER}"].fast'


def device_class(draw: Random, *, may_fail: bool) -> Object:
    """Return a class that backs a resource; it selects some devices or all."""
    spec: Object = {"extendedResourceName": GPU}
    if draw.random() < 0.65:
        selectors = (*SELECTORS, FAILING) if may_fail else SELECTORS
        chosen = draw.sample(selectors, draw.choice((1, 1, 2)))
        spec["selectors"] = [{"cel": {"expression": one}} for one in chosen]
    return {"metadata": {"name": "gpu"}, "spec": spec}


def device(draw: Random, number: int) -> Object:
    """Return a device of one of two models."""
    made: Object = {
        "name": f"dev-{number}",
        "attributes": {"model": {"string": draw.choice(("large", "large", "small"))}},
    }
    if draw.random() < 0.2:
        made["allowMultipleAllocations"] = True
    if draw.random() < 0.8:
        made["attributes"]["fast"] = {"bool": draw.random() < 0.8}
    return made


def slices_of(draw: Random, names: list[str]) -> list[Object]:
    """Return the devices of some nodes, and pools that several nodes reach."""
    made = []
    for name in names:
        if draw.random() < 0.7:
            devices = [device(draw, number) for number in range(draw.randint(1, 4))]
            made.append(resource_slice(name, devices))
    zone = {"key": ZONE, "operator": "In", "values": [draw.choice(ZONES)]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    kind = draw.random()
    if kind < 0.5:
        shared = resource_slice("shared", [device(draw, number) for number in range(2)])
        del shared["spec"]["nodeName"]
        if kind < 0.15:
            shared["spec"]["allNodes"] = True
        elif kind < 0.3:
            shared["spec"]["nodeSelector"] = terms
        else:
            shared["spec"]["perDeviceNodeSelection"] = True
            one, other = shared["spec"]["devices"]
            one["nodeName"] = draw.choice(names)
            other["nodeSelector"] = terms
        made.append(shared)
    return made


def args_of(draw: Random, resource: str, has_selectors: bool) -> dict[str, Object]:
    """Return arguments by which the resource plugins score a resource."""
    resources = [
        {"name": "cpu", "weight": 1},
        {"name": "memory", "weight": draw.choice((1, 2))},
        {"name": resource, "weight": draw.choice((1, 3, 5))},
    ]
    strategy: Object = {
        "type": draw.choice(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")),
        "resources": resources,
    }
    if strategy["type"] == "RequestedToCapacityRatio":
        shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    args: dict[str, Object] = {"NodeResourcesFit": {"scoringStrategy": strategy}}
    if not has_selectors:
        # With selectors, kube-scheduler's NodeResourcesBalancedAllocation ends the process.
        balanced = [{"name": one["name"], "weight": 1} for one in resources]
        args["NodeResourcesBalancedAllocation"] = {"resources": balanced}
    return args


def single(draw: Random) -> Object:
    """Return a pod that requests devices as a resource, with some devices in use."""
    cluster = nodes(draw, 3, 6)
    names = [one["metadata"]["name"] for one in cluster]
    for one in cluster:
        if draw.random() < 0.25:
            count = draw.choice(("0", "2", "4"))
            one["status"]["capacity"][GPU] = one["status"]["allocatable"][GPU] = count
    slices = slices_of(draw, names)
    claims, pods = [], []
    for one in slices:
        on = one["spec"].get("nodeName")
        if on and draw.random() < 0.5:
            user = with_claim(running(f"user-{on}", on, len(pods)), f"used-{on}")
            made = resource_claim(f"used-{on}", {})
            claims.append(allocated(made, on, one["spec"]["devices"][0]["name"], user))
            pods.append(user)
    plugins: tuple[str, ...] = ("NodeResourcesFit", "NodeResourcesBalancedAllocation")
    if draw.random() < 0.5:
        plugins = ()
    # With DynamicResources, a selector that fails ends the attempt before any score.
    made_class = device_class(draw, may_fail=bool(plugins))
    has_selectors = "selectors" in made_class["spec"]
    resource = IMPLICIT if draw.random() < 0.2 else GPU
    mine = pod("incoming", cpu=draw.choice(("100m", "1")))
    if draw.random() < 0.9:
        resources = mine["spec"]["containers"][0]["resources"]
        resources["requests"][resource] = draw.choice(("1", "1", "2"))
        resources["limits"] = {resource: resources["requests"][resource]}
    return {
        "config": config(*plugins, args=args_of(draw, resource, has_selectors)),
        "nodes": cluster,
        "pods": pods,
        "resourceClaims": claims,
        "resourceSlices": slices,
        "deviceClasses": [made_class],
        "pod": mine,
    }

"""Scenarios about devices that consume cpu, memory and other resources of their node."""

from __future__ import annotations

from random import Random
from typing import Any

from tools.recorder.scenarios.devices import CLASS, DRIVER, allocated, resource_slice
from tools.recorder.scenarios.objects import Object, config, nodes, pod, running

GATES = {"DRANodeAllocatableResources": True}
PAGES = "hugepages-2Mi"
OTHER_CLASS = {
    "metadata": {"name": "net"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "net.example.com"'}}]},
}


def mapping(per_device: str) -> Object:
    """Return a node resource of which each device represents an amount."""
    return {"mapping": {"deviceMultiplier": per_device}}


def share(key: str, factor: str) -> Object:
    """Return a node resource of which each unit of a capacity represents an amount."""
    return {"mapping": {"capacityKey": key, "capacityMultiplier": factor}}


def overhead(**amounts: str) -> Object:
    """Return a node resource that a pod needs in order to use the device."""
    return {"overhead": amounts}


#: Kinds of devices, by name: fields of the device, and of a request for one.
KINDS: dict[str, tuple[Object, Object]] = {
    "cores": ({"nodeAllocatableResources": {"cpu": mapping("2")}}, {}),
    "half": ({"nodeAllocatableResources": {"cpu": mapping("1500m")}}, {}),
    "numa": (
        {"nodeAllocatableResources": {"cpu": mapping("4"), "memory": mapping("4Gi")}},
        {},
    ),
    "pages": (
        {"nodeAllocatableResources": {PAGES: mapping("64Mi"), "memory": mapping("64Mi")}},
        {},
    ),
    "disk": ({"nodeAllocatableResources": {"ephemeral-storage": mapping("60Gi")}}, {}),
    "gpu": (
        {"nodeAllocatableResources": {"memory": overhead(perPod="1Gi", perContainer="1536Mi")}},
        {},
    ),
    "both": (
        {
            "nodeAllocatableResources": {
                "cpu": {**mapping("3"), **overhead(perPod="250m")},
                "memory": overhead(perContainer="1G"),
            }
        },
        {},
    ),
    "pool": (
        {
            "allowMultipleAllocations": True,
            "capacity": {"cores": {"value": "12"}, "memory": {"value": "24Gi"}},
            "nodeAllocatableResources": {
                "cpu": share("cores", "1"),
                "memory": share("memory", "1"),
            },
        },
        {"capacity": {"requests": {"cores": "3", "memory": "2Gi"}}},
    ),
    "threads": (
        {
            "allowMultipleAllocations": True,
            "capacity": {"cores": {"value": "6"}},
            "nodeAllocatableResources": {
                "cpu": share("cores", "2"),
                "memory": share("cores", "1536Mi"),
            },
        },
        {"capacity": {"requests": {"cores": "1500m"}}},
    ),
    "whole": (
        {
            "capacity": {"cores": {"value": "6"}},
            "nodeAllocatableResources": {"cpu": share("cores", "500m")},
        },
        {},
    ),
    "plain": ({}, {}),
}
#: The kinds of devices in claims that are already allocated.
SIMPLE = ("cores", "half", "numa", "gpu", "both", "plain")


def devices_of(kind: str, count: int) -> list[Object]:
    """Return devices of a kind."""
    return [{"name": f"dev-{number}", **KINDS[kind][0]} for number in range(count)]


def claim_of(name: str, kind: str, count: int = 1, class_name: str = "gpu") -> Object:
    """Return a claim for devices of a kind."""
    exactly = {
        "deviceClassName": class_name,
        "allocationMode": "ExactCount",
        "count": count,
        **KINDS[kind][1],
    }
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-claim-{name}"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        "status": {},
    }


def with_claims(made: Object, **uses: tuple[int, ...]) -> Object:
    """Return a pod that has claims, each used by some of its containers."""
    made["spec"]["resourceClaims"] = [
        {"name": f"of-{name}", "resourceClaimName": name} for name in uses
    ]
    for name, containers in uses.items():
        for number in containers:
            resources = made["spec"]["containers"][number]["resources"]
            resources.setdefault("claims", []).append({"name": f"of-{name}"})
    return made


def container(name: str, **resources: Any) -> Object:
    """Return another container."""
    return {
        "name": name,
        "image": "registry.example/app:1",
        "imagePullPolicy": "IfNotPresent",
        "resources": resources,
    }


def status_of(claim: str, containers: list[str], **amounts: Any) -> Object:
    """Return the claim status of a pod."""
    return {"resourceClaimName": claim, "containers": containers, **amounts}


def with_pages(cluster: list[Object], draw: Random) -> None:
    """Give some nodes huge pages."""
    for node in cluster:
        if draw.random() < 0.7:
            pages = draw.choice(("32Mi", "64Mi", "256Mi"))
            for field in ("capacity", "allocatable"):
                node["status"][field][PAGES] = pages


def filler(draw: Random, number: int, on: str) -> Object:
    """Return a running pod that consumes node resources, some of them by a claim."""
    cpu = draw.choice(("500m", "1", "2", "3"))
    made = running(f"filler-{number}", on, number, cpu=cpu, priority=draw.choice((0, 0, 10)))
    if draw.random() < 0.6:
        amounts: Object = {
            "mapping": [{"name": "cpu", "quantity": draw.choice(("1", "2", "1500m"))}]
        }
        if draw.random() < 0.4:
            amounts["overhead"] = [
                {"name": "memory", "perPod": "1Gi", "perContainer": "512Mi"},
                {"name": "cpu", "perContainer": "100m"},
            ]
        status = status_of(f"old-{number}", ["c0"], **amounts)
        made["status"]["nodeAllocatableResourceClaimStatuses"] = [status]
    return made


def whole_pod(draw: Random, made: Object) -> None:
    """Give a pod pod-level requests, and mostly pod-level limits."""
    request, limit, own = draw.choice(
        (("1", None, None), ("6", None, None), ("3", "5", "4"), ("6", "7", "6"))
    )
    resources: Object = {"requests": {"cpu": request}}
    if limit is not None:
        resources["limits"] = {"cpu": limit}
        made["spec"]["containers"][0]["resources"]["limits"] = {"cpu": own}
    made["spec"]["resources"] = resources


def one_pod(draw: Random) -> Object:
    """Return a pod whose claims consume resources, on nodes where other pods run."""
    cluster = nodes(draw, 2, 4)
    with_pages(cluster, draw)
    names = [one["metadata"]["name"] for one in cluster]
    kind = draw.choice(tuple(KINDS))
    slices = []
    for name in names:
        # An error ends the cycle, so that later nodes are not asked.
        here = kind if kind == "whole" or draw.random() < 0.8 else draw.choice(SIMPLE)
        slices.append(resource_slice(name, devices_of(here, draw.choice((1, 2, 3)))))
    pods = [filler(draw, number, draw.choice(names)) for number in range(draw.randint(0, 6))]
    made = pod("incoming", cpu=draw.choice(("100m", "500m", "1")))
    made["spec"]["priority"] = draw.choice((0, 0, 5, 100))
    if draw.random() < 0.5:
        made["spec"]["containers"].append(container("c1", requests={"cpu": "200m"}))
    if draw.random() < 0.2:
        made["spec"]["initContainers"] = [container("i0", requests={"cpu": "3", "memory": "1Gi"})]
    last = len(made["spec"]["containers"])
    uses: dict[str, tuple[int, ...]] = {
        "mine": tuple(range(draw.randint(0 if last > 1 else 1, last)))
    }
    claims = [claim_of("mine", kind, draw.choice((1, 1, 2)))]
    # If several claims fail, kube-scheduler names any of them.
    if draw.random() < 0.3 and kind != "whole":
        uses["second"] = (0,)
        claims.append(claim_of("second", kind))
    with_claims(made, **uses)
    if draw.random() < 0.25:
        whole_pod(draw, made)
    if draw.random() < 0.1:
        # A status that a failed attempt has left.
        left = status_of("mine", ["c0"], mapping=[{"name": "cpu", "quantity": "64"}])
        made["status"]["nodeAllocatableResourceClaimStatuses"] = [left]
    return scenario(cluster, pods, slices, claims, pod=made)


def shared_claim(draw: Random) -> Object:
    """Return a claim that is allocated, and mostly reserved for another pod."""
    cluster = nodes(draw, 2, 3)
    names = [one["metadata"]["name"] for one in cluster]
    kind = draw.choice(SIMPLE)
    on = draw.choice(names)
    slices = [resource_slice(name, devices_of(kind, 2)) for name in names]
    place = draw.random()
    if place < 0.2:
        del slices[0]["spec"]["nodeName"]
        slices[0]["spec"]["allNodes"] = True
        on = names[0]
    elif place < 0.4:
        del slices[0]["spec"]["nodeName"]
        slices[0]["spec"]["perDeviceNodeSelection"] = True
        for device, name in zip(slices[0]["spec"]["devices"], (names[0], names[1]), strict=True):
            device["nodeName"] = name
        on = names[0]
    elif place < 0.6:
        # The claim may be used on all nodes, but only one of them has its device.
        slices[0]["spec"] = {**slices[0]["spec"], "nodeName": None, "perDeviceNodeSelection": True}
        for device, name in zip(slices[0]["spec"]["devices"], (names[0], names[1]), strict=True):
            device["nodeName"] = name
        on = names[0]
    user = with_claims(running("user", on, 1), shared=(0,))
    made = with_claims(pod("incoming"), shared=(0,))
    holder = draw.choice((user, user, made))
    claim = allocated(claim_of("shared", kind), on, "dev-0", holder)
    if place < 0.2 or 0.4 <= place < 0.6:
        del claim["status"]["allocation"]["nodeSelector"]
    if draw.random() < 0.2:
        del claim["status"]["reservedFor"]
    if draw.random() < 0.2 and "nodeSelector" in claim["status"]["allocation"]:
        # A device that no longer exists, in addition to one that does.
        gone = {"request": "r", "driver": DRIVER, "pool": on, "device": "gone"}
        claim["status"]["allocation"]["devices"]["results"].append(gone)
    pods = [user, *(filler(draw, number, draw.choice(names)) for number in range(2, 5))]
    return scenario(cluster, pods, slices, [claim], pod=made)


def preempting(draw: Random) -> Object:
    """Return a pod that fits with its claims only if others are preempted."""
    cluster = nodes(draw, 2, 3)
    for node in cluster:
        node["status"]["allocatable"]["cpu"] = node["status"]["capacity"]["cpu"] = "4"
    names = [one["metadata"]["name"] for one in cluster]
    slices = [resource_slice(name, devices_of("cores", 2)) for name in names]
    pods = []
    for number, name in enumerate(names * 2):
        made = filler(draw, number, name)
        made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1"
        pods.append(made)
    made = pod("incoming", cpu="300m", priority=draw.choice((5, 100, 100)))
    with_claims(made, mine=(0,))
    return scenario(cluster, pods, slices, [claim_of("mine", "cores")], pod=made)


def backed(draw: Random) -> Object:
    """Return a pod that asks for devices by an extended resource, or of two drivers."""
    cluster = nodes(draw, 2, 3)
    names = [one["metadata"]["name"] for one in cluster]
    kind = draw.choice(("cores", "gpu", "both", "plain"))
    slices = [resource_slice(name, devices_of(kind, 1)) for name in names]
    made = pod("incoming")
    if draw.random() < 0.5:
        device_class = {
            **CLASS,
            "spec": {**CLASS["spec"], "extendedResourceName": "example.com/gpu"},
        }
        for field in ("requests", "limits"):
            made["spec"]["containers"][0]["resources"].setdefault(field, {})["example.com/gpu"] = (
                "1"
            )
        found = scenario(cluster, [], slices, [], pod=made)
        found["deviceClasses"] = [device_class]
        return found
    for name in names:
        other = resource_slice(name, devices_of("gpu", 1))
        other["metadata"]["name"] = f"net-{name}"
        other["spec"]["driver"] = "net.example.com"
        slices.append(other)
    with_claims(made, mine=(0,), net=(0,))
    claims = [claim_of("mine", kind), claim_of("net", "plain", class_name="net")]
    return scenario(cluster, [], slices, claims, pod=made)


def alone(draw: Random) -> Object:
    """Return a pod for a profile in which only DynamicResources counts resources."""
    found = one_pod(draw)
    found["config"] = config("DynamicResources")
    return found


def single(draw: Random) -> Object:
    """Return a scenario of one pod."""
    kinds = (one_pod, one_pod, one_pod, shared_claim, shared_claim, preempting, backed, alone)
    return draw.choice(kinds)(draw)


def sequence(draw: Random) -> Object:
    """Return several pods that are placed in turn and consume resources by claims."""
    cluster = nodes(draw, 2, 3)
    names = [one["metadata"]["name"] for one in cluster]
    kind = draw.choice(("cores", "half", "numa", "both", "gpu", "pool", "threads"))
    slices = [resource_slice(name, devices_of(kind, draw.randint(2, 6))) for name in names]
    claims, pods = [], []
    for number in range(draw.randint(6, 12)):
        made = pod(f"pod-{number}", cpu=draw.choice(("100m", "500m", "2")))
        made["spec"]["priority"] = draw.choice((0, 0, 10, 100))
        if draw.random() < 0.75:
            name = f"claim-{number}"
            claims.append(claim_of(name, kind, draw.choice((1, 1, 2))))
            with_claims(made, **{name: (0,)})
        pods.append(made)
    found = scenario(cluster, [], slices, claims, podSequence=pods)
    if draw.random() < 0.6:
        found["applyPreemption"] = True
    return found


def scenario(
    cluster: list[Object],
    pods: list[Object],
    slices: list[Object],
    claims: list[Object],
    **more: Any,
) -> Object:
    """Return a scenario with the gate on."""
    return {
        "nodes": cluster,
        "pods": pods,
        "deviceClasses": [CLASS, OTHER_CLASS],
        "resourceSlices": slices,
        "resourceClaims": claims,
        "featureGates": GATES,
        **more,
    }

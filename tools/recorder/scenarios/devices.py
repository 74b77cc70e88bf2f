"""Scenarios about devices: parts of a capacity, and taints that rules put on devices."""

from __future__ import annotations

from random import Random

from tools.recorder.scenarios.objects import Object, nodes, pod, running

DRIVER = "gpu.example.com"
CLASS = {
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
}


def resource_slice(on: str, devices: list[Object]) -> Object:
    """Return the devices of one node."""
    return {
        "metadata": {"name": f"slice-{on}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": on,
            "pool": {"name": on, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def resource_claim(name: str, request: Object) -> Object:
    """Return a ResourceClaim with one request."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **request}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-claim-{name}"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        "status": {},
    }


def allocated(made: Object, on: str, device: str, user: Object, **result: object) -> Object:
    """Return a claim that has a device of a node, reserved for a pod."""
    field = {"key": "metadata.name", "operator": "In", "values": [on]}
    results = [{"request": "r", "driver": DRIVER, "pool": on, "device": device, **result}]
    metadata = user["metadata"]
    made["status"] = {
        "allocation": {
            "devices": {"results": results},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        },
        "reservedFor": [{"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}],
    }
    return made


def with_claim(made: Object, name: str) -> Object:
    """Return a pod that uses a claim."""
    made["spec"]["resourceClaims"] = [{"name": "g", "resourceClaimName": name}]
    made["spec"]["containers"][0]["resources"]["claims"] = [{"name": "g"}]
    return made


def policy(draw: Random) -> Object | None:
    """Return how much of a capacity may be requested; None if any amount may."""
    kind = draw.random()
    if kind < 0.15:
        return None
    if kind < 0.3:
        return {"default": "500m", "validValues": ["250m", "500m", "1", "2500m"]}
    least, step = draw.choice((("100m", "100m"), ("250m", "500m"), ("500m", "1500m"), ("1", "1")))
    made: Object = {"default": least, "validRange": {"min": least, "step": step}}
    if draw.random() < 0.5:
        made["validRange"]["max"] = {"100m": "3", "250m": "2250m", "500m": "3500m", "1": "3"}[least]
    return made


def device_capacity(draw: Random) -> Object:
    """Return devices that several claims share, by parts of a capacity."""
    cluster = nodes(draw, 2, 4)
    names = [one["metadata"]["name"] for one in cluster]
    rule = policy(draw)
    slices = []
    for name in names:
        devices = []
        for number in range(draw.choice((1, 1, 2))):
            share: Object = {"value": draw.choice(("500m", "1", "2500m", "3"))}
            if rule is not None:
                share["requestPolicy"] = rule
            devices.append(
                {
                    "name": f"dev-{number}",
                    "allowMultipleAllocations": True,
                    "capacity": {"share": share},
                }
            )
        slices.append(resource_slice(name, devices))
    claims, pods = [], []
    for number in range(draw.randint(0, 3)):
        on = draw.choice(names)
        amount = draw.choice(("500m", "1", "750m"))
        user = with_claim(running(f"user-{number}", on, number), f"used-{number}")
        made = resource_claim(f"used-{number}", {"capacity": {"requests": {"share": amount}}})
        share_id = f"00000000-0000-4000-8000-{number:012}"
        claims.append(
            allocated(made, on, "dev-0", user, shareID=share_id, consumedCapacity={"share": amount})
        )
        pods.append(user)
    request: Object = {}
    if draw.random() < 0.9:
        amount = draw.choice(("50m", "300m", "600m", "1", "1200m", "2", "2300m", "3"))
        request = {"capacity": {"requests": {"share": amount}}}
    claims.append(resource_claim("mine", request))
    scenario: Object = {
        "nodes": cluster,
        "pods": pods,
        "deviceClasses": [CLASS],
        "resourceSlices": slices,
        "resourceClaims": claims,
        "pod": with_claim(pod("incoming"), "mine"),
    }
    if draw.random() < 0.75:
        scenario["featureGates"] = {"DRAFractionalCapacityRange": True}
    return scenario


def device_taints(draw: Random) -> Object:
    """Return devices with taints of their own and of rules, and a claim that may tolerate some."""
    cluster = nodes(draw, 2, 4)
    names = [one["metadata"]["name"] for one in cluster]
    slices = []
    for name in names:
        devices: list[Object] = [{"name": f"dev-{n}"} for n in range(draw.choice((1, 1, 2)))]
        if draw.random() < 0.3:
            devices[0]["taints"] = [{"key": "own", "effect": "NoSchedule"}]
        slices.append(resource_slice(name, devices))
    rules = []
    for number in range(draw.randint(1, 3)):
        choice: Object = draw.choice(
            (
                {"pool": draw.choice(names)},
                {"driver": DRIVER, "device": "dev-0"},
                {"driver": DRIVER, "pool": draw.choice(names), "device": "dev-1"},
                {"driver": "other.example.com"},
            )
        )
        effect = draw.choice(("NoSchedule", "NoSchedule", "NoExecute", "None"))
        taint = {"key": "broken", "value": draw.choice(("yes", "maybe")), "effect": effect}
        taint["timeAdded"] = "2026-01-01T00:00:00Z"
        rules.append(
            {
                "metadata": {"name": f"rule-{number}", "uid": f"uid-rule-{number}"},
                "spec": {"deviceSelector": choice, "taint": taint},
            }
        )
    request: Object = {}
    if draw.random() < 0.4:
        request["tolerations"] = [
            draw.choice(
                (
                    {"key": "broken", "operator": "Exists"},
                    {"key": "broken", "operator": "Equal", "value": "yes"},
                    {"key": "broken", "operator": "Equal", "value": "yes", "effect": "NoExecute"},
                )
            )
        ]
    scenario: Object = {
        "nodes": cluster,
        "pods": [],
        "deviceClasses": [CLASS],
        "deviceTaintRules": rules,
        "resourceSlices": slices,
        "resourceClaims": [resource_claim("mine", request)],
        "pod": with_claim(pod("incoming"), "mine"),
    }
    if draw.random() < 0.15:
        scenario["featureGates"] = {"DRADeviceTaintRules": False}
    return scenario

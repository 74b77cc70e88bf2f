"""Scenarios about volumes: scores by free capacity, and drivers that a node lacks."""

from __future__ import annotations

from random import Random

from tools.recorder.scenarios.objects import (
    DRIVER,
    HOSTNAME,
    ZONE,
    ZONES,
    Object,
    bound,
    claim,
    config,
    csi_driver,
    csi_node,
    nodes,
    pod,
    running,
    storage_class,
    volume_of,
)

OTHER_DRIVER = "file.csi.example.com"


def capacity(name: str, class_name: str, amount: int, labels: dict[str, str]) -> Object:
    """Return what a driver can still provision on the nodes with some labels."""
    return {
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": class_name,
        "capacity": f"{amount}Gi",
        "nodeTopology": {"matchLabels": labels},
    }


def local_volume(name: str, amount: int, on: str) -> Object:
    """Return a volume that exists already, on one node."""
    expression = {"key": HOSTNAME, "operator": "In", "values": [on]}
    terms = [{"matchExpressions": [expression]}]
    return {
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": f"{amount}Gi"},
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "local",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Available"},
    }


def storage_capacity(draw: Random) -> Object:
    """Return claims to be provisioned, and what is free for them on each node or in each zone."""
    cluster = nodes(draw)
    names = [one["metadata"]["name"] for one in cluster]
    classes = [storage_class("fast"), storage_class("slow", OTHER_DRIVER)]
    drivers = [csi_driver(storageCapacity=True), csi_driver(OTHER_DRIVER, storageCapacity=True)]
    capacities = [
        capacity(f"fast-{name}", "fast", draw.randint(1, 100), {HOSTNAME: name})
        for name in names
        if draw.random() < 0.85
    ]
    capacities += [
        capacity(f"slow-{zone}", "slow", draw.randint(5, 200), {ZONE: zone}) for zone in ZONES
    ]
    wanted = [draw.choice(("fast", "fast", "slow")) for _ in range(draw.randint(1, 3))]
    claims = [claim(f"c{n}", f"{draw.randint(1, 20)}Gi", one) for n, one in enumerate(wanted)]
    scenario: Object = {
        "nodes": cluster,
        "pods": [],
        "storageClasses": classes,
        "csiDrivers": drivers,
        "csiStorageCapacities": capacities,
    }
    if draw.random() < 0.3:
        classes.append(storage_class("local", "kubernetes.io/no-provisioner"))
        claims.append(claim("static", f"{draw.randint(1, 10)}Gi", "local"))
        scenario["pvs"] = [
            local_volume(f"local-{name}", draw.randint(5, 40), name) for name in names
        ]
    scenario["pvcs"] = claims
    scenario["pod"] = pod(
        "incoming", volumes=[volume_of(one["metadata"]["name"]) for one in claims]
    )
    chance = draw.random()
    if chance < 0.3:
        points = sorted(draw.sample(range(1, 100), draw.randint(0, 2)))
        shape = [{"utilization": at, "score": draw.randint(0, 10)} for at in (0, *points, 100)]
        scenario["config"] = config(args={"VolumeBinding": {"shape": shape}})
    elif chance < 0.45:
        scenario["featureGates"] = {"StorageCapacityScoring": False}
    return scenario


def missing_driver(draw: Random) -> Object:
    """Return volumes of a driver that not all nodes have."""
    cluster = nodes(draw)
    names = [one["metadata"]["name"] for one in cluster]
    prevents = draw.choice((True, True, True, False, None))
    spec = {} if prevents is None else {"preventPodSchedulingIfMissing": prevents}
    csi_nodes = []
    for name in names:
        drivers: dict[str, int | None] = {}
        if draw.random() < 0.6:
            drivers[DRIVER] = draw.choice((None, 1, 3))
        if draw.random() < 0.5:
            drivers[OTHER_DRIVER] = draw.choice((None, 2))
        if draw.random() < 0.9:
            csi_nodes.append(csi_node(name, **drivers))
    claims, volumes, pods = [], [], []
    for number in range(draw.randint(0, 4)):
        made, volume = bound(f"old-{number}", draw.choice((DRIVER, OTHER_DRIVER)))
        claims.append(made)
        volumes.append(volume)
        on = draw.choice(names)
        pods.append(running(f"user-{number}", on, number, volumes=[volume_of(f"old-{number}")]))
    of_pod = []
    for number in range(draw.randint(1, 2)):
        made, volume = bound(f"c{number}", draw.choice((DRIVER, DRIVER, OTHER_DRIVER)))
        claims.append(made)
        volumes.append(volume)
        of_pod.append(volume_of(f"c{number}"))
    if draw.random() < 0.4:
        claims.append(claim("later", "1Gi", "fast"))
        of_pod.append(volume_of("later"))
    if draw.random() < 0.3:
        of_pod.append({"name": "inline", "csi": {"driver": DRIVER}})
    scenario: Object = {
        "nodes": cluster,
        "pods": pods,
        "pod": pod("incoming", volumes=of_pod),
        "csiDrivers": [csi_driver(**spec), csi_driver(OTHER_DRIVER)],
        "csiNodes": csi_nodes,
        "storageClasses": [storage_class("fast")],
        "pvcs": claims,
        "pvs": volumes,
    }
    if draw.random() < 0.5:
        scenario["config"] = config("NodeVolumeLimits")
    if draw.random() < 0.15:
        scenario["featureGates"] = {"VolumeLimitScaling": False}
    return scenario

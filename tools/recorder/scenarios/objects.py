"""Objects of generated scenarios, as the API server would hand them to the scheduler."""

from __future__ import annotations

from random import Random
from typing import Any

Object = dict[str, Any]

NAMESPACES = ("default", "dev", "prod", "team-a")
ZONES = ("zone-a", "zone-b", "zone-c")
DRIVER = "disk.csi.example.com"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def node(name: str, draw: Random, **status: Any) -> Object:
    """Return a node with a zone and room for pods."""
    resources = {
        "cpu": str(draw.choice((4, 8, 16))),
        "memory": draw.choice(("8Gi", "16Gi", "32Gi")),
        "ephemeral-storage": "100Gi",
        "pods": "110",
    }
    labels = {HOSTNAME: name, ZONE: draw.choice(ZONES), "kubernetes.io/os": "linux"}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"capacity": resources, "allocatable": dict(resources), **status},
    }


def nodes(draw: Random, least: int = 3, most: int = 6) -> list[Object]:
    """Return some nodes; their names are not in the order of the list."""
    letters = draw.sample("abcdef", draw.randint(least, most))
    return [node(f"node-{letter}{number}", draw) for number, letter in enumerate(letters)]


def pod(name: str, namespace: str = "default", cpu: str = "100m", **spec: Any) -> Object:
    """Return a pending pod with one container."""
    container = {
        "name": "c0",
        "image": "registry.example/app:1",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}},
    }
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "containers": [container],
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            **spec,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def running(name: str, on: str, second: int, namespace: str = "default", **spec: Any) -> Object:
    """Return a pod that runs on a node since a second of its own."""
    made = pod(name, namespace, nodeName=on, **spec)
    made["status"] |= {
        "phase": "Running",
        "startTime": f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z",
    }
    return made


def labelled(made: Object, **labels: str) -> Object:
    """Return an object with labels."""
    made["metadata"]["labels"] = {**made["metadata"].get("labels", {}), **labels}
    return made


def storage_class(
    name: str, provisioner: str = DRIVER, mode: str = "WaitForFirstConsumer"
) -> Object:
    """Return a StorageClass."""
    return {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": mode,
    }


def csi_driver(name: str = DRIVER, **spec: Any) -> Object:
    """Return a CSIDriver."""
    defaults = {
        "attachRequired": True,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "podInfoOnMount": False,
        "requiresRepublish": False,
        "seLinuxMount": False,
        "storageCapacity": False,
        "volumeLifecycleModes": ["Persistent"],
    }
    return {"metadata": {"name": name}, "spec": {**defaults, **spec}}


def csi_node(name: str, **limits: int | None) -> Object:
    """Return a CSINode with drivers, each with its limit or None."""
    drivers = [
        {
            "name": driver,
            "nodeID": name,
            "topologyKeys": None,
            **({} if limit is None else {"allocatable": {"count": limit}}),
        }
        for driver, limit in limits.items()
    ]
    return {"metadata": {"name": name}, "spec": {"drivers": drivers}}


def claim(name: str, storage: str, class_name: str, namespace: str = "default") -> Object:
    """Return a PersistentVolumeClaim that is not bound."""
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-pvc-{namespace}-{name}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": storage}},
            "storageClassName": class_name,
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    }


def bound(name: str, driver: str = DRIVER, namespace: str = "default") -> tuple[Object, Object]:
    """Return a claim and the volume that it is bound to."""
    made = claim(name, "1Gi", "", namespace)
    made["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    made["spec"]["volumeName"] = f"pv-{name}"
    made["status"]["phase"] = "Bound"
    volume = {
        "metadata": {"name": f"pv-{name}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "name": name,
                "namespace": namespace,
                "uid": made["metadata"]["uid"],
            },
            "csi": {"driver": driver, "volumeHandle": f"vol-{name}"},
            "persistentVolumeReclaimPolicy": "Retain",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Bound"},
    }
    return made, volume


def volume_of(claim_name: str) -> Object:
    """Return a pod's volume that is a claim."""
    return {"name": claim_name, "persistentVolumeClaim": {"claimName": claim_name}}


def budget(name: str, labels: dict[str, str], allowed: int, namespace: str = "default") -> Object:
    """Return a PodDisruptionBudget."""
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "minAvailable": 1},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        },
    }


def config(*enabled: str, args: dict[str, Object] | None = None) -> Object:
    """Return a configuration with these plugins alone, or with the default ones for none."""
    profile: Object = {"schedulerName": "default-scheduler"}
    if enabled:
        names = ["PrioritySort", *enabled, "DefaultBinder"]
        profile["plugins"] = {
            "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": one} for one in names]}
        }
    if args:
        profile["pluginConfig"] = [{"name": name, "args": one} for name, one in args.items()]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }

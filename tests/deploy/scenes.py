"""Objects that make a scheduler use its rights, one scene for each thing that it does."""

from __future__ import annotations

from typing import Any

from tests.deploy.conftest import NAME
from tests.live.running import node, pod
from tests.support.api import STRATEGIC_PATCH, Object
from tests.support.cluster import Cluster

STORAGE = "storage.k8s.io/v1"
RESOURCE = "resource.k8s.io/v1"
DRIVER = "driver.example.com"
DEVICES = "example.com/device"


def ours(name: str, **more: Any) -> Object:
    """Return a pod that the deployed scheduler serves."""
    spec = {"schedulerName": NAME, "terminationGracePeriodSeconds": 0, **more.pop("spec", {})}
    return pod(name, spec=spec, **more)


def _have_node(cluster: Cluster) -> None:
    if cluster.api.find("Node", "n") is None:
        cluster.create(node("n"))


def plain(cluster: Cluster, name: str = "plain") -> None:
    """A pod that fits."""
    _have_node(cluster)
    cluster.create(ours(name))


def unschedulable(cluster: Cluster, name: str = "stuck") -> None:
    """A pod that fits nowhere."""
    _have_node(cluster)
    cluster.create(ours(name, spec={"nodeSelector": {"no": "where"}}))


def preemption(cluster: Cluster) -> None:
    """A pod of high priority, "preemptor", and a bound one of low priority in its way, "victim"."""
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    cluster.create({**priority, "metadata": {"name": "high"}})
    _have_node(cluster)
    cluster.create(ours("victim", cpu="80", spec={"nodeName": "n"}))
    cluster.create(ours("preemptor", cpu="80", spec={"priorityClassName": "high"}))


def _claim(name: str, storage_class: str) -> Object:
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}}
    return {**head, "spec": spec}


def _user_of_claim(name: str, claim: str) -> Object:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    return ours(name, spec={"volumes": [volume]})


def _storage_class(name: str, provisioner: str) -> Object:
    return {
        "apiVersion": STORAGE,
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def static_volume(cluster: Cluster) -> None:
    """A pod "user" with a claim "claim" that waits for it, and a volume "volume" that fits."""
    _have_node(cluster)
    cluster.create(_storage_class("local", "kubernetes.io/no-provisioner"))
    spec = {
        "storageClassName": "local",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/data"},
    }
    head = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "volume"}}
    cluster.create({**head, "spec": spec})
    available = {"status": {"phase": "Available"}}
    cluster.api.patch("PersistentVolume", "volume", available, subresource="status")
    cluster.create(_claim("claim", "local"))
    cluster.create(_user_of_claim("user", "claim"))


def provisioned_volume(cluster: Cluster) -> None:
    """A pod "user" with a claim "claim" for which a volume is made once a node is chosen."""
    _have_node(cluster)
    cluster.create(_storage_class("made", DRIVER))
    cluster.create(_claim("claim", "made"))
    cluster.create(_user_of_claim("user", "claim"))


def bind_volume(cluster: Cluster) -> None:
    """Do what the volume controller does when the scheduler has chosen "volume" for "claim"."""
    done = {"pv.kubernetes.io/bind-completed": "yes"}
    patch = {"metadata": {"annotations": done}, "spec": {"volumeName": "volume"}}
    bound = {"status": {"phase": "Bound"}}
    cluster.api.patch("PersistentVolumeClaim", "claim", patch, cluster.namespace)
    cluster.api.patch(
        "PersistentVolumeClaim", "claim", bound, cluster.namespace, subresource="status"
    )
    cluster.api.patch("PersistentVolume", "volume", bound, subresource="status")


def _devices(cluster: Cluster, **more: Any) -> None:
    _have_node(cluster)
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    spec = {"selectors": [selector], **more}
    head = {"apiVersion": RESOURCE, "kind": "DeviceClass", "metadata": {"name": "devices"}}
    cluster.create({**head, "spec": spec})
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    slice_ = {"driver": DRIVER, "nodeName": "n", "pool": pool, "devices": [{"name": "device-0"}]}
    head = {"apiVersion": RESOURCE, "kind": "ResourceSlice", "metadata": {"name": "slice"}}
    cluster.create({**head, "spec": slice_})


def device(cluster: Cluster, **labels: str) -> None:
    """A pod "user" with a claim "claim" for a device that is there."""
    _devices(cluster)
    request = {"name": "one", "exactly": {"deviceClassName": "devices"}}
    head = {"apiVersion": RESOURCE, "kind": "ResourceClaim", "metadata": {"name": "claim"}}
    cluster.create({**head, "spec": {"devices": {"requests": [request]}}})
    spec = {"resourceClaims": [{"name": "one", "resourceClaimName": "claim"}]}
    cluster.create(ours("user", labels=labels, spec=spec))


def extended_device(cluster: Cluster) -> None:
    """A pod "user" that asks for a device by the name of an extended resource."""
    _devices(cluster, extendedResourceName=DEVICES)
    user = ours("user")
    amount = {DEVICES: "1"}
    user["spec"]["containers"][0]["resources"] = {"requests": amount, "limits": amount}
    cluster.create(user)


def held(cluster: Cluster) -> None:
    """A pod "held" that waits at Permit until `release`."""
    _have_node(cluster)
    cluster.create(ours("held", labels={"hold": ""}))


def refused(cluster: Cluster) -> None:
    """A pod "refused" that is tried again whatever happens, and always in vain."""
    _have_node(cluster)
    cluster.create(ours("refused", labels={"refuse": ""}))


def release(cluster: Cluster) -> None:
    """Let pods go that wait at Permit."""
    cluster.create(ours("release"))


def touch(cluster: Cluster, kind: str, name: str) -> None:
    """Change an object in a way that matters to nobody."""
    patch = {"metadata": {"annotations": {"touched": "yes"}}}
    cluster.api.patch(kind, name, patch, cluster.namespace, content_type=STRATEGIC_PATCH)

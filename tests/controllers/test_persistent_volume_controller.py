"""Volumes and claims, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

from mooring.api import CSINode, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from tests.support.controllers import Object, Workbench, template


def name_of(bench: Workbench, what: str) -> str:
    """Return a name for a cluster-scoped object, unique to the test's namespace."""
    return f"{what}-{bench.namespace}"


async def storage_class(bench: Workbench, **more: Any) -> str:
    name = name_of(bench, "class")
    made = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "namespace": ""},
        "provisioner": "disks.test",
        **more,
    }
    await bench.create(StorageClass, made)
    return name


def claim(name: str, class_name: str, size: str = "1Gi", **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, **metadata},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": size}},
        },
    }


def volume(name: str, class_name: str, size: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "namespace": ""},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "capacity": {"storage": size},
            "hostPath": {"path": "/disk"},
        },
    }


def bound_to(bench: Workbench, name: str) -> str:
    """Return the volume that a claim is bound to."""
    found = bench.get(PersistentVolumeClaim, name)
    return found.spec.volume_name if found and found.status.phase == "Bound" else ""


def phase(bench: Workbench, name: str) -> str:
    found = bench.store(PersistentVolume).get(name)
    return found.status.phase if found else "gone"


async def test_a_claim_takes_the_smallest_volume_that_suits(workbench: Workbench) -> None:
    name = await storage_class(workbench, provisioner="kubernetes.io/no-provisioner")
    for size in ("1Gi", "5Gi", "3Gi"):
        made = volume(name_of(workbench, size.lower()), name, size)
        await workbench.create(PersistentVolume, made)
    for size in ("1Gi", "5Gi", "3Gi"):
        await workbench.until(
            lambda size=size: phase(workbench, name_of(workbench, size.lower())) == "Available",  # type: ignore[misc]
            "available volumes",
        )
    await workbench.create(PersistentVolumeClaim, claim("data", name, "2Gi"))
    found = await workbench.until(lambda: bound_to(workbench, "data"), "the binding")
    assert found == name_of(workbench, "3gi")
    assert workbench.get(PersistentVolumeClaim, "data").status.capacity == {"storage": "3Gi"}
    await workbench.until(lambda: phase(workbench, found) == "Bound", "the volume's phase")
    await workbench.delete(PersistentVolumeClaim, "data")
    await workbench.until(lambda: phase(workbench, found) == "Released", "the release")


async def test_a_volume_is_made_at_once_and_goes_with_its_claim(workbench: Workbench) -> None:
    name = await storage_class(workbench)
    await workbench.create(PersistentVolumeClaim, claim("data", name))
    found = await workbench.until(lambda: bound_to(workbench, "data"), "the binding")
    made = workbench.store(PersistentVolume).get(found)
    assert made.spec.csi.driver == "disks.test"
    assert made.spec.capacity == {"storage": "1Gi"}
    await workbench.delete(PersistentVolumeClaim, "data")
    await workbench.until(lambda: phase(workbench, found) == "gone", "the volume's end")


async def test_volume_is_provisioned_with_the_attributes_class_of_its_claim(
    workbench: Workbench,
) -> None:
    name, attributes = await storage_class(workbench), name_of(workbench, "gold")
    made = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttributesClass",
        "metadata": {"name": attributes, "namespace": ""},
        "driverName": "disks.test",
        "parameters": {"iops": "1"},
    }
    await workbench.create("volumeattributesclasses.v1.storage.k8s.io", made)
    wanted = claim("data", name)
    wanted["spec"]["volumeAttributesClassName"] = attributes
    await workbench.create(PersistentVolumeClaim, wanted)
    found = await workbench.until(lambda: bound_to(workbench, "data"), "the binding")
    volume = workbench.store(PersistentVolume).get(found)
    assert volume.spec.volume_attributes_class_name == attributes
    status = workbench.get(PersistentVolumeClaim, "data").status
    assert status.current_volume_attributes_class_name == attributes


async def test_a_claim_waits_for_its_first_consumer(workbench: Workbench) -> None:
    name = await storage_class(workbench, volumeBindingMode="WaitForFirstConsumer")
    await workbench.patch(Node, "node-1", {"metadata": {"labels": {"zone": "a"}}}, namespace="")
    driver = {"name": "disks.test", "nodeID": "node-1", "topologyKeys": ["zone"]}
    await workbench.create(
        CSINode,
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": "node-1", "namespace": ""},
            "spec": {"drivers": [driver]},
        },
    )
    await workbench.until(lambda: workbench.store(CSINode).get("node-1"), "the driver")
    await workbench.until(
        lambda: workbench.store(Node).get("node-1").metadata.labels.get("zone"), "the label"
    )
    await workbench.create(PersistentVolumeClaim, claim("data", name))
    await workbench.until(
        lambda: workbench.get(PersistentVolumeClaim, "data") is not None, "the claim"
    )
    # The scheduler would set this annotation.
    marks = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}}
    await workbench.patch(PersistentVolumeClaim, "data", marks)
    found = await workbench.until(lambda: bound_to(workbench, "data"), "the binding")
    made = workbench.store(PersistentVolume).get(found)
    (term,) = made.spec.node_affinity.required.node_selector_terms
    assert [(one.key, one.values) for one in term.match_expressions] == [("zone", ("a",))]


async def test_the_scheduler_chooses_a_volume(workbench: Workbench) -> None:
    name = await storage_class(
        workbench,
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    made = volume(name_of(workbench, "disk"), name, "1Gi")
    await workbench.create(PersistentVolume, made)
    wanted = await workbench.create(PersistentVolumeClaim, claim("data", name))
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": workbench.namespace,
        "name": "data",
        "uid": wanted["metadata"]["uid"],
    }
    await workbench.until(
        lambda: phase(workbench, made["metadata"]["name"]) == "Available", "the volume"
    )
    assert not bound_to(workbench, "data")
    patch = {"spec": {"claimRef": reference}}
    await workbench.patch(PersistentVolume, made["metadata"]["name"], patch, namespace="")
    found = await workbench.until(lambda: bound_to(workbench, "data"), "the binding")
    assert found == made["metadata"]["name"]


async def test_an_ephemeral_volume_gets_a_claim_that_goes_with_its_pod(
    workbench: Workbench,
) -> None:
    name = await storage_class(workbench)
    inline = {"ephemeral": {"volumeClaimTemplate": {"spec": claim("", name)["spec"]}}}
    spec = template(volumes=[{"name": "scratch", **inline}])["spec"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    await workbench.create(Pod, pod)
    await workbench.until(lambda: bound_to(workbench, "p-scratch"), "the binding")
    await workbench.delete(Pod, "p")
    await workbench.until(lambda: not workbench.all(PersistentVolumeClaim), "the claim's end")


async def test_a_claim_in_use_is_kept(workbench: Workbench) -> None:
    finalizer = "kubernetes.io/pvc-protection"
    name = await storage_class(workbench)
    await workbench.create(PersistentVolumeClaim, claim("data", name, finalizers=[finalizer]))
    mounted = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    spec = template(volumes=[mounted])["spec"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    await workbench.create(Pod, pod)
    await workbench.until(lambda: len(workbench.pods()) == 1, "the pod")
    await workbench.until(lambda: bound_to(workbench, "data"), "the binding")
    await workbench.delete(PersistentVolumeClaim, "data")

    def deleted() -> bool:
        found = workbench.get(PersistentVolumeClaim, "data")
        return found is not None and found.metadata.deletion_timestamp is not None

    await workbench.until(deleted, "the deletion")
    await workbench.delete(Pod, "p")
    await workbench.until(lambda: not workbench.all(PersistentVolumeClaim), "the claim's end")

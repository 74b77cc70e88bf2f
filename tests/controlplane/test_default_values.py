"""The API server's defaults."""

from __future__ import annotations

import pytest

from mooring.api import decode, encode
from mooring.controlplane.default_values import set_defaults
from mooring.errors import ObjectError


def defaulted(*raws):
    objects = set_defaults(decode(raw) for raw in raws)
    assert set_defaults(objects) == objects, "objects from a server must stay as they are"
    return objects


def make(kind, api_version="v1", name="a", **fields):
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def test_names_namespaces_and_uids():
    pod, node, thing = defaulted(
        make("Pod"), make("Node", metadata={"namespace": "x"}), make("Thing", "example.com/v1")
    )
    assert (pod.namespace, node.namespace, thing.namespace) == ("default", "", "")
    assert len({pod.uid, node.uid, thing.uid}) == 3
    assert defaulted(make("Pod"))[0].uid == pod.uid
    assert defaulted(make("Pod", metadata={"uid": "u"}))[0].uid == "u"


def test_generated_names_differ():
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "job-"}}
    first, second = set_defaults([decode(raw), decode(raw)])
    assert first.name.startswith("job-") and len(first.name) == len("job-") + 5
    assert first.name != second.name
    assert first.uid != second.uid


def test_allocatable_comes_from_capacity():
    capacity = {"cpu": "4", "pods": "110"}
    (node,) = defaulted(make("Node", status={"capacity": capacity}))
    assert node.status.allocatable == capacity
    (node,) = defaulted(make("Node", status={"capacity": capacity, "allocatable": {"cpu": "3"}}))
    assert node.status.allocatable == {"cpu": "3"}


def test_a_namespace_is_labelled_with_its_name():
    (namespace,) = defaulted(make("Namespace", name="shop"))
    assert namespace.labels == {"kubernetes.io/metadata.name": "shop"}


@pytest.mark.parametrize(
    ("raw", "path", "expected"),
    [
        (make("PersistentVolume"), ("spec", "volumeMode"), "Filesystem"),
        (make("PersistentVolume"), ("spec", "persistentVolumeReclaimPolicy"), "Retain"),
        (make("PersistentVolume"), ("status", "phase"), "Available"),
        (
            make("PersistentVolume", spec={"claimRef": {"name": "c", "uid": "u"}}),
            ("status", "phase"),
            "Bound",
        ),
        (make("PersistentVolumeClaim"), ("status", "phase"), "Pending"),
        (make("PersistentVolumeClaim"), ("spec", "volumeMode"), "Filesystem"),
        (make("StorageClass", "storage.k8s.io/v1"), ("volumeBindingMode",), "Immediate"),
        (make("StorageClass", "storage.k8s.io/v1"), ("reclaimPolicy",), "Delete"),
        (make("CSIDriver", "storage.k8s.io/v1"), ("spec", "attachRequired"), True),
        (make("CSIDriver", "storage.k8s.io/v1"), ("spec", "storageCapacity"), False),
        (
            make("CSIDriver", "storage.k8s.io/v1", spec={"attachRequired": False}),
            ("spec", "attachRequired"),
            False,
        ),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_storage(raw, path, expected):
    found = encode(defaulted(raw)[0])
    for step in path:
        found = found[step]
    assert found == expected


def storage_class(name, mark="storageclass.kubernetes.io/is-default-class", **metadata):
    annotations = {mark: "true"}
    return make(
        "StorageClass",
        "storage.k8s.io/v1",
        name,
        metadata={"annotations": annotations, **metadata},
    )


@pytest.mark.parametrize(
    ("claim", "classes", "expected"),
    [
        pytest.param({}, [], None, id="no default, no class"),
        pytest.param({}, [storage_class("b"), storage_class("a")], "a", id="the first by name"),
        pytest.param(
            {},
            [storage_class("a"), storage_class("b", creationTimestamp="2024-01-01T00:00:00Z")],
            "b",
            id="the newest",
        ),
        pytest.param(
            {},
            [storage_class("b", "storageclass.beta.kubernetes.io/is-default-class")],
            "b",
            id="the beta annotation",
        ),
        pytest.param(
            {"spec": {"storageClassName": ""}}, [storage_class("a")], "", id="an empty one stays"
        ),
        pytest.param(
            {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}},
            [storage_class("a")],
            None,
            id="the old annotation names one",
        ),
    ],
)
def test_the_default_storage_class(claim, classes, expected):
    found = defaulted(make("PersistentVolumeClaim", **claim), *classes)[0]
    assert found.spec.storage_class_name == expected


def test_priority_classes_among_the_objects_count():
    high = make("PriorityClass", "scheduling.k8s.io/v1", "high", value=10)
    pod, _ = defaulted(make("Pod", spec={"priorityClassName": "high"}), high)
    assert pod.priority == 10
    with pytest.raises(ObjectError) as caught:
        defaulted(make("Pod", spec={"priorityClassName": "high"}))
    assert str(caught.value) == (
        "spec.priorityClassName: Pod default/a: no PriorityClass with name high was found"
    )

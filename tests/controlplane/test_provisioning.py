"""The volumes that are provisioned for claims."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.api import CSINode, Node, PersistentVolumeClaim, StorageClass, encode
from mooring.api.kinds import decode_as
from mooring.controlplane.provisioning import (
    has_provisioner,
    provisioned_volume,
    with_provisioner,
)

Object = dict[str, Any]

CLAIM = decode_as(
    {
        "metadata": {"name": "c", "namespace": "n", "uid": "u"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    },
    PersistentVolumeClaim,
)


def _class(**more: Any) -> StorageClass:
    return decode_as({"metadata": {"name": "fast"}, "provisioner": "d.io", **more}, StorageClass)


def _node(**labels: str) -> Node:
    return decode_as({"metadata": {"name": "x", "labels": labels}}, Node)


def _drivers(name: str, *keys: str) -> CSINode:
    driver = {"name": name, "nodeID": "x", "topologyKeys": list(keys)}
    return decode_as({"metadata": {"name": "x"}, "spec": {"drivers": [driver]}}, CSINode)


def new_volume(
    claim: PersistentVolumeClaim, given: StorageClass, node: Node | None, csi_node: CSINode | None
) -> Object:
    return encode(provisioned_volume(claim, given, node, csi_node))


def test_a_volume_is_made_for_its_claim() -> None:
    volume = new_volume(CLAIM, _class(), None, None)
    assert volume["metadata"] == {
        "name": "pvc-u",
        "annotations": {"pv.kubernetes.io/provisioned-by": "d.io"},
    }
    assert volume["spec"] == {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": "fast",
        "volumeMode": "Filesystem",
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "n",
            "name": "c",
            "uid": "u",
        },
        "csi": {"driver": "d.io", "volumeHandle": "pvc-u"},
    }


def test_what_the_class_says() -> None:
    given = _class(reclaimPolicy="Retain", mountOptions=["ro"])
    spec = new_volume(CLAIM, given, None, None)["spec"]
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["mountOptions"] == ["ro"]


def test_a_volume_is_reached_from_the_place_of_its_node() -> None:
    node = _node(zone="z", region="r", rack="1")
    spec = new_volume(CLAIM, _class(), node, _drivers("d.io", "zone", "region", "absent"))["spec"]
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "region", "operator": "In", "values": ["r"]},
        {"key": "zone", "operator": "In", "values": ["z"]},
    ]


def test_a_volume_without_a_known_place_is_reached_from_everywhere() -> None:
    node = _node(zone="z")
    for csi_node in (None, _drivers("other.io", "zone"), _drivers("d.io", "absent")):
        assert "nodeAffinity" not in new_volume(CLAIM, _class(), node, csi_node)["spec"]


def test_volume_has_the_attributes_class_of_its_claim() -> None:
    claim = replace(CLAIM, spec=replace(CLAIM.spec, volume_attributes_class_name="gold"))
    spec = new_volume(claim, _class(), None, None)["spec"]
    assert spec["volumeAttributesClassName"] == "gold"


def test_claim_names_its_provisioner() -> None:
    named = with_provisioner(CLAIM, _class())
    assert named.metadata.annotations == {
        "volume.kubernetes.io/storage-provisioner": "d.io",
        "volume.beta.kubernetes.io/storage-provisioner": "d.io",
    }
    assert with_provisioner(named, _class()) is named


def test_classes_without_a_provisioner_have_no_volumes() -> None:
    assert has_provisioner(_class())
    assert not has_provisioner(None)
    assert not has_provisioner(_class(provisioner="kubernetes.io/no-provisioner"))

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, made, refused, update_refusals


def _spec(**more: Any) -> Object:
    base = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return base | ({"hostPath": {"path": "/a"}} if not _SOURCES & more.keys() else {}) | more


_SOURCES = {"hostPath", "csi", "local", "nfs", "cephfs", "flexVolume"}
_CSI = {"driver": "d", "volumeHandle": "h"}
_TERM = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
_AFFINITY = {"required": {"nodeSelectorTerms": [_TERM]}}

VOLUMES: dict[str, tuple[Object, list[str]]] = {
    "a volume": (_spec(), []),
    "no access mode": (_spec(accessModes=[]), ["spec.accessModes: Required value"]),
    "no capacity": (
        _spec(capacity=None),
        [
            "spec.capacity: Required value",
            'spec.capacity: Unsupported value: null: supported values: "storage"',
        ],
    ),
    "a capacity of something else": (
        _spec(capacity={"storage": "1Gi", "cpu": "1"}),
        [
            'spec.capacity: Unsupported value: {"cpu":"1","storage":"1Gi"}: supported '
            'values: "storage"'
        ],
    ),
    "no bytes": (
        _spec(capacity={"storage": "0"}),
        ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
    ),
    "an unknown policy": (
        _spec(persistentVolumeReclaimPolicy="Burn"),
        [
            'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported '
            'values: "Delete", "Recycle", "Retain"'
        ],
    ),
    "the host's root, recycled": (
        _spec(hostPath={"path": "/"}, persistentVolumeReclaimPolicy="Recycle"),
        [
            "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a "
            "hostPath mount of '/'"
        ],
    ),
    "no source": (
        {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
        ["spec: Required value: must specify a volume type"],
    ),
    "two sources": (
        _spec(hostPath={"path": "/a"}, nfs={"server": "s", "path": "/"}),
        ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
    ),
    "a second source that the server names differently": (
        _spec(hostPath={"path": "/a"}, cephfs={"monitors": ["m"]}),
        ["spec.cephFS: Forbidden: may not specify more than 1 volume type"],
    ),
    "a FlexVolume as second source": (
        _spec(hostPath={"path": "/a"}, flexVolume={"driver": "d"}),
        [],
    ),
    "a local volume without nodes": (
        _spec(local={"path": ""}),
        [
            "spec.local.path: Required value",
            "spec.nodeAffinity: Required value: Local volume requires node affinity",
        ],
    ),
    "a local volume": (_spec(local={"path": "/a"}, nodeAffinity=_AFFINITY), []),
    "no constraints of nodes": (
        _spec(nodeAffinity={}),
        ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
    ),
    "no terms of nodes": (
        _spec(nodeAffinity={"required": {"nodeSelectorTerms": []}}),
        [
            "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at "
            "least one node selector term"
        ],
    ),
    "a driver without a handle": (
        _spec(csi={"driver": "", "volumeHandle": ""}),
        [
            "spec.csi.driver: Required value",
            "spec.csi.volumeHandle: Required value",
        ],
    ),
    "secrets without a name, with bad names": (
        _spec(
            csi=_CSI
            | {
                "controllerPublishSecretRef": {},
                "nodePublishSecretRef": {"name": "A", "namespace": "B"},
            }
        ),
        [
            "spec.csi.controllerPublishSecretRef.name: Required value",
            "spec.csi.controllerPublishSecretRef.namespace: Required value",
            'spec.csi.nodePublishSecretRef.name: Invalid value: "A": <subdomain>',
            'spec.csi.nodePublishSecretRef.namespace: Invalid value: "B": <label>',
        ],
    ),
    "a bad class and mode": (
        _spec(storageClassName="A", volumeMode="Tape"),
        [
            'spec.storageClassName: Invalid value: "A": <subdomain>',
            'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
        ],
    ),
    "attributes of a volume without a driver": (
        _spec(volumeAttributesClassName="a"),
        ["spec.csi: Required value: has to be specified when using volumeAttributesClassName"],
    ),
    "empty attributes": (
        _spec(csi=_CSI, volumeAttributesClassName=""),
        ["spec.volumeAttributesClassName: Required value: an empty string is disallowed"],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), VOLUMES.values(), ids=VOLUMES)
def test_volumes(spec: Object, expected: list[str]) -> None:
    assert refused("v1", "PersistentVolume", spec=spec) == expected


CHANGES: dict[str, tuple[Object, str]] = {
    "the capacity may change": ({"capacity": {"storage": "2Gi"}}, ""),
    "the source stays": ({"hostPath": {"path": "/b"}}, "spec.persistentvolumesource is immutable"),
    "the mode stays": ({"volumeMode": "Block"}, 'volumeMode: Invalid value: "Block": field is'),
    "nodes stay": ({"nodeAffinity": None}, "field is immutable, except for updating from beta"),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes_of_volumes(change: Object, expected: str) -> None:
    old = made("v1", "PersistentVolume", spec=_spec(nodeAffinity=_AFFINITY))
    found = "\n".join(update_refusals(old, {"spec": change}))
    assert (expected in found) if expected else not found


def test_nodes_may_be_added_to_a_volume() -> None:
    old = made("v1", "PersistentVolume", spec=_spec())
    assert update_refusals(old, {"spec": {"nodeAffinity": _AFFINITY}}) == []

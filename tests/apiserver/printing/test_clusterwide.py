from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.printing.clusterwide import PRINTERS
from tests.apiserver.printing.rows import NOW, row

STORAGE, RBAC, NETWORKING = "storage.k8s.io", "rbac.authorization.k8s.io", "networking.k8s.io"
RESOURCE = "resource.k8s.io"
SCHEDULING, CERTIFICATES = "scheduling.k8s.io", "certificates.k8s.io"
FLOWS = "flowcontrol.apiserver.k8s.io"

ROWS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "a storage class that is marked as the default, alone": (
        f"{STORAGE}/StorageClass",
        {
            "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "provisioner": "p",
            "reclaimPolicy": "Retain",
            "allowVolumeExpansion": True,
        },
        [
            "x",
            "p",
            "Retain",
            "Immediate",
            True,
            "60m",
        ],
    ),
    "another storage class": (
        f"{STORAGE}/StorageClass",
        {"provisioner": "p"},
        [
            "x",
            "p",
            "Delete",
            "Immediate",
            False,
            "60m",
        ],
    ),
    "a rule that taints devices": (
        f"{RESOURCE}/DeviceTaintRule",
        {
            "spec": {
                "taint": {
                    "key": "k",
                    "value": "v",
                    "effect": "NoExecute",
                    "timeAdded": "2026-01-01T11:59:30Z",
                }
            }
        },
        ["x", "k", "v", "NoExecute", "30s", "60m"],
    ),
    "a rule that was never in effect": (
        f"{RESOURCE}/DeviceTaintRule",
        {"spec": {"taint": {"key": "k", "effect": "None"}}},
        ["x", "k", "", "None", "", "60m"],
    ),
    "a node's drivers": (
        f"{STORAGE}/CSINode",
        {"spec": {"drivers": [{}, {}]}},
        [
            "x",
            2,
            "60m",
        ],
    ),
    "a driver": (
        f"{STORAGE}/CSIDriver",
        {
            "spec": {
                "attachRequired": False,
                "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
                "volumeLifecycleModes": ["Persistent", "Ephemeral"],
            }
        },
        [
            "x",
            False,
            False,
            False,
            "a,b",
            False,
            "Persistent,Ephemeral",
            "60m",
        ],
    ),
    "a driver of defaults": (
        f"{STORAGE}/CSIDriver",
        {"spec": {}},
        [
            "x",
            True,
            False,
            False,
            "<unset>",
            False,
            "<none>",
            "60m",
        ],
    ),
    "an attachment": (
        f"{STORAGE}/VolumeAttachment",
        {
            "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
            "status": {"attached": True},
        },
        [
            "x",
            "a",
            "v",
            "n",
            True,
            "60m",
        ],
    ),
    "attributes": (
        f"{STORAGE}/VolumeAttributesClass",
        {"driverName": "d"},
        [
            "x",
            "d",
            "60m",
        ],
    ),
    "a binding": (
        f"{RBAC}/RoleBinding",
        {
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "User", "name": "u"},
                {"kind": "User", "name": "v"},
                {"kind": "ServiceAccount", "name": "a", "namespace": "n"},
                {"kind": "Robot", "name": "x"},
            ],
        },
        [
            "x",
            "Role/r",
            "60m",
            "u, v",
            "",
            "n/a",
        ],
    ),
    "a binding of nobody": (
        f"{RBAC}/ClusterRoleBinding",
        {},
        [
            "x",
            "None/None",
            "60m",
            "",
            "",
            "",
        ],
    ),
    "a priority class": (
        f"{SCHEDULING}/PriorityClass",
        {"value": 9, "globalDefault": True, "preemptionPolicy": "Never"},
        [
            "x",
            9,
            True,
            "60m",
            "Never",
        ],
    ),
    "a lease": (
        "coordination.k8s.io/Lease",
        {"spec": {"holderIdentity": "h"}},
        [
            "x",
            "h",
            "60m",
        ],
    ),
    "a runtime class": (
        "node.k8s.io/RuntimeClass",
        {"handler": "runc"},
        [
            "x",
            "runc",
            "60m",
        ],
    ),
    "a slice of endpoints": (
        "discovery.k8s.io/EndpointSlice",
        {
            "addressType": "IPv4",
            "ports": [{"port": 80}, {"name": "web"}, {}],
            "endpoints": [{"addresses": ["1", "2", "3"]}, {"addresses": ["4"]}],
        },
        [
            "x",
            "IPv4",
            "80,web,*",
            "1,2,3 + 1 more...",
            "60m",
        ],
    ),
    "an empty slice of endpoints": (
        "discovery.k8s.io/EndpointSlice",
        {"addressType": "IPv6"},
        [
            "x",
            "IPv6",
            "<unset>",
            "<unset>",
            "60m",
        ],
    ),
    "an ingress": (
        f"{NETWORKING}/Ingress",
        {
            "spec": {
                "ingressClassName": "c",
                "rules": [{"host": "a"}, {}, {"host": "b"}],
                "tls": [{}],
            },
            "status": {"loadBalancer": {"ingress": [{"ip": "2"}, {"hostname": "1"}]}},
        },
        [
            "x",
            "c",
            "a,b",
            "1,2",
            "80, 443",
            "60m",
        ],
    ),
    "an ingress of all hosts": (
        f"{NETWORKING}/Ingress",
        {"spec": {}},
        [
            "x",
            "<none>",
            "*",
            "",
            "80",
            "60m",
        ],
    ),
    "an ingress class": (
        f"{NETWORKING}/IngressClass",
        {
            "metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
            "spec": {
                "controller": "a/b",
                "parameters": {"apiGroup": "g", "kind": "K", "name": "n"},
            },
        },
        [
            "x (default)",
            "a/b",
            "K.g/n",
            "60m",
        ],
    ),
    "an ingress class without parameters": (
        f"{NETWORKING}/IngressClass",
        {"spec": {}},
        [
            "x",
            "",
            "<none>",
            "60m",
        ],
    ),
    "a network policy": (
        f"{NETWORKING}/NetworkPolicy",
        {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
        [
            "x",
            "a=b",
            "60m",
        ],
    ),
    "an address of a service": (
        f"{NETWORKING}/IPAddress",
        {"spec": {"parentRef": {"resource": "Services", "namespace": "n", "name": "s"}}},
        [
            "x",
            "services/n/s",
            "60m",
        ],
    ),
    "an address of a group's object": (
        f"{NETWORKING}/IPAddress",
        {"spec": {"parentRef": {"resource": "gates", "group": "g", "name": "s"}}},
        [
            "x",
            "gates.g/s",
            "60m",
        ],
    ),
    "an address of nothing": (
        f"{NETWORKING}/IPAddress",
        {"spec": {}},
        [
            "x",
            "<none>",
            "60m",
        ],
    ),
    "ranges of services": (
        f"{NETWORKING}/ServiceCIDR",
        {"spec": {"cidrs": ["a", "b"]}},
        [
            "x",
            "a,b",
            "60m",
        ],
    ),
    "a level of priority": (
        f"{FLOWS}/PriorityLevelConfiguration",
        {
            "spec": {
                "type": "Limited",
                "limited": {
                    "nominalConcurrencyShares": 10,
                    "limitResponse": {"queuing": {"queues": 64}},
                },
            }
        },
        [
            "x",
            "Limited",
            10,
            64,
            "<none>",
            "<none>",
            "60m",
        ],
    ),
    "a claim that waits": (
        f"{RESOURCE}/ResourceClaim",
        {},
        [
            "x",
            "pending",
            "60m",
        ],
    ),
    "a claim that is reserved and deleted": (
        f"{RESOURCE}/ResourceClaim",
        {
            "metadata": {"deletionTimestamp": "t"},
            "status": {"allocation": {"devices": {}}, "reservedFor": [{}]},
        },
        [
            "x",
            "deleted,allocated,reserved",
            "60m",
        ],
    ),
    "a claim that waits and is deleted": (
        f"{RESOURCE}/ResourceClaim",
        {"metadata": {"deletionTimestamp": "t"}},
        [
            "x",
            "deleted",
            "60m",
        ],
    ),
    "a slice of devices": (
        f"{RESOURCE}/ResourceSlice",
        {"spec": {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}},
        [
            "x",
            "n",
            "d",
            "p",
            "60m",
        ],
    ),
    "a device class": (
        f"{RESOURCE}/DeviceClass",
        {},
        [
            "x",
            "60m",
        ],
    ),
    "a signing request": (
        f"{CERTIFICATES}/CertificateSigningRequest",
        {
            "spec": {"signerName": "s", "username": "u", "expirationSeconds": 3600},
            "status": {
                "conditions": [{"type": "Failed"}, {"type": "Approved"}],
                "certificate": "c",
            },
        },
        [
            "x",
            "60m",
            "s",
            "u",
            "60m",
            "Approved,Failed,Issued",
        ],
    ),
    "a signing request that waits": (
        f"{CERTIFICATES}/CertificateSigningRequest",
        {"spec": {"signerName": ""}},
        [
            "x",
            "60m",
            "<none>",
            "",
            "<none>",
            "Pending",
        ],
    ),
}


@pytest.mark.parametrize(("kind", "obj", "cells"), ROWS.values(), ids=ROWS)
def test_rows(kind: str, obj: dict[str, Any], cells: list[Any]) -> None:
    assert row(PRINTERS, kind, obj) == cells


def _class(name: str, hour: int, *, default: bool = True) -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    created = f"2026-01-01T{hour:02}:00:00Z"
    metadata = {"name": name, "creationTimestamp": created, "annotations": annotations}
    return {"metadata": metadata, "provisioner": "p"}


@pytest.mark.parametrize(
    ("classes", "default"),
    [
        pytest.param([_class("a", 1, default=False)], [], id="no default"),
        pytest.param([_class("a", 1), _class("b", 2, default=False)], ["a"], id="one"),
        pytest.param([_class("a", 1), _class("b", 2)], ["b"], id="the newest of two"),
        pytest.param([_class("b", 1), _class("a", 1)], ["a"], id="of two as old, the first name"),
    ],
)
def test_one_storage_class_of_a_list_is_the_default(
    classes: list[dict[str, Any]], default: list[str]
) -> None:
    choose = PRINTERS[f"{STORAGE}/StorageClass"].cells_of_list
    assert choose is not None
    cells = choose(classes)
    names = [cells(one, NOW)[0] for one in classes]
    assert [name.removesuffix(" (default)") for name in names if "(default)" in name] == default

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.printing.core import PRINTERS, more
from tests.apiserver.printing.rows import row

ROWS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "a node": (
        "/Node",
        {
            "metadata": {
                "labels": {
                    "node-role.kubernetes.io/worker": "",
                    "node-role.kubernetes.io/gpu": "",
                    "kubernetes.io/role": "old",
                }
            },
            "spec": {"unschedulable": True},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {
                    "kubeletVersion": "v1.37.1",
                    "osImage": "Linux",
                    "kernelVersion": "6",
                    "architecture": "amd64",
                    "containerRuntimeVersion": "c://1",
                },
            },
        },
        [
            "x",
            "Ready,SchedulingDisabled",
            "gpu,old,worker",
            "60m",
            "v1.37.1",
            "10.0.0.1",
            "<none>",
            "Linux",
            "6 (amd64)",
            "c://1",
        ],
    ),
    "a node that is not ready": (
        "/Node",
        {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        [
            "x",
            "NotReady",
            "<none>",
            "60m",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>",
        ],
    ),
    "a node of which nothing is known": (
        "/Node",
        {},
        [
            "x",
            "Unknown",
            "<none>",
            "60m",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>",
        ],
    ),
    "a service": (
        "/Service",
        {
            "spec": {
                "type": "NodePort",
                "clusterIPs": ["10.0.0.5"],
                "ports": [
                    {"port": 80, "nodePort": 30080, "protocol": "TCP"},
                    {"port": 53, "protocol": "UDP"},
                ],
                "selector": {"b": "2", "a": "1"},
                "externalIPs": ["1.2.3.4"],
            }
        },
        [
            "x",
            "NodePort",
            "10.0.0.5",
            "1.2.3.4",
            "80:30080/TCP,53/UDP",
            "60m",
            "a=1,b=2",
        ],
    ),
    "a service without anything": (
        "/Service",
        {"spec": {"type": "ClusterIP"}},
        [
            "x",
            "ClusterIP",
            "<none>",
            "<none>",
            "<none>",
            "60m",
            "<none>",
        ],
    ),
    "an external name": (
        "/Service",
        {"spec": {"type": "ExternalName", "externalName": "a.b"}},
        [
            "x",
            "ExternalName",
            "<none>",
            "a.b",
            "<none>",
            "60m",
            "<none>",
        ],
    ),
    "a balancer that waits": (
        "/Service",
        {"spec": {"type": "LoadBalancer"}},
        [
            "x",
            "LoadBalancer",
            "<none>",
            "<pending>",
            "<none>",
            "60m",
            "<none>",
        ],
    ),
    "a balancer": (
        "/Service",
        {
            "spec": {"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]},
            "status": {"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "2.2.2.2"}]}},
        },
        [
            "x",
            "LoadBalancer",
            "<none>",
            "2.2.2.2,h,1.1.1.1",
            "<none>",
            "60m",
            "<none>",
        ],
    ),
    "endpoints": (
        "/Endpoints",
        {
            "subsets": [
                {"addresses": [{"ip": "1"}, {"ip": "2"}], "ports": [{"port": 80}, {"port": 81}]},
                {"addresses": [{"ip": "3"}]},
            ]
        },
        [
            "x",
            "1:80,2:80,1:81 + 2 more...",
            "60m",
        ],
    ),
    "no endpoints": (
        "/Endpoints",
        {},
        [
            "x",
            "<none>",
            "60m",
        ],
    ),
    "an event": (
        "/Event",
        {
            "firstTimestamp": "2026-01-01T11:00:00Z",
            "lastTimestamp": "2026-01-01T11:59:00Z",
            "count": 7,
            "type": "Warning",
            "reason": "Failed",
            "message": " no room\n",
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{a}"},
            "source": {"component": "kubelet", "host": "n"},
        },
        [
            "60s",
            "Warning",
            "Failed",
            "pod/p",
            "spec.containers{a}",
            "kubelet, n",
            "no room",
            "60m",
            7,
            "x",
        ],
    ),
    "an event of the newer form": (
        "events.k8s.io/Event",
        {
            "eventTime": "2026-01-01T11:00:00Z",
            "series": {"count": 3, "lastObservedTime": "2026-01-01T11:30:00Z"},
            "reportingComponent": "scheduler",
            "involvedObject": {"kind": "Node"},
        },
        [
            "30m",
            "",
            "",
            "node",
            "",
            "scheduler",
            "",
            "60m",
            3,
            "x",
        ],
    ),
    "an event without times": (
        "/Event",
        {},
        [
            "<unknown>",
            "",
            "",
            "",
            "",
            "",
            "",
            "<unknown>",
            1,
            "x",
        ],
    ),
    "a namespace": (
        "/Namespace",
        {"status": {"phase": "Active"}},
        [
            "x",
            "Active",
            "60m",
        ],
    ),
    "a secret": (
        "/Secret",
        {"type": "Opaque", "data": {"a": "", "b": ""}},
        [
            "x",
            "Opaque",
            2,
            "60m",
        ],
    ),
    "a config map": (
        "/ConfigMap",
        {"data": {"a": ""}, "binaryData": {"b": ""}},
        [
            "x",
            2,
            "60m",
        ],
    ),
    "an account": (
        "/ServiceAccount",
        {},
        [
            "x",
            "60m",
        ],
    ),
    "a volume": (
        "/PersistentVolume",
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOncePod", "ReadWriteOnce", "ReadOnlyMany"],
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "n", "name": "c"},
                "storageClassName": "fast",
                "volumeMode": "Block",
            },
            "status": {"phase": "Bound"},
        },
        [
            "x",
            "1Gi",
            "RWO,ROX,RWOP",
            "Retain",
            "Bound",
            "n/c",
            "fast",
            "<unset>",
            "",
            "60m",
            "Block",
        ],
    ),
    "a volume that goes": (
        "/PersistentVolume",
        {"metadata": {"deletionTimestamp": "t"}, "status": {"phase": "Bound"}},
        [
            "x",
            "0",
            "",
            "",
            "Terminating",
            "",
            "",
            "<unset>",
            "",
            "60m",
            "<unset>",
        ],
    ),
    "a claim": (
        "/PersistentVolumeClaim",
        {
            "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
            "spec": {"volumeName": "v"},
            "status": {
                "phase": "Bound",
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteMany"],
            },
        },
        [
            "x",
            "Bound",
            "v",
            "1Gi",
            "RWX",
            "old",
            "<unset>",
            "60m",
            "<unset>",
        ],
    ),
    "a claim that waits": (
        "/PersistentVolumeClaim",
        {"status": {"phase": "Pending", "capacity": {"storage": "1Gi"}}},
        [
            "x",
            "Pending",
            "",
            "",
            "",
            "",
            "<unset>",
            "60m",
            "<unset>",
        ],
    ),
    "a quota": (
        "/ResourceQuota",
        {
            "status": {
                "hard": {"requests.cpu": "2", "limits.cpu": "4", "pods": "5"},
                "used": {"pods": "1"},
            }
        },
        [
            "x",
            "pods: 1/5, requests.cpu: 0/2",
            "limits.cpu: 0/4",
            "60m",
        ],
    ),
}


@pytest.mark.parametrize(("kind", "obj", "cells"), ROWS.values(), ids=ROWS)
def test_rows(kind: str, obj: dict[str, Any], cells: list[Any]) -> None:
    assert row(PRINTERS, kind, obj) == cells


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a,b,c"),
        (["a", "b", "c", "d", "e"], "a,b,c + 2 more..."),
    ],
    ids=["none", "one", "as many as are shown", "more"],
)
def test_long_lists_are_cut(words: list[str], text: str) -> None:
    assert more(words) == text

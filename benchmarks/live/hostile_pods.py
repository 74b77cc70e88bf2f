"""Pods with very long lists, which any user who may create pods can write.

The API server accepts every list: names and keys are distinct if they must be, and 3,000 entries
stay below etcd's size limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from benchmarks.objects import HOSTNAME

Document = dict[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
#: The fewest claims that compete for devices.
_TOO_MANY = 10
#: A label of every hostile pod.
APP = "hostile"


class HostilePod(msgspec.Struct, frozen=True):
    """One kind of long list."""

    #: Returns the pod's spec with a number of entries.
    spec: Callable[[int], Document]
    #: Returns the other objects that the pod needs.
    objects: Callable[[int], Iterator[Document]] = lambda count: iter(())


def make_pod(name: str, spec: Document) -> Document:
    """Return the pod."""
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.10"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": APP}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def _spread(action: str) -> Callable[[int], Document]:
    return lambda count: {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": f"example.com/key-{i}",
                "whenUnsatisfiable": action,
                "labelSelector": {"matchLabels": {f"label-{i}": "x"}},
            }
            for i in range(count)
        ]
    }


def _others(i: int) -> Document:
    return {"matchLabels": {f"label-{i}": "x"}}


def _mine(i: int) -> Document:
    expression = {"key": "app", "operator": "In", "values": [APP, f"other-{i}"]}
    return {"matchExpressions": [expression]}


def _terms(section: str, kind: str, selector: Callable[[int], Document]) -> Any:
    def spec(count: int) -> Document:
        terms = [{"topologyKey": HOSTNAME, "labelSelector": selector(i)} for i in range(count)]
        weighted = [{"weight": 1 + i % 100, "podAffinityTerm": t} for i, t in enumerate(terms)]
        listed = {kind: terms if kind == _REQUIRED else weighted}
        return {"affinity": {section: listed}}

    return spec


def _node_terms(terms: list[Document]) -> Document:
    return {"affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}}


def _node_preferences(count: int) -> Document:
    terms = [{"weight": 1, "preference": {"matchExpressions": [_absent(i)]}} for i in range(count)]
    return {"affinity": {"nodeAffinity": {_PREFERRED: terms}}}


def _absent(i: int) -> Document:
    return {"key": f"example.com/key-{i}", "operator": "DoesNotExist"}


def _containers(count: int, **more: Any) -> list[Document]:
    return [
        {
            "name": f"container-{i}",
            "image": f"registry.k8s.io/image-{i}:1",
            "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
            **more,
        }
        for i in range(count)
    ]


def _odd_resources(count: int) -> Document:
    listed = _containers(count)
    for i, container in enumerate(listed):
        amounts = {f"example.com/resource-{i}": "1"}
        container["resources"] = {"requests": amounts, "limits": amounts}
    return {"containers": listed}


def _ports(count: int) -> Document:
    ports = [{"containerPort": 10000 + i, "hostPort": 10000 + i} for i in range(count)]
    return {"containers": [{"name": "pause", "image": "pause", "ports": ports}]}


def _bound_claims(count: int) -> Iterator[Document]:
    amounts = {"storage": "1Gi"}
    for i in range(count):
        meta = {"name": f"claim-{i}", "namespace": "default"}
        meta_bound = {**meta, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        modes = ["ReadWriteOnce"]
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": meta_bound,
            "spec": {
                "accessModes": modes,
                "storageClassName": "",
                "resources": {"requests": amounts},
                "volumeName": f"volume-{i}",
            },
        }
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "Exists"}]}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"volume-{i}"},
            "spec": {
                "capacity": amounts,
                "accessModes": modes,
                "claimRef": {"name": f"claim-{i}", "namespace": "default"},
                "nfs": {"server": "example.com", "path": "/"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            },
        }


def _device_claims(count: int) -> Iterator[Document]:
    request = {"name": "device", "exactly": {"deviceClassName": "none"}}
    for i in range(count):
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": f"device-{i}", "namespace": "default"},
            "spec": {"devices": {"requests": [request]}},
        }


def _competing(devices: int, nodes: int, each: int) -> HostilePod:
    """Claims that need more devices than a node has, so that every order of them may be tried."""
    prefix = f"competing-{devices}-{nodes}"

    def spec(count: int) -> Document:
        names = [f"{prefix}-{i}" for i in range(max(_TOO_MANY, count))]
        return {"resourceClaims": [{"name": one, "resourceClaimName": one} for one in names]}

    def objects(count: int) -> Iterator[Document]:
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": prefix},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{prefix}"'}}]},
        }
        for i in range(nodes):
            yield {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"{prefix}-{i}"},
                "spec": {
                    "driver": prefix,
                    "nodeName": f"node-{i}",
                    "pool": {"name": f"node-{i}", "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": f"device-{k}"} for k in range(devices)],
                },
            }
        exactly = {"deviceClassName": prefix, "count": each}
        for i in range(max(_TOO_MANY, count)):
            yield {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": f"{prefix}-{i}", "namespace": "default"},
                "spec": {"devices": {"requests": [{"name": "device", "exactly": exactly}]}},
            }

    return HostilePod(spec, objects)


HOSTILE_PODS: dict[str, HostilePod] = {
    "hard spreading": HostilePod(_spread("DoNotSchedule")),
    "soft spreading": HostilePod(_spread("ScheduleAnyway")),
    "affinity": HostilePod(_terms("podAffinity", _REQUIRED, _others)),
    "anti-affinity": HostilePod(_terms("podAntiAffinity", _REQUIRED, _mine)),
    "preferred affinity": HostilePod(_terms("podAffinity", _PREFERRED, _mine)),
    "preferred anti-affinity": HostilePod(_terms("podAntiAffinity", _PREFERRED, _others)),
    "node selector terms": HostilePod(
        lambda count: _node_terms(
            [
                {"matchExpressions": [{"key": f"key-{i}", "operator": "In", "values": ["x"]}]}
                for i in range(count)
            ]
        )
    ),
    "node expressions": HostilePod(
        lambda count: _node_terms([{"matchExpressions": [_absent(i) for i in range(count)]}])
    ),
    "node values": HostilePod(
        lambda count: _node_terms(
            [
                {
                    "matchExpressions": [
                        {
                            "key": HOSTNAME,
                            "operator": "NotIn",
                            "values": [f"value-{i}" for i in range(count)],
                        }
                    ]
                }
            ]
        )
    ),
    "node preferences": HostilePod(_node_preferences),
    "node selector": HostilePod(
        lambda count: {"nodeSelector": {f"example.com/key-{i}": "x" for i in range(count)}}
    ),
    "tolerations": HostilePod(
        lambda count: {
            "tolerations": [
                {"key": f"key-{i}", "operator": "Equal", "value": "x"} for i in range(count)
            ]
        }
    ),
    "containers": HostilePod(lambda count: {"containers": _containers(count)}),
    "containers too large": HostilePod(
        lambda count: {
            "containers": [
                *_containers(count - 1),
                {
                    "name": "large",
                    "image": "pause",
                    "resources": {"requests": {"cpu": "1000"}},
                },
            ]
        }
    ),
    "init containers": HostilePod(lambda count: {"initContainers": _containers(count)}),
    "sidecars": HostilePod(
        lambda count: {"initContainers": _containers(count, restartPolicy="Always")}
    ),
    "resources": HostilePod(_odd_resources),
    "host ports": HostilePod(_ports),
    "volumes": HostilePod(
        lambda count: {
            "volumes": [
                {"name": f"volume-{i}", "configMap": {"name": f"map-{i}"}} for i in range(count)
            ]
        }
    ),
    "disks": HostilePod(
        lambda count: {
            "volumes": [
                {"name": f"volume-{i}", "gcePersistentDisk": {"pdName": f"disk-{i}"}}
                for i in range(count)
            ]
        }
    ),
    "bound claims": HostilePod(
        lambda count: {
            "volumes": [
                {"name": f"volume-{i}", "persistentVolumeClaim": {"claimName": f"claim-{i}"}}
                for i in range(count)
            ]
        },
        _bound_claims,
    ),
    "device claims": HostilePod(
        lambda count: {
            "resourceClaims": [
                {"name": f"device-{i}", "resourceClaimName": f"device-{i}"} for i in range(count)
            ]
        },
        _device_claims,
    ),
    "claims for 8 devices": _competing(8, 1, 1),
    "claims for 128 devices": _competing(128, 1, 13),
    "claims on 10 nodes": _competing(128, 10, 13),
}

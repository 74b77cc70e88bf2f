"""The other objects of generated clusters: namespaces, services, budgets, storage, devices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from mooring.api import KubeObject, decode
from mooring.controlplane.default_values import set_defaults
from mooring.testing.builders import ZONE

NAMESPACES = ("red", "blue")
#: Every namespace has one claim of each of these kinds, named "<namespace>-<kind>".
CLAIMS = ("bound", "late", "once", "disk")
#: The kind of claim that only a single pod may use.
ONE_POD_CLAIM = "once"

_DRIVER = "csi.example.com"
_WAIT = "waiting"
_BIND_COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


def make_surroundings(rng: random.Random, nodes: Sequence[str]) -> list[KubeObject]:
    """Return everything that generated pods refer to."""
    objects = [
        _object("v1", "Namespace", "red", labels={"team": "one"}),
        _object("v1", "Namespace", "blue", labels={"team": "two"}),
        _object("v1", "Service", "web", "red", spec={"selector": {"app": "web"}}),
        _object(
            "policy/v1",
            "PodDisruptionBudget",
            "web",
            "red",
            spec={"selector": {"matchLabels": {"app": "web"}}},
            status={"disruptionsAllowed": rng.randint(0, 1)},
        ),
        _object("resource.k8s.io/v1", "DeviceClass", "gpu", spec={}),
        _object(
            "resource.k8s.io/v1",
            "ResourceClaim",
            "device",
            "red",
            spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        ),
        _object(
            "storage.k8s.io/v1",
            "StorageClass",
            _WAIT,
            provisioner="kubernetes.io/no-provisioner",
            volumeBindingMode="WaitForFirstConsumer",
        ),
        *(_csi_node(rng, name) for name in nodes if rng.random() < 0.8),
    ]
    objects += [_volume(f"free-{zone}", _WAIT, zone) for zone in rng.sample("xyz", 2)]
    for namespace in NAMESPACES:
        objects += _claims(rng, namespace)
    return set_defaults(objects)


def _claims(rng: random.Random, namespace: str) -> list[KubeObject]:
    objects = [_claim(namespace, "late", _WAIT)]
    for kind in ("bound", ONE_POD_CLAIM, "disk"):
        name = f"{namespace}-{kind}"
        modes = ["ReadWriteOncePod"] if kind == ONE_POD_CLAIM else ["ReadWriteOnce"]
        zone = rng.choice("xyz") if kind == "bound" else ""
        objects.append(_volume(name, "", zone, claim=(namespace, name), modes=modes))
        objects.append(_claim(namespace, kind, "", volume=name, modes=modes))
    return objects


def _object(
    api_version: str, kind: str, name: str, namespace: str = "", **fields: Any
) -> KubeObject:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"{kind}/{namespace}/{name}",
        "labels": fields.pop("labels", {}),
        "annotations": fields.pop("annotations", {}),
    }
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields})


def _csi_node(rng: random.Random, name: str) -> KubeObject:
    driver = {"name": _DRIVER, "nodeID": name, "allocatable": {"count": rng.randint(1, 2)}}
    return _object("storage.k8s.io/v1", "CSINode", name, spec={"drivers": [driver]})


def _volume(
    name: str,
    storage_class: str,
    zone: str,
    *,
    claim: tuple[str, str] | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
) -> KubeObject:
    spec: dict[str, Any] = {
        "capacity": {"storage": "1Gi"},
        "accessModes": list(modes),
        "storageClassName": storage_class,
        "csi": {"driver": _DRIVER, "volumeHandle": name},
    }
    labels = {}
    if zone:
        labels[ZONE] = zone
        expression = {"key": ZONE, "operator": "In", "values": [zone]}
        term = {"matchExpressions": [expression]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    if claim is not None:
        namespace, claim_name = claim
        uid = f"PersistentVolumeClaim/{namespace}/{claim_name}"
        spec["claimRef"] = {"namespace": namespace, "name": claim_name, "uid": uid}
    return _object("v1", "PersistentVolume", name, labels=labels, spec=spec)


def _claim(
    namespace: str,
    kind: str,
    storage_class: str,
    *,
    volume: str = "",
    modes: Sequence[str] = ("ReadWriteOnce",),
) -> KubeObject:
    return _object(
        "v1",
        "PersistentVolumeClaim",
        f"{namespace}-{kind}",
        namespace,
        annotations=_BIND_COMPLETED if volume else {},
        spec={
            "accessModes": list(modes),
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": volume,
        },
        status={"phase": "Bound" if volume else "Pending"},
    )

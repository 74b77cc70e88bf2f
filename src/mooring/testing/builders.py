"""Builders of pods, nodes and pod groups: a test gives only the fields it cares about.

The objects are as an API server would return them: with a uid, a namespace, a scheduler name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from mooring.api import (
    CompositePodGroup,
    Node,
    Pod,
    Taint,
    Toleration,
    WorkloadPodGroup,
    decode_as,
)
from mooring.api.quantity import milli_value
from mooring.controlplane.default_values import set_defaults
from mooring.errors import ObjectError

_Object = TypeVar("_Object", Node, Pod, WorkloadPodGroup, CompositePodGroup)

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

#: A quantity: "500m", "2Gi", 4.
Amount = str | int | float
#: `key=value:Effect` as kubectl writes it, fields as in a manifest, or the object itself.
TaintLike = str | Mapping[str, Any] | Taint
TolerationLike = str | Mapping[str, Any] | Toleration


def make_node(
    name: str,
    *,
    cpu: Amount = "4",
    memory: Amount = "16Gi",
    pods: int = 110,
    resources: Mapping[str, Amount] | None = None,
    capacity: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    zone: str = "",
    taints: Iterable[TaintLike] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **more_labels: str,
) -> Node:
    """Return a node with 4 allocatable cpus, 16Gi of memory and room for 110 pods.

    `resources` adds to what is allocatable; `capacity` is its total, by default the same. `images`
    maps names to sizes in bytes. `spec` and `status` take any other field, spelt as in a manifest.
    Every further keyword is a label; the hostname label is always set.

    >>> node = make_node("a", taints=["gpu=true:NoSchedule"], disk="ssd")
    >>> node.labels["disk"], node.spec.taints[0].effect
    ('ssd', 'NoSchedule')
    """
    for key, value in more_labels.items():
        if not isinstance(value, str):
            raise TypeError(
                f"make_node() takes no {key}={value!r}: every further keyword is a label, "
                "whose value is a text"
            )
    _check_cpu(cpu)
    offers = _amounts({"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})})
    marks = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **(labels or {}), **more_labels}
    return _made(
        {
            "metadata": {"name": name, "labels": marks, "annotations": dict(annotations or {})},
            "spec": {
                "unschedulable": unschedulable,
                "taints": [_taint(taint) for taint in taints],
                **(spec or {}),
            },
            "status": {
                "allocatable": offers,
                "capacity": {**offers, **_amounts(capacity or {})},
                "images": [
                    {"names": [image], "sizeBytes": size} for image, size in (images or {}).items()
                ],
                **(status or {}),
            },
        },
        Node,
    )


def make_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    cpu: Amount | None = None,
    memory: Amount | None = None,
    requests: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node: str = "",
    nominated_node: str = "",
    priority: int | None = None,
    scheduler_name: str = "",
    image: str = "",
    host_ports: Iterable[int] = (),
    node_selector: Mapping[str, str] | None = None,
    tolerations: Iterable[TolerationLike] = (),
    affinity: Mapping[str, Any] | None = None,
    claims: Iterable[str] = (),
    gates: Iterable[str] = (),
    group: str = "",
    metadata: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Pod:
    """Return a pod with one container; with `node` it is on that node, otherwise it is pending.

    `requests` adds to cpu and memory. `claims` names PersistentVolumeClaims, `gates` scheduling
    gates, `group` the pod group. `metadata`, `spec` and `status` take any other field, spelt as
    in a manifest.

    >>> pod = make_pod("web", cpu="500m", tolerations=["gpu=true:NoSchedule", "spot"])
    >>> [toleration.operator for toleration in pod.spec.tolerations]
    ['Equal', 'Exists']
    """
    asked = {"cpu": cpu, "memory": memory, **(requests or {})}
    container = {
        "name": "container",
        "image": image,
        "resources": {"requests": _amounts({k: v for k, v in asked.items() if v is not None})},
        "ports": [{"containerPort": port, "hostPort": port} for port in host_ports],
    }
    claim_volumes = [
        {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims
    ]
    return _made(
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": dict(labels or {}),
                "annotations": dict(annotations or {}),
                **(metadata or {}),
            },
            "spec": {
                "containers": [container],
                "nodeName": node,
                "priority": priority,
                "schedulerName": scheduler_name,
                "nodeSelector": dict(node_selector or {}),
                "tolerations": [_toleration(toleration) for toleration in tolerations],
                "affinity": affinity,
                "volumes": claim_volumes,
                "schedulingGates": [{"name": gate} for gate in gates],
                "schedulingGroup": {"podGroupName": group} if group else None,
                **(spec or {}),
            },
            "status": {"nominatedNodeName": nominated_node, **(status or {})},
        },
        Pod,
    )


def make_pod_group(
    name: str = "group",
    *,
    namespace: str = "default",
    min_count: int | None = None,
    priority: int | None = None,
    topology: str = "",
    disruption_mode: str = "single",
    parent: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> WorkloadPodGroup:
    """Return a pod group: with `min_count` a gang, otherwise a group of the basic policy.

    `topology` names a node label whose value all pods share, `disruption_mode` is "single" or
    "all", `parent` names the composite group that this is a part of. `metadata`, `spec` and
    `status` take any other field, spelt as in a manifest.

    >>> make_pod_group("training", min_count=8).min_count
    8
    """
    gang = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    return _made(
        {
            "metadata": {"name": name, "namespace": namespace, **(metadata or {})},
            "spec": {
                "schedulingPolicy": gang,
                **_group_spec(priority, topology, disruption_mode, parent),
                **(spec or {}),
            },
            "status": dict(status or {}),
        },
        WorkloadPodGroup,
    )


def make_composite_pod_group(
    name: str = "composite",
    *,
    namespace: str = "default",
    min_group_count: int | None = None,
    priority: int | None = None,
    topology: str = "",
    disruption_mode: str = "single",
    parent: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> CompositePodGroup:
    """Return a composite pod group: with `min_group_count` a gang of groups.

    The other arguments are those of `make_pod_group`.

    >>> make_composite_pod_group("training", min_group_count=2).min_count
    2
    """
    count = min_group_count
    policy = {"basic": {}} if count is None else {"gang": {"minGroupCount": count}}
    return _made(
        {
            "metadata": {"name": name, "namespace": namespace, **(metadata or {})},
            "spec": {
                "schedulingPolicy": policy,
                **_group_spec(priority, topology, disruption_mode, parent),
                **(spec or {}),
            },
        },
        CompositePodGroup,
    )


def _group_spec(
    priority: int | None, topology: str, disruption_mode: str, parent: str | None
) -> dict[str, Any]:
    """Return the fields that both kinds of groups have."""
    return {
        "schedulingConstraints": {"topology": [{"key": topology}]} if topology else None,
        "disruptionMode": {disruption_mode: {}},
        "priority": priority,
        "parentCompositePodGroupName": parent,
    }


def _made(data: dict[str, Any], kind: type[_Object]) -> _Object:
    (made,) = set_defaults([decode_as(data, kind)])
    assert isinstance(made, kind)
    return made


def _check_cpu(cpu: Amount) -> None:
    try:
        milli_value(str(cpu))
    except ObjectError as error:
        raise ObjectError(
            f'cpu is what the node offers ({error}); a label is given as labels={{"cpu": "{cpu}"}}'
        ) from None


def _amounts(amounts: Mapping[str, Amount]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _taint(taint: TaintLike) -> Any:
    if not isinstance(taint, str):
        return _fields(taint)
    what, colon, effect = taint.rpartition(":")
    if not colon or not what or not effect:
        raise ObjectError(f'taint must look like "key=value:NoSchedule", got "{taint}"')
    key, _, value = what.partition("=")
    return {"key": key, "value": value, "effect": effect}


def _toleration(toleration: TolerationLike) -> Any:
    """Parse "key=value:Effect"; a missing value or effect means that any is tolerated."""
    if not isinstance(toleration, str):
        return _fields(toleration)
    what, colon, effect = toleration.rpartition(":")
    if not colon:
        what, effect = toleration, ""
    key, equals, value = what.partition("=")
    return {
        "key": key,
        "operator": "Equal" if equals else "Exists",
        "value": value,
        "effect": effect,
    }


def _fields(value: Mapping[str, Any] | msgspec.Struct) -> Any:
    return dict(value) if isinstance(value, Mapping) else msgspec.to_builtins(value)

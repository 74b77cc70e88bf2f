"""Requests about pod groups, most of them wrong somewhere, drawn from a seed."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import msgspec

Object = dict[str, Any]

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
NAMESPACE = "default"

_REFERENCE = {"workloadName": "w", "templateName": "t"}
_GANG: Object = {"gang": {"minCount": 2}}
_BASIC: Object = {"basic": {}}
_RACK = {"topology": [{"key": "example.com/rack"}]}
#: Version, resource, kind, spec.
_BASES: tuple[tuple[str, str, str, Object], ...] = (
    ("v1beta1", "podgroups", "PodGroup", {"schedulingPolicy": _GANG}),
    (
        "v1beta1",
        "podgroups",
        "PodGroup",
        {
            "schedulingPolicy": _BASIC,
            "disruptionMode": {"all": {}},
            "workloadRef": _REFERENCE,
            "parentCompositePodGroupName": "p",
            "schedulingConstraints": _RACK,
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "resourceClaims": [{"name": "c", "resourceClaimName": "x"}],
        },
    ),
    (
        "v1alpha3",
        "podgroups",
        "PodGroup",
        {"schedulingPolicy": _GANG, "workloadRef": _REFERENCE, "priorityClassName": "low"},
    ),
    (
        "v1alpha3",
        "compositepodgroups",
        "CompositePodGroup",
        {
            "schedulingPolicy": {"gang": {"minGroupCount": 2}},
            "workloadRef": _REFERENCE,
            "parentCompositePodGroupName": "q",
            "schedulingConstraints": _RACK,
            "disruptionMode": {"single": {}},
        },
    ),
    (
        "v1beta1",
        "workloads",
        "Workload",
        {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "j"},
            "podGroupTemplates": [
                {
                    "name": "t",
                    "schedulingPolicy": _GANG,
                    "schedulingConstraints": _RACK,
                    "disruptionMode": {"single": {}},
                    "priorityClassName": "a",
                    "priority": 5,
                    "preemptionPolicy": "Never",
                    "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "x"}],
                },
                {
                    "name": "u",
                    "schedulingPolicy": _BASIC,
                    "priorityClassName": "a",
                    "priority": 5,
                },
            ],
        },
    ),
    (
        "v1alpha3",
        "workloads",
        "Workload",
        {
            "compositePodGroupTemplates": [
                {
                    "name": "r",
                    "schedulingPolicy": {"gang": {"minGroupCount": 2}},
                    "podGroupTemplates": [{"name": "t", "schedulingPolicy": _BASIC}],
                    "compositePodGroupTemplates": [
                        {
                            "name": "s",
                            "schedulingPolicy": _BASIC,
                            "disruptionMode": {"all": {}},
                            "podGroupTemplates": [{"name": "u", "schedulingPolicy": _GANG}],
                        }
                    ],
                }
            ]
        },
    ),
    (
        "v1",
        "pods",
        "Pod",
        {
            "schedulerName": "nobody",
            "automountServiceAccountToken": False,
            "schedulingGroup": {"podGroupName": "g"},
            "containers": [{"name": "c", "image": "i"}],
        },
    ),
)
_STATUS: Object = {
    "conditions": [
        {
            "type": "A",
            "status": "True",
            "reason": "R",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ],
    "resourceClaimStatuses": [{"name": "c", "resourceClaimName": "z"}],
}
_FIELDS = (
    "basic",
    "gang",
    "single",
    "all",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "podGroupTemplates",
    "compositePodGroupTemplates",
    "name",
    "minCount",
    "parentCompositePodGroupName",
    "unknownField",
    "schedulingGroup",
)
_TEXTS = ("", "x", "other", "A", "a.b", "z" * 64, "q" * 254, "a/b", "..", "é", "t", "u", "low")
_NUMBERS = (0, -1, 1, 3, 1_000_000_000, 1_000_000_001)
_STRUCTS: tuple[Object, ...] = ({}, _BASIC, _GANG, {"all": {}}, {"single": {}}, _RACK)


class GroupRequest(msgspec.Struct, frozen=True):
    """A request; a PUT takes the resource version of the object that is there."""

    method: str
    path: str
    body: Object | None = None
    content_type: str = "application/json"


def sequences(seed: int, count: int) -> Iterator[list[GroupRequest]]:
    """Yield sequences of requests, each about an object of its own."""
    rng = random.Random(seed)
    for number in range(count):
        version, resource, kind, spec = rng.choice(_BASES)
        group = "" if kind == "Pod" else "scheduling.k8s.io/"
        root = f"/apis/{group}{version}" if group else f"/api/{version}"
        path, name = f"{root}/namespaces/{NAMESPACE}/{resource}", f"o{number}"
        obj = {"apiVersion": f"{group}{version}", "kind": kind, "metadata": {"name": name}}
        how = rng.randrange(4)
        if how == 0:
            yield [GroupRequest("POST", path, {**obj, "spec": changed(rng, spec)})]
            continue
        there, change = f"{path}/{name}", {"spec": changed(rng, spec)}
        requests = [GroupRequest("POST", path, {**obj, "spec": spec})]
        if how == 1:
            requests.append(GroupRequest("PUT", there, {**obj, **change}))
        else:
            patch = MERGE if how == 2 else STRATEGIC
            requests.append(GroupRequest("PATCH", there, change, patch))
        if resource.endswith("groups") and rng.random() < 0.4:
            status = {"status": changed(rng, _STATUS)}
            requests.append(GroupRequest("PATCH", f"{there}/status", status, MERGE))
        yield [*requests, GroupRequest("GET", there)]


def changed(rng: random.Random, spec: Object) -> Object:
    """Return a spec with up to three changes. Most values keep their type."""
    spec = copy.deepcopy(spec)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(spec))
        if not places:
            break
        parent, key = rng.choice(places)
        value, how = parent[key], rng.randrange(5)
        if how == 0:
            del parent[key]
        elif how == 1 and isinstance(parent, dict):
            parent[rng.choice(_FIELDS)] = copy.deepcopy(rng.choice(_STRUCTS + _TEXTS + _NUMBERS))
        elif how == 2 and isinstance(parent, list):
            parent.extend(copy.deepcopy(value) for _ in range(rng.choice((1, 1, 8))))
        elif isinstance(value, str):
            parent[key] = rng.choice(_TEXTS)
        elif isinstance(value, bool):
            parent[key] = not value
        elif isinstance(value, int):
            parent[key] = rng.choice(_NUMBERS)
        else:
            parent[key] = copy.deepcopy(rng.choice(_STRUCTS)) if isinstance(value, dict) else []
    return spec


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])

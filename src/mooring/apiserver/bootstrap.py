"""The objects that every cluster starts with."""

# kube-apiserver: plugin/pkg/auth/authorizer/rbac/bootstrappolicy,
# pkg/apis/scheduling/v1/helpers.go, pkg/controlplane

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from mooring.apiserver import writing
from mooring.apiserver.auth.authorization import MASTERS
from mooring.apiserver.bodies import WriteOptions
from mooring.apiserver.http import ApiRequest, RequestUser
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_store import key_of
from mooring.apiserver.schema.canonical import canonical
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.write import Write
from mooring.controlplane.priority_classes import SYSTEM_PRIORITIES

Object = dict[str, Any]

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_RBAC = "rbac.authorization.k8s.io"
_UPDATED = "rbac.authorization.kubernetes.io/autoupdate"
_PLURALS = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}
_READ, _STATUS = ("get", "list", "watch"), ("patch", "update")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_GROUPS, _COMPOSITE = "GenericWorkload", "CompositePodGroup"
#: Feature gate, role, resources of scheduling.k8s.io, verbs.
_GATED_RULES = (
    (_GROUPS, "system:aggregate-to-edit", ("podgroups", "workloads"), _WRITE),
    (_COMPOSITE, "system:aggregate-to-edit", ("compositepodgroups",), _WRITE),
    (_GROUPS, "system:aggregate-to-view", ("podgroups", "podgroups/status", "workloads"), _READ),
    (
        _COMPOSITE,
        "system:aggregate-to-view",
        ("compositepodgroups", "compositepodgroups/status"),
        _READ,
    ),
    (_GROUPS, "system:kube-scheduler", ("podgroups",), _READ),
    (_GROUPS, "system:kube-scheduler", ("podgroups/status",), _STATUS),
    (_COMPOSITE, "system:kube-scheduler", ("compositepodgroups",), _READ),
    (_COMPOSITE, "system:kube-scheduler", ("compositepodgroups/status",), _STATUS),
)
_SYSTEM = RequestUser("system:apiserver", (MASTERS,))
_CRITICAL = {
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but "
    "can be moved to another node if necessary.",
    "system-node-critical": "Used for system critical pods that must not be moved from their "
    "current node.",
}


def fill(cluster: ServerState, authority: bytes = b"") -> None:
    """Create the initial objects that do not exist yet, and complete the rules of roles."""
    for name in _NAMESPACES:
        ensure(cluster, "", "v1", "namespaces", {"metadata": {"name": name}})
    file = resources.files("mooring.apiserver").joinpath("roles.json")
    for obj in json.loads(file.read_text(encoding="utf-8")):
        metadata = obj["metadata"]
        metadata["labels"] = {
            "kubernetes.io/bootstrapping": "rbac-defaults",
            **metadata.get("labels", {}),
        }
        metadata["annotations"] = {_UPDATED: "true"}
        if obj["kind"] == "ClusterRole" and "rules" in obj:
            obj["rules"] += _gated_rules(cluster, metadata["name"])
        ensure(cluster, _RBAC, "v1", _PLURALS[obj["kind"]], obj)
        if "rules" in obj:
            _complete_rules(cluster, f"{_RBAC}/{_PLURALS[obj['kind']]}", obj)
    for name, description in _CRITICAL.items():
        value = SYSTEM_PRIORITIES[name]
        priority = {"metadata": {"name": name}, "value": value, "description": description}
        ensure(cluster, "scheduling.k8s.io", "v1", "priorityclasses", priority)
    ensure(cluster, "", "v1", "services", _service())
    trust = {
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {
            "client-ca-file": authority.decode(),
            "requestheader-client-ca-file": authority.decode(),
            "requestheader-allowed-names": '["front-proxy-client"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        },
    }
    ensure(cluster, "", "v1", "configmaps", trust)


def _complete_rules(cluster: ServerState, resource: str, role: Object) -> None:
    """Add the rules that a role of an older data folder lacks, unless its annotation forbids it."""
    # kubernetes: pkg/registry/rbac/reconciliation/reconcile_role.go
    metadata = role["metadata"]
    there = cluster.lookup(resource, metadata.get("namespace", ""), metadata["name"]) or {}
    rules = there.get("rules") or []
    missing = [rule for rule in role["rules"] if rule not in rules]
    if missing and (there["metadata"].get("annotations") or {}).get(_UPDATED) == "true":
        changed = {**there, "metadata": dict(there["metadata"]), "rules": [*rules, *missing]}
        key = key_of(metadata.get("namespace", ""), metadata["name"])
        cluster.store.put(resource, key, changed)


def _gated_rules(cluster: ServerState, role: str) -> list[Object]:
    """Return the rules that a role has only if feature gates are on."""
    return [
        {"apiGroups": ["scheduling.k8s.io"], "resources": list(resources), "verbs": list(verbs)}
        for gate, name, resources, verbs in _GATED_RULES
        if name == role and gate in cluster.features
    ]


def _service() -> Object:
    return {
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.0.0.1",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    }


def ensure(cluster: ServerState, group: str, version: str, resource: str, obj: Object) -> None:
    """Create an object unless it exists."""
    served = cluster.catalogue.get(group, version, resource)
    assert served is not None and served.type is not None
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if cluster.store.get(served.store, key_of(namespace, metadata["name"])) is not None:
        return
    request = ApiRequest("POST", "", {}, {"user-agent": "kube-apiserver"}, user=_SYSTEM)
    info = RequestInfo("create", "", group, version, resource, namespace=namespace)
    write = Write(cluster, request, info, served, WriteOptions(manager="kube-apiserver"))
    full = {**obj, "apiVersion": served.group_version, "kind": served.kind}
    writing.create(write, canonical(served.type, full))

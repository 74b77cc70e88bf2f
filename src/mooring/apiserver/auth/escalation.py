"""Privilege escalation checks: nobody can grant permissions that they do not hold."""

# kube-apiserver: pkg/registry/rbac/{role,rolebinding}/policybased/storage.go
# component-helpers: auth/rbac/validation/policy_comparator.go

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.api.go_format import go_quote, go_quote_all
from mooring.apiserver import refusals
from mooring.apiserver.auth.authorization import (
    CLUSTER_ROLES,
    MASTERS,
    ROLES,
    Attributes,
    Authorizer,
)
from mooring.apiserver.http import RequestUser
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

_GROUP = "rbac.authorization.k8s.io"
_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")


def check(
    cluster: ServerState, user: RequestUser, served: Served, obj: Object, old: Object | None
) -> None:
    """Refuse a role or binding that grants permissions which its writer does not hold."""
    if served.group != _GROUP or MASTERS in user.groups:
        return
    authorizer = Authorizer(cluster)
    namespace = obj["metadata"].get("namespace") or ""
    name = obj["metadata"].get("name") or ""
    if served.name in _ROLES:
        if old is not None and old.get("rules") == obj.get("rules"):
            return
        if authorizer.allows(
            Attributes(user, "escalate", _GROUP, "v1", served.name, "", namespace, name)
        ):
            return
        _refuse(authorizer, user, served, name, namespace, obj.get("rules") or [])
    elif served.name in _BINDINGS:
        reference = obj.get("roleRef") or {}
        if old is not None and old.get("subjects") == obj.get("subjects"):
            return
        is_role = reference.get("kind") == "Role"
        target = "roles" if is_role else "clusterroles"
        role_name = reference.get("name", "")
        if authorizer.allows(
            Attributes(user, "bind", _GROUP, "v1", target, "", namespace, role_name)
        ):
            return
        place = ROLES if is_role else CLUSTER_ROLES
        role = cluster.lookup(place, namespace if is_role else "", role_name)
        if role is None:
            raise refusals.not_found(target, _GROUP, role_name)
        _refuse(authorizer, user, served, name, namespace, authorizer.rules_of(role))


def _refuse(
    authorizer: Authorizer,
    user: RequestUser,
    served: Served,
    name: str,
    namespace: str,
    rules: list[Object],
) -> None:
    held = list(authorizer.rules(user, namespace))
    missing = [one for rule in rules for one in _single(rule) if not _covered(held, one)]
    if not missing:
        return
    listed = "\n".join(sorted(_text(one) for one in _compact(missing)))
    why = (
        f"user {go_quote(user.name)} (groups={go_quote_all(user.groups)}) is attempting to grant "
        f"RBAC permissions not currently held:\n{listed}"
    )
    raise refusals.forbidden(served.name, served.group, name, why)


def _single(rule: Object) -> Iterator[Object]:
    """Split a rule into rules of one verb and one resource, resource name or path."""
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                one = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames")
                if not names:
                    yield one
                for name in names or ():
                    yield one | {"resourceNames": [name]}
    for path in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [path], "verbs": [verb]}


def _has(held: Object, field: str, wanted: str) -> bool:
    values = held.get(field) or ()
    return "*" in values or wanted in values


def _covered(held: list[Object], wanted: Object) -> bool:
    for rule in held:
        if not _has(rule, "verbs", wanted["verbs"][0]):
            continue
        if "nonResourceURLs" in wanted:
            path = wanted["nonResourceURLs"][0]
            for one in rule.get("nonResourceURLs") or ():
                if one in ("*", path) or (one.endswith("*") and path.startswith(one[:-1])):
                    return True
            continue
        if not _has(rule, "apiGroups", wanted["apiGroups"][0]):
            continue
        resource = wanted["resources"][0]
        part = resource.partition("/")[2]
        if not _has(rule, "resources", resource) and not (
            part and f"*/{part}" in (rule.get("resources") or ())
        ):
            continue
        names = rule.get("resourceNames")
        if not names or (wanted.get("resourceNames") or [""])[0] in names:
            return True
    return False


def _compact(rules: list[Object]) -> list[Object]:
    """Merge rules that differ only in their verbs."""
    found: dict[str, Object] = {}
    for rule in rules:
        key = _text(rule | {"verbs": []})
        verbs = found.setdefault(key, rule | {"verbs": []})["verbs"]
        verbs.append(rule["verbs"][0])
    return list(found.values())


def _text(rule: Object) -> str:
    parts = []
    for title, field in (
        ("APIGroups", "apiGroups"),
        ("Resources", "resources"),
        ("NonResourceURLs", "nonResourceURLs"),
        ("ResourceNames", "resourceNames"),
        ("Verbs", "verbs"),
    ):
        if rule.get(field):
            parts.append(f"{title}:{go_quote_all(rule[field])}")
    return "{" + ", ".join(parts) + "}"

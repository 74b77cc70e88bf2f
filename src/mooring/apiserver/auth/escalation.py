"""Privilege escalation checks: nobody can grant permissions that they do not hold."""

# kube-apiserver: pkg/registry/rbac/{clusterrole,role,rolebinding}/policybased/storage.go
# component-helpers: auth/rbac/validation/policy_comparator.go

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_table import Served
from mooring.apiserver.write import Write

Object = dict[str, Any]

_GROUP = "rbac.authorization.k8s.io"
_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
_TARGETS = {"Role": "roles", "ClusterRole": "clusterroles"}
_COLLECTION = ("ownerReferences", "finalizers", "managedFields", "selfLink")
#: An aggregation rule can gather anything, so it needs all rights.
_FULL: tuple[Object, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
AGGREGATION = "must have cluster-admin privileges to use the aggregationRule"


def check(write: Write, obj: Object, old: Object | None) -> None:
    """Refuse a role or binding that grants permissions which its writer does not hold."""
    served, user = write.served, write.request.user
    if served.group != _GROUP or MASTERS in user.groups:
        return
    if old is not None and is_only_for_collection(obj, old):
        return
    if served.name in _ROLES:
        _check_role(write, obj, old)
    elif served.name in _BINDINGS:
        _check_binding(write, obj)


def is_only_for_collection(obj: Object, old: Object) -> bool:
    """Return whether a write changes only what the garbage collector needs to delete an object."""
    # kube-apiserver: pkg/registry/rbac/helpers.go, IsOnlyMutatingGCFields
    return _without_collection(obj) == _without_collection(old)


def _without_collection(obj: Object) -> Object:
    metadata = {key: one for key, one in obj["metadata"].items() if key not in _COLLECTION}
    return obj | {"metadata": metadata}


def _check_role(write: Write, obj: Object, old: Object | None) -> None:
    authorizer, served, user = Authorizer(write.cluster), write.served, write.request.user
    # The name is that of the path: a right to one name does not allow to create it by POST.
    namespace, name = write.info.namespace, write.info.name
    if authorizer.allows(
        Attributes(user, "escalate", _GROUP, "*", served.name, "", namespace, name)
    ):
        return
    if missing := _missing(authorizer, user, namespace, obj.get("rules") or []):
        raise _forbidden(served, obj, missing)
    aggregates = _aggregates(obj) or (old is not None and _aggregates(old))
    if aggregates and _missing(authorizer, user, namespace, _FULL):
        raise _forbidden(served, obj, AGGREGATION)


def _aggregates(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _check_binding(write: Write, obj: Object) -> None:
    authorizer, user = Authorizer(write.cluster), write.request.user
    namespace = write.info.namespace
    reference = obj.get("roleRef") or {}
    kind, group = reference.get("kind", ""), reference.get("apiGroup", "")
    name = reference.get("name", "")
    target = _TARGETS.get(kind)
    if target is None:
        raise refusals.failure(f"unsupported role reference kind: {go_quote(kind)}")
    if authorizer.allows(Attributes(user, "bind", group, "*", target, "", namespace, name)):
        return
    is_role = target == "roles"
    if is_role and not namespace:
        raise refusals.bad_request("Namespace parameter required.")
    place = ROLES if is_role else CLUSTER_ROLES
    role = write.cluster.lookup(place, namespace if is_role else "", name)
    if role is None:
        # kube-apiserver names the resource of the request, which is the binding.
        raise refusals.not_found(write.served.name, _GROUP, name)
    if missing := _missing(authorizer, user, namespace, authorizer.rules_of(role)):
        raise _forbidden(write.served, obj, missing)


def _forbidden(served: Served, obj: Object, why: str) -> Refusal:
    return refusals.forbidden(served.name, served.group, obj["metadata"].get("name") or "", why)


def _missing(
    authorizer: Authorizer, user: RequestUser, namespace: str, rules: Iterable[Object]
) -> str:
    """Return the message about the rules that a user does not hold, "" if there are none."""
    held = list(authorizer.rules(user, namespace))
    missing = [one for rule in rules for one in _single(rule) if not _covered(held, one)]
    if not missing:
        return ""
    listed = "\n".join(sorted({_text(one) for one in _compact(missing)}))
    return (
        f"user {go_quote(user.name)} (groups={go_quote_all(user.groups)}) is attempting to grant "
        f"RBAC permissions not currently held:\n{listed}"
    )


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

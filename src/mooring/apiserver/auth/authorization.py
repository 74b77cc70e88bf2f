"""Authorization: role-based access control by roles and bindings."""

# kube-apiserver: plugin/pkg/auth/authorizer/rbac, pkg/registry/rbac/validation

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.api.go_format import go_quote
from mooring.apiserver import refusals
from mooring.apiserver.http import RequestUser
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.selecting import selector_of
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

MASTERS = "system:masters"
_GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES, ROLES = f"{_GROUP}/clusterroles", f"{_GROUP}/roles"
CLUSTER_BINDINGS, BINDINGS = f"{_GROUP}/clusterrolebindings", f"{_GROUP}/rolebindings"
#: The characters that kube-apiserver escapes in a refusal.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Attributes(msgspec.Struct, frozen=True):
    """A user and what the user wants to do. A request is for a resource unless it has a path."""

    user: RequestUser
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    #: The target of a request without a resource.
    path: str | None = None


def attributes(user: RequestUser, info: RequestInfo, verb: str = "") -> Attributes:
    """Return what a request does, or would do with another verb."""
    return Attributes(
        user,
        verb or info.verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.scope,
        info.name or info.selected,
        None if info.is_resource else info.path,
    )


class AuthorizationDecision(msgspec.Struct, frozen=True):
    """The decision on a request."""

    allowed: bool
    #: The binding that allows it, as messages name it.
    reason: str = ""


class Authorizer:
    """An authorizer that reads the roles and bindings in the store."""

    def __init__(self, cluster: ServerState) -> None:
        self._cluster = cluster

    def allows(self, asked: Attributes) -> bool:
        """Return whether a request is allowed."""
        return self.decide(asked).allowed

    def decide(self, asked: Attributes) -> AuthorizationDecision:
        """Return whether a request is allowed, and the binding that allows it."""
        if MASTERS in asked.user.groups:
            return AuthorizationDecision(True)
        for rules, reason in self._bound(asked.user, asked.namespace):
            if any(_rule_allows(rule, asked) for rule in rules):
                return AuthorizationDecision(True, f"RBAC: allowed by {reason}")
        return AuthorizationDecision(False)

    def rules(self, user: RequestUser, namespace: str) -> Iterator[Object]:
        """Yield the rules that apply to a user in a namespace."""
        for rules, _ in self._bound(user, namespace):
            yield from rules

    def _bound(self, user: RequestUser, namespace: str) -> Iterator[tuple[list[Object], str]]:
        store = self._cluster.store
        for stored in store.items(CLUSTER_BINDINGS):
            if (subject := _subject(stored.object, user, "")) is not None:
                yield self._told(stored.object, "", "ClusterRoleBinding", subject)
        if namespace:
            for stored in store.items(BINDINGS, namespace):
                if (subject := _subject(stored.object, user, namespace)) is not None:
                    yield self._told(stored.object, namespace, "RoleBinding", subject)

    def _told(
        self, binding: Object, namespace: str, kind: str, subject: Object
    ) -> tuple[list[Object], str]:
        reference = binding.get("roleRef") or {}
        resource = ROLES if reference.get("kind") == "Role" else CLUSTER_ROLES
        where = namespace if resource == ROLES else ""
        role = self._cluster.lookup(resource, where, str(reference.get("name", "")))
        metadata = binding["metadata"]
        name = metadata["name"] + (f"/{metadata['namespace']}" if namespace else "")
        who = f'{subject.get("kind")} "{subject.get("name")}'
        who += f'/{subject["namespace"]}"' if subject.get("namespace") else '"'
        text = f'{kind} "{name}" of {reference.get("kind")} "{reference.get("name")}" to {who}'
        return self.rules_of(role), text

    def rules_of(self, role: Object | None) -> list[Object]:
        """Return the rules of a role, including those of the roles that it aggregates."""
        if role is None:
            return []
        found: list[Object] = []
        waiting, seen = [role], {role["metadata"]["name"]}
        while waiting:
            one = waiting.pop(0)
            found += one.get("rules") or ()
            for selector in (one.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
                chosen = selector_of(selector)
                for stored in self._cluster.store.items(CLUSTER_ROLES):
                    # Two roles may aggregate each other.
                    if stored.key not in seen and chosen.matches(stored.labels):
                        seen.add(stored.key)
                        waiting.append(stored.object)
        return found

    def refusal(self, asked: Attributes, reason: str = "") -> Refusal:
        """Return the refusal (403) of a request that is not allowed."""
        # apiserver: pkg/endpoints/handlers/responsewriters/errors.go
        user = f"User {go_quote(asked.user.name)} cannot {asked.verb}"
        if asked.path is not None:
            why = f"{user} path {go_quote(asked.path)}"
            return refusals.forbidden("", "", "", _with_reason(why, reason))
        resource = asked.resource + (f"/{asked.subresource}" if asked.subresource else "")
        why = f"{user} resource {go_quote(resource)} in API group {go_quote(asked.group)}"
        if asked.namespace:
            why += f" in the namespace {go_quote(asked.namespace)}"
        else:
            why += " at the cluster scope"
        return refusals.forbidden(
            asked.resource, asked.group, asked.name, _with_reason(why, reason)
        )

    def require(self, asked: Attributes) -> None:
        """Refuse (403) a request that is not allowed."""
        if not self.allows(asked):
            raise self.refusal(asked)


def _with_reason(why: str, reason: str) -> str:
    escaped = why.translate(_ESCAPES)
    return f"{escaped}: {reason}" if reason else escaped


def _subject(binding: Object, user: RequestUser, namespace: str) -> Object | None:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name")
        if kind == "User" and name == user.name:
            return dict(subject)
        if kind == "Group" and name in user.groups:
            return dict(subject)
        if kind == "ServiceAccount":
            where = subject.get("namespace") or namespace
            if where and user.name == f"system:serviceaccount:{where}:{name}":
                return dict(subject)
    return None


def _rule_allows(rule: Object, asked: Attributes) -> bool:
    verbs = rule.get("verbs") or ()
    if asked.verb not in verbs and "*" not in verbs:
        return False
    path = asked.path
    if path is not None:
        return any(_path_matches(one, path) for one in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if asked.group not in groups and "*" not in groups:
        return False
    names = rule.get("resourceNames")
    if names and asked.name not in names:
        return False
    wanted = asked.resource + (f"/{asked.subresource}" if asked.subresource else "")
    for one in rule.get("resources") or ():
        if one in ("*", wanted):
            return True
        if asked.subresource and one == f"*/{asked.subresource}":
            return True
    return False


def _path_matches(rule: str, path: str) -> bool:
    if rule == "*" or rule == path:
        return True
    return rule.endswith("*") and path.startswith(rule.rstrip("*"))

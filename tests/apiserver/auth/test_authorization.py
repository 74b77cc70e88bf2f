from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.auth.authorization import (
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    Attributes,
    Authorizer,
)
from mooring.apiserver.http import RequestUser
from tests.apiserver.api_server import MAPS, PODS, ApiServer, grant

JANE = RequestUser("jane")


async def test_a_role_gives_what_it_says_where_it_says() -> None:
    server = ApiServer()
    assert (await server.send("GET", PODS, user=JANE)).code == 403
    await grant(server, "jane", ["list"], ["pods"])
    assert (await server.send("GET", PODS, user=JANE)).code == 200
    assert (await server.send("GET", "/api/v1/pods", user=JANE)).code == 403
    assert (await server.send("GET", MAPS, user=JANE)).code == 403


def _state(*objects: tuple[str, dict[str, Any]]) -> Authorizer:
    server = ApiServer()
    for resource, obj in objects:
        metadata = obj["metadata"]
        key = (
            f"{metadata['namespace']}/{metadata['name']}"
            if "namespace" in metadata
            else metadata["name"]
        )
        server.store.put(resource, key, obj)
    return Authorizer(server.cluster)


def _role(name: str, *rules: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    return CLUSTER_ROLES, {
        "metadata": {"name": name, **more.pop("metadata", {})},
        "rules": list(rules),
        **more,
    }


def _binding(role: str, **subject: str) -> tuple[str, dict[str, Any]]:
    reference = {"kind": "ClusterRole", "name": role}
    return CLUSTER_BINDINGS, {
        "metadata": {"name": "b"},
        "roleRef": reference,
        "subjects": [subject],
    }


PODS_RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
RULES: dict[str, tuple[dict[str, Any], Attributes, bool]] = {
    "the same": (PODS_RULE, Attributes(JANE, "get", resource="pods"), True),
    "another verb": (PODS_RULE, Attributes(JANE, "list", resource="pods"), False),
    "another group": (PODS_RULE, Attributes(JANE, "get", "apps", resource="pods"), False),
    "another resource": (PODS_RULE, Attributes(JANE, "get", resource="nodes"), False),
    "a subresource is another resource": (
        PODS_RULE,
        Attributes(JANE, "get", resource="pods", subresource="log"),
        False,
    ),
    "any verb": (PODS_RULE | {"verbs": ["*"]}, Attributes(JANE, "list", resource="pods"), True),
    "any group": (
        PODS_RULE | {"apiGroups": ["*"]},
        Attributes(JANE, "get", "apps", resource="pods"),
        True,
    ),
    "any resource": (
        PODS_RULE | {"resources": ["*"]},
        Attributes(JANE, "get", resource="pods", subresource="log"),
        True,
    ),
    "a subresource": (
        PODS_RULE | {"resources": ["pods/log"]},
        Attributes(JANE, "get", resource="pods", subresource="log"),
        True,
    ),
    "a subresource of any resource": (
        PODS_RULE | {"resources": ["*/log"]},
        Attributes(JANE, "get", resource="pods", subresource="log"),
        True,
    ),
    "one object": (
        PODS_RULE | {"resourceNames": ["p"]},
        Attributes(JANE, "get", resource="pods", name="p"),
        True,
    ),
    "another object": (
        PODS_RULE | {"resourceNames": ["p"]},
        Attributes(JANE, "get", resource="pods", name="q"),
        False,
    ),
    "a path": (
        {"nonResourceURLs": ["/healthz"], "verbs": ["get"]},
        Attributes(JANE, "get", path="/healthz"),
        True,
    ),
    "paths below": (
        {"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]},
        Attributes(JANE, "get", path="/healthz/ping"),
        True,
    ),
    "a path elsewhere": (
        {"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]},
        Attributes(JANE, "get", path="/logs"),
        False,
    ),
    "any path": (
        {"nonResourceURLs": ["*"], "verbs": ["get"]},
        Attributes(JANE, "get", path="/logs"),
        True,
    ),
    "a rule of resources allows no path": (PODS_RULE, Attributes(JANE, "get", path="/pods"), False),
}


@pytest.mark.parametrize(("rule", "asked", "allowed"), RULES.values(), ids=RULES)
def test_rules(rule: dict[str, Any], asked: Attributes, allowed: bool) -> None:
    found = _state(_role("r", rule), _binding("r", kind="User", name="jane"))
    assert found.allows(asked) is allowed


SUBJECTS: dict[str, tuple[dict[str, str], RequestUser, bool]] = {
    "a user": ({"kind": "User", "name": "jane"}, JANE, True),
    "another user": ({"kind": "User", "name": "joe"}, JANE, False),
    "a group": ({"kind": "Group", "name": "dev"}, RequestUser("x", ("dev",)), True),
    "an account": (
        {"kind": "ServiceAccount", "name": "a", "namespace": "n"},
        RequestUser("system:serviceaccount:n:a"),
        True,
    ),
    "an account of another namespace": (
        {"kind": "ServiceAccount", "name": "a", "namespace": "n"},
        RequestUser("system:serviceaccount:m:a"),
        False,
    ),
}


@pytest.mark.parametrize(("subject", "user", "allowed"), SUBJECTS.values(), ids=SUBJECTS)
def test_subjects(subject: dict[str, str], user: RequestUser, allowed: bool) -> None:
    found = _state(_role("r", PODS_RULE), _binding("r", **subject))
    assert found.allows(Attributes(user, "get", resource="pods")) is allowed


def test_an_administrator_may_do_everything() -> None:
    admin = RequestUser("a", ("system:masters",))
    assert _state().decide(Attributes(admin, "get", resource="pods")).allowed


def test_a_role_has_the_rules_of_those_that_it_gathers() -> None:
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]}
    authorizer = _state(
        _role("all", aggregationRule=gathers, metadata={"labels": {"to": "all"}}),
        _role("part", PODS_RULE, metadata={"labels": {"to": "all"}}),
        _role("other", PODS_RULE | {"verbs": ["delete"]}),
        _binding("all", kind="User", name="jane"),
    )
    assert authorizer.allows(Attributes(JANE, "get", resource="pods"))
    assert not authorizer.allows(Attributes(JANE, "delete", resource="pods"))


def test_two_roles_may_gather_each_other() -> None:
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]}
    labels = {"labels": {"to": "all"}}
    authorizer = _state(
        _role("a", PODS_RULE, aggregationRule=gathers, metadata=labels),
        _role("b", PODS_RULE | {"verbs": ["list"]}, aggregationRule=gathers, metadata=labels),
        _binding("a", kind="User", name="jane"),
    )
    assert authorizer.allows(Attributes(JANE, "list", resource="pods"))
    assert not authorizer.allows(Attributes(JANE, "delete", resource="pods"))


def test_a_binding_to_a_role_that_is_gone_gives_nothing() -> None:
    authorizer = _state(_binding("none", kind="User", name="jane"))
    assert not authorizer.allows(Attributes(JANE, "get", resource="pods"))


REFUSALS: dict[str, tuple[Attributes, str]] = {
    "a path": (
        Attributes(JANE, "get", path="/logs"),
        'forbidden: User "jane" cannot get path "/logs"',
    ),
    "a resource of the cluster": (
        Attributes(JANE, "list", resource="nodes"),
        (
            'nodes is forbidden: User "jane" cannot list resource "nodes" in API group '
            '"" at the cluster scope'
        ),
    ),
    "an object of a namespace": (
        Attributes(JANE, "get", "apps", "v1", "deployments", "scale", "n", "d"),
        (
            'deployments.apps "d" is forbidden: User "jane" cannot get resource '
            '"deployments/scale" in API group "apps" in the namespace "n"'
        ),
    ),
}


@pytest.mark.parametrize(("asked", "message"), REFUSALS.values(), ids=REFUSALS)
def test_refusals(asked: Attributes, message: str) -> None:
    assert str(_state().refusal(asked)) == message

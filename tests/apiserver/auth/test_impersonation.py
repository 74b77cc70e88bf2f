"""Impersonation; tests/adversary/user_attacks.py compares more of it with kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.auth.authorization import Attributes, Authorizer
from mooring.apiserver.auth.impersonation import Impersonator, split_account, wanted_user
from mooring.apiserver.auth.tokens import NODE_NAME
from mooring.apiserver.http import RequestUser
from mooring.apiserver.refusals import Refusal
from tests.apiserver.api_server import ApiServer, grant_cluster

AGENT = RequestUser("system:serviceaccount:n:agent", extra={NODE_NAME: ("node-1",)})
NODE = RequestUser("system:node:node-1")
_REVIEWS = "authentication.k8s.io"


def _rule(group: str, resource: str, verb: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": [verb]}


def _impersonator(*rules: dict[str, Any], user: str = AGENT.name) -> Impersonator:
    """Return the check on a server on which a user has rights."""
    server = ApiServer()
    grant_cluster(server, user, *rules)
    return Impersonator(Authorizer(server.cluster))


def _pods(user: RequestUser = AGENT, verb: str = "list") -> Attributes:
    return Attributes(user, verb, resource="pods")


ASSOCIATED = (
    _rule("", "pods", "impersonate-on:associated-node:list"),
    _rule(_REVIEWS, "nodes", "impersonate:associated-node"),
)


def test_agent_impersonates_its_own_node() -> None:
    found = _impersonator(*ASSOCIATED).impersonated(NODE, _pods())
    assert found == RequestUser(NODE.name, ("system:nodes", "system:authenticated"))


@pytest.mark.parametrize(
    ("wanted", "sender", "verb"),
    [
        (RequestUser("system:node:node-2"), AGENT, "list"),
        (NODE, AGENT, "delete"),
        (NODE, RequestUser(AGENT.name), "list"),
        (NODE, RequestUser("agent", extra=AGENT.extra), "list"),
        (RequestUser(NODE.name, ("system:nodes",)), AGENT, "list"),
        (RequestUser(NODE.name, uid="1"), AGENT, "list"),
    ],
    ids=["another node", "another verb", "no node", "no account", "groups", "an identity"],
)
def test_agent_impersonates_nothing_else(
    wanted: RequestUser, sender: RequestUser, verb: str
) -> None:
    impersonator = _impersonator(*ASSOCIATED, user=sender.name)
    with pytest.raises(Refusal) as refused:
        impersonator.impersonated(wanted, _pods(sender, verb))
    assert refused.value.code == 403


def test_refusal_names_the_node_mode_that_applies_first() -> None:
    with pytest.raises(Refusal, match="impersonate-on:associated-node:list"):
        _impersonator().impersonated(NODE, _pods())
    with pytest.raises(Refusal, match=r'nodes\.authentication\.k8s\.io "\*" is forbidden'):
        _impersonator(ASSOCIATED[0]).impersonated(NODE, _pods())


def test_refusal_is_that_of_the_mode_that_worked_last() -> None:
    impersonator = _impersonator(_rule("", "users", "impersonate") | {"resourceNames": ["ann"]})
    with pytest.raises(Refusal, match="cannot impersonate-on:user-info:list"):
        impersonator.impersonated(RequestUser("bob"), _pods())
    impersonator.impersonated(RequestUser("ann"), _pods())
    with pytest.raises(Refusal, match=r'users "bob" is forbidden: .* cannot impersonate resource'):
        impersonator.impersonated(RequestUser("bob"), _pods())


def test_one_right_to_all_groups_is_enough_for_many() -> None:
    rights = (
        _rule("", "pods", "impersonate-on:user-info:list"),
        _rule(_REVIEWS, "users", "impersonate:user-info"),
        _rule(_REVIEWS, "groups", "impersonate:user-info") | {"resourceNames": ["*"]},
    )
    groups = ("a", "b", "c", "d")
    impersonator = _impersonator(*rights)
    found = impersonator.impersonated(RequestUser("ann", groups), _pods())
    assert found.groups == (*groups, "system:authenticated")
    with pytest.raises(Refusal):
        impersonator.impersonated(RequestUser("ann", groups[:3]), _pods())


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        (RequestUser("ann"), ("system:authenticated",)),
        (RequestUser("ann", ("system:unauthenticated",)), ("system:unauthenticated",)),
        (RequestUser("system:anonymous"), ("system:unauthenticated",)),
    ],
    ids=["a user", "an unauthenticated user", "the anonymous user"],
)
def test_group_of_authenticated_users(user: RequestUser, groups: tuple[str, ...]) -> None:
    rights = (_rule("", "users", "impersonate"), _rule("", "groups", "impersonate"))
    assert _impersonator(*rights).impersonated(user, _pods()).groups == groups


HEADERS: dict[str, tuple[dict[str, str], RequestUser | None]] = {
    "none": ({"accept": "a"}, None),
    "the first of two users": ({"impersonate-user": "a\nb"}, RequestUser("a")),
    "all groups": (
        {"impersonate-user": "a", "impersonate-group": "b\nc"},
        RequestUser("a", ("b", "c")),
    ),
    "an empty group": (
        {"impersonate-user": "a", "impersonate-group": ""},
        RequestUser("a", ("",)),
    ),
    "an encoded key": (
        {"impersonate-user": "a", "impersonate-extra-a.io%2fb": "c"},
        RequestUser("a", extra={"a.io/b": ("c",)}),
    ),
}


@pytest.mark.parametrize(("headers", "user"), HEADERS.values(), ids=HEADERS)
def test_headers(headers: dict[str, str], user: RequestUser | None) -> None:
    assert wanted_user(headers) == user


def test_headers_without_a_user_are_printed_as_in_go() -> None:
    headers = {"impersonate-uid": "1", "impersonate-extra-b": "c\nd"}
    with pytest.raises(Refusal) as refused:
        wanted_user(headers)
    assert refused.value.code == 400
    assert str(refused.value) == (
        'requested &user.DefaultInfo{Name:"", UID:"1", Groups:[]string(nil), '
        'Extra:map[string][]string{"b":[]string{"c", "d"}}} without impersonating a user name'
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("system:serviceaccount:n:a.b", ("n", "a.b")),
        ("system:serviceaccount:n", ("", "")),
        ("system:serviceaccount:n:a:b", ("", "")),
        ("system:serviceaccount:N:a", ("", "")),
        ("system:serviceaccount:n:a/b", ("", "")),
        ("system:serviceaccount:n:", ("", "")),
        ("jane", ("", "")),
    ],
)
def test_users_of_service_accounts(name: str, found: tuple[str, str]) -> None:
    assert split_account(name) == found

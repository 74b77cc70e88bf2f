"""Attacks on who sends a request: impersonation and tokens."""

from __future__ import annotations

from typing import Any

from tests.adversary.attack_steps import (
    EVERYTHING,
    SECRETS,
    TENANT,
    TOKEN,
    VICTIM_PATH,
    Attack,
    Step,
    admin,
    rule,
)

Object = dict[str, Any]

REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW_BODY = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
TENANT_USER = f"system:serviceaccount:{TENANT}:{{user}}"


def acting(code: int, path: str = REVIEW, **headers: str) -> Step:
    """Return a request that is done as another user."""
    method, body = ("POST", REVIEW_BODY) if path == REVIEW else ("GET", None)
    named = {f"Impersonate-{key.replace('_', '-')}": value for key, value in headers.items()}
    return Step(method, path, code, body, headers=named)


def token(code: int, metadata: Object | None = None, **spec: Any) -> Step:
    """Return a request for the attacker's token."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return Step("POST", TOKEN, code, body | ({"metadata": metadata} if metadata else {}))


ATTACKS: dict[str, Attack] = {
    "a part of a user is impersonated": Attack(
        (
            acting(400, Group="system:masters"),
            acting(400, Uid="1"),
            acting(400, Extra_Scopes="a"),
            acting(400, Group="a", Uid="b", Extra_Team="c"),
        ),
        rules=(EVERYTHING,),
    ),
    "users are impersonated without rights": Attack(
        (
            acting(403, User="system:admin"),
            acting(403, User="system:admin", Group="system:masters"),
            acting(403, User="system:serviceaccount:kube-system:default"),
            acting(403, User="system:node:n"),
            acting(403, User="system:anonymous"),
            acting(403, User=TENANT_USER),
            acting(403, SECRETS, User="<b>&"),
            acting(403, "/metrics", User="jane"),
        ),
    ),
    "a right to one user reaches no group": Attack(
        (
            acting(201, User="ann"),
            acting(403, User="bob"),
            acting(403, User="ann", Group="system:masters"),
            acting(403, User="ann", Group="system:authenticated"),
            acting(403, User="ann", Uid="1"),
            acting(403, User="ann", Extra_Scopes="a"),
            acting(403, SECRETS, User="ann"),
        ),
        rules=(rule("", "users", "impersonate", "ann"),),
        inside=(rule("", "secrets", "list"),),
    ),
    "groups, uids and extra have rights of their own": Attack(
        (
            acting(201, User="ann", Group="devs", Uid="1", Extra_Scopes="a"),
            acting(403, User="ann", Uid="2"),
            acting(403, User="ann", Extra_Scopes="b"),
            acting(403, User="ann", Extra_Team="a"),
            acting(403, User="ann", Group="ops"),
            acting(403, User="ann", Group=""),
        ),
        rules=(
            rule("", "users", "impersonate", "ann"),
            rule("", "groups", "impersonate", "devs"),
            rule("authentication.k8s.io", "uids", "impersonate", "1"),
            rule("authentication.k8s.io", "userextras/scopes", "impersonate", "a"),
        ),
    ),
    "service accounts are impersonated in one namespace": Attack(
        (
            acting(201, User=TENANT_USER),
            acting(403, User="system:serviceaccount:victim:default"),
            acting(403, User="ann"),
            acting(403, User="system:serviceaccount:tenant:a:b"),
        ),
        inside=(rule("", "serviceaccounts", "impersonate"),),
    ),
    "impersonation is constrained to a request": Attack(
        (
            acting(403, REVIEW, User="ann"),
            acting(403, SECRETS, User="ann"),
            acting(403, SECRETS, User="ann", Group="system:masters"),
            acting(403, SECRETS, User="bob"),
            acting(403, f"{SECRETS}/mine", User="ann"),
            acting(403, SECRETS, User="system:node:n"),
            acting(403, SECRETS, User=TENANT_USER),
        ),
        rules=(
            rule("authentication.k8s.io", "users", "impersonate:user-info", "ann"),
            rule("authentication.k8s.io", "groups", "impersonate:user-info"),
            rule("", "secrets", "impersonate-on:user-info:list"),
        ),
        inside=(rule("", "secrets", "list"),),
    ),
    "constrained impersonation of each kind": Attack(
        (
            acting(201, User="ann"),
            acting(201, User="ann", Group="devs", Uid="1"),
            acting(403, User="ann", Extra_Scopes="a"),
            acting(201, User="ann", **{"Extra_a.io%2Fscopes": "a"}),
            acting(403, User="ann", Group="system:masters"),
            acting(403, User="ann", **{"Extra_Bad%20Key": "a"}),
            acting(403, User="ann", **{"Extra_example.com%2Fteam": "a"}),
            acting(201, User="system:node:n"),
            acting(403, User="system:node:n", Group="system:nodes"),
            acting(201, User=TENANT_USER),
            acting(403, User="system:serviceaccount:victim:default"),
        ),
        rules=(
            rule(
                "authentication.k8s.io",
                "users groups uids userextras/a.io/scopes",
                "impersonate:user-info",
            ),
            rule("authentication.k8s.io", "nodes", "impersonate:arbitrary-node", "n"),
            rule(
                "authentication.k8s.io",
                "selfsubjectreviews",
                "impersonate-on:user-info:create impersonate-on:arbitrary-node:create "
                "impersonate-on:serviceaccount:create",
            ),
        ),
        inside=(rule("authentication.k8s.io", "serviceaccounts", "impersonate:serviceaccount"),),
    ),
    "a token request names something else": Attack(
        (
            token(201),
            token(201, {"name": "{user}", "namespace": TENANT}),
            token(400, {"namespace": "victim"}),
            token(422, {"name": "default"}),
            token(409, {"uid": "x"}),
            token(422, expirationSeconds=1),
            token(404, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "none"}),
            token(400, boundObjectRef={"kind": "Job", "apiVersion": "batch/v1", "name": "none"}),
            token(400, boundObjectRef={"kind": "Pod", "apiVersion": "a.io/v1", "name": "none"}),
            token(409, boundObjectRef={"kind": "Secret", "name": "mine", "uid": "x"}),
            Step("POST", f"{VICTIM_PATH}/serviceaccounts/default/token", 403, {}),
        ),
        inside=(rule("", "serviceaccounts/token", "create"),),
    ),
    "a token ends with what it is bound to": Attack(
        (
            admin(
                "POST",
                SECRETS,
                201,
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "{user}"}},
            ),
            token(201, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "{user}"}),
            admin("DELETE", f"{SECRETS}/{{user}}", 200),
            Step("POST", REVIEW, 401, REVIEW_BODY, sender="saved", repeats=True),
        ),
        inside=(rule("", "serviceaccounts/token", "create"),),
    ),
    "a token for another audience": Attack(
        (
            token(201, audiences=["moon"]),
            Step("POST", REVIEW, 401, REVIEW_BODY, sender="saved"),
        ),
        inside=(rule("", "serviceaccounts/token", "create"),),
    ),
    "both a token and an invalid token": Attack(
        (
            Step(
                "POST",
                REVIEW,
                401,
                REVIEW_BODY,
                sender="nobody",
                headers={"Authorization": "Bearer nonsense"},
            ),
            Step(
                "POST",
                REVIEW,
                401,
                REVIEW_BODY,
                sender="nobody",
                headers={"Authorization": "bearer a.b.c"},
            ),
            Step(
                "POST",
                REVIEW,
                403,
                REVIEW_BODY,
                sender="nobody",
                headers={"Authorization": "Basic YTpi"},
            ),
            Step(
                "POST",
                REVIEW,
                403,
                REVIEW_BODY,
                sender="nobody",
                headers={"Authorization": "Bearer"},
            ),
            Step(
                "POST",
                REVIEW,
                403,
                REVIEW_BODY,
                sender="nobody",
                headers={"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"},
            ),
            Step(
                "POST",
                REVIEW,
                401,
                REVIEW_BODY,
                sender="nobody",
                headers={"Authorization": "Bearer nonsense", "Impersonate-User": "system:admin"},
            ),
        ),
    ),
}

"""Attacks on what a request's path, selectors and body name."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.adversary.attack_steps import (
    APPLY,
    CUSTOM,
    EVERYTHING,
    JSON_PATCH,
    MERGE,
    RBAC,
    SECRETS,
    STRATEGIC,
    TENANT,
    TENANT_PATH,
    TOKEN,
    VICTIM_PATH,
    Attack,
    Step,
    admin,
    rule,
)

Object = dict[str, Any]

WATCHED = f"/api/v1/watch/namespaces/{TENANT}/secrets"
ACCESS = "/apis/authorization.k8s.io/v1"
THINGS = f"{CUSTOM}/namespaces/{TENANT}/things"
MINE = "fieldSelector=metadata.name%3Dmine"


def thing(name: str) -> Object:
    """Return a custom resource."""
    return {"apiVersion": "example.com/v1", "kind": "Things", "metadata": {"name": name}}


_TOKEN: Object = {"v": "meta.k8s.io/v1"}


def continued(**token: Any) -> str:
    """Return a token that continues a list."""
    return base64.urlsafe_b64encode(json.dumps(token).encode()).decode().rstrip("=")


ATTACKS: dict[str, Attack] = {
    "a namespace is named inside another": Attack(
        (
            Step("GET", f"{TENANT_PATH}/namespaces/victim", 404),
            Step("DELETE", f"{TENANT_PATH}/namespaces/victim", 404),
            Step(
                "PATCH",
                f"{TENANT_PATH}/namespaces/victim",
                404,
                {"metadata": {"labels": {"a": "b"}}},
                MERGE,
            ),
            Step(
                "PUT",
                f"{TENANT_PATH}/namespaces/victim/finalize",
                404,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "victim"}},
            ),
            Step("GET", f"{TENANT_PATH}/namespaces", 404),
            Step("DELETE", f"{TENANT_PATH}/namespaces", 404),
            Step("GET", VICTIM_PATH, 403),
            Step("GET", TENANT_PATH, 200),
            admin("GET", VICTIM_PATH, 200),
        ),
        inside=(EVERYTHING,),
    ),
    "a resource of the cluster is named inside a namespace": Attack(
        (
            Step("GET", f"{TENANT_PATH}/nodes", 404),
            Step("GET", f"{TENANT_PATH}/nodes/n", 404),
            Step("GET", f"{TENANT_PATH}/persistentvolumes", 404),
            Step("POST", f"{RBAC}/namespaces/{TENANT}/clusterroles", 404, {}),
            Step("GET", f"{RBAC}/namespaces/{TENANT}/clusterroles/cluster-admin", 404),
        ),
        inside=(EVERYTHING,),
    ),
    "a slash is encoded": Attack(
        (
            Step("GET", f"{TENANT_PATH}%2F..%2Fvictim/secrets", 404),
            Step("GET", f"{TENANT_PATH}/..%2Fvictim/secrets", 404),
            Step("GET", "/api/v1/namespaces/victim%2Fsecrets", 403),
            Step("GET", "/api/v1/namespaces%2Fvictim%2Fsecrets%2Fmine", 403),
            Step("GET", f"{SECRETS}/mine%2Fstatus", 404),
            Step("GET", f"{SECRETS}/..%2F..%2Fvictim%2Fsecrets%2Fmine", 404),
            Step("GET", f"{SECRETS}%2Fmine", 200),
            Step("GET", "/api/v1/namespaces/tenant%00/secrets", 403, same_text=False),
        ),
        inside=(EVERYTHING,),
    ),
    "dots and empty parts of paths": Attack(
        (
            Step("GET", f"{TENANT_PATH}/../victim/secrets", 404),
            Step("GET", "/api/v1/../v1/namespaces/victim/secrets", 403),
            Step("GET", f"{SECRETS}/..", 400),
            Step("GET", f"{SECRETS}/.", 400),
            Step("GET", "/api/v1/namespaces//secrets", 403),
            Step("GET", "/api/v1//secrets", 403),
            Step("GET", "/api//v1/secrets", 403),
            Step("GET", "//api/v1/secrets", 403),
            Step("GET", "/apis//v1/secrets", 403),
            Step("GET", f"{TENANT_PATH}//secrets", 404),
            Step("GET", f"{SECRETS}//mine", 404),
        ),
        inside=(EVERYTHING,),
    ),
    "slashes at the end and capitals": Attack(
        (
            Step("GET", f"{SECRETS}/", 200),
            Step("GET", f"{SECRETS}/mine/", 200),
            Step("GET", f"{VICTIM_PATH}/secrets/", 403),
            Step("GET", f"{TENANT_PATH}/Secrets", 404),
            Step("GET", f"/API/v1/namespaces/{TENANT}/secrets", 403),
            Step("GET", f"/api/V1/namespaces/{TENANT}/secrets", 404),
            Step("GET", f"/api/v1/Namespaces/{TENANT}/secrets", 403),
            Step("GET", f"{SECRETS}/mine/status", 404),
            Step("GET", f"{SECRETS}/mine/status/x", 404),
        ),
        inside=(EVERYTHING,),
    ),
    "methods that the path does not have": Attack(
        (
            Step("POST", f"{SECRETS}/mine", 405, {}),
            Step("PUT", SECRETS, 405, {}),
            Step("PATCH", SECRETS, 405, {}, MERGE),
            Step("OPTIONS", SECRETS, 405, same_text=False),
            Step("DELETE", "/api/v1/secrets", 405),
            Step("POST", "/api/v1/secrets", 405, {}),
            Step("POST", WATCHED, 405, {}),
            Step("DELETE", f"{WATCHED}/mine", 405),
            Step("PUT", f"{WATCHED}/mine", 405, {}),
            Step("GET", f"/api/v1/proxy/namespaces/{TENANT}/secrets/mine", 404),
            admin("GET", f"{SECRETS}/mine", 200),
        ),
        rules=(EVERYTHING,),
    ),
    "a watch right writes nothing through the watch path": Attack(
        (
            Step("DELETE", f"{WATCHED}/mine", 405),
            Step("POST", WATCHED, 405, {}),
            Step("DELETE", f"{SECRETS}/mine", 403),
            admin("GET", f"{SECRETS}/mine", 200),
        ),
        inside=(rule("", "secrets", "watch"),),
    ),
    "rights on one object reach its list": Attack(
        (
            Step("GET", f"{SECRETS}/mine", 200),
            Step("GET", f"{SECRETS}/other", 403),
            Step("GET", SECRETS, 403),
            Step("GET", f"{SECRETS}?{MINE}", 200),
            Step("GET", f"{SECRETS}?fieldSelector=metadata.name%3D%3Dmine", 200),
            Step("GET", f"{SECRETS}?{MINE}%2Ctype%3DOpaque", 200),
            Step("GET", f"{SECRETS}?{MINE}&watch=true&timeoutSeconds=1", 200),
            Step("GET", f"{WATCHED}/mine?timeoutSeconds=1", 200),
            Step("GET", f"{WATCHED}/mine?fieldSelector=metadata.name%3Dother", 400),
            Step("GET", f"{WATCHED}/mine?fieldSelector=type%3DOpaque", 400),
            Step("GET", f"{WATCHED}?{MINE}", 403),
            Step("GET", f"{SECRETS}?fieldSelector=metadata.name%3Dother", 403),
            Step("GET", f"{SECRETS}?fieldSelector=metadata.name%21%3Dmine", 403),
            Step(
                "GET", f"{SECRETS}?fieldSelector=metadata.name%3Dother%2Cmetadata.name%3Dmine", 200
            ),
            Step("GET", f"{SECRETS}?fieldSelector=type%3DOpaque", 403),
            Step("GET", f"{SECRETS}?fieldSelector=metadata.name%3Dother&{MINE}", 403),
            Step("GET", f"{SECRETS}?{MINE}&labelSelector=a%3D%28%28", 403),
            Step("GET", f"{VICTIM_PATH}/secrets?{MINE}", 403),
            Step("GET", f"/api/v1/secrets?{MINE}", 403),
            Step("DELETE", f"{SECRETS}?{MINE}", 403),
            Step(
                "POST",
                SECRETS,
                403,
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}},
            ),
        ),
        inside=(rule("", "secrets", "*", "mine"),),
    ),
    "a forged token continues a list": Attack(
        tuple(
            Step("GET", f"{SECRETS}?limit=1&continue={continued(**one)}", 400)
            for one in (
                {"rv": 1, "start": "a"},
                {"v": "x", "rv": 1, "start": "a"},
                {**_TOKEN, "start": "a"},
                {**_TOKEN, "rv": 0, "start": "a"},
                {**_TOKEN, "rv": 1, "start": ""},
                {**_TOKEN, "rv": 1, "start": "../victim/"},
                {**_TOKEN, "rv": 1, "start": "/../victim/mine"},
                {**_TOKEN, "rv": 1, "start": "a//b"},
                {**_TOKEN, "rv": 1, "start": "./a"},
            )
        ),
        inside=(rule("", "secrets", "list"),),
    ),
    "an apply names another object than its path": Attack(
        (
            Step(
                "PATCH",
                f"{TENANT_PATH}/configmaps/mine?fieldManager=a",
                400,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}},
                APPLY,
            ),
            Step(
                "PATCH",
                f"{TENANT_PATH}/configmaps/mine?fieldManager=a",
                400,
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "mine", "namespace": "victim"},
                },
                APPLY,
            ),
            Step(
                "PATCH",
                f"{TENANT_PATH}/configmaps/mine?fieldManager=a",
                201,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}},
                APPLY,
            ),
            Step(
                "PATCH",
                f"{TENANT_PATH}/configmaps/mine?fieldManager=a",
                400,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}},
                APPLY,
            ),
            Step(
                "PATCH",
                f"{TENANT_PATH}/configmaps/mine",
                400,
                {"metadata": {"name": "other"}},
                MERGE,
            ),
            Step(
                "PATCH",
                f"{TENANT_PATH}/configmaps/mine",
                400,
                [{"op": "replace", "path": "/metadata/namespace", "value": "victim"}],
                JSON_PATCH,
            ),
            Step(
                "PATCH",
                f"{TENANT_PATH}/configmaps/mine",
                400,
                {"metadata": {"namespace": "victim"}},
                STRATEGIC,
            ),
            Step(
                "PUT",
                f"{TENANT_PATH}/configmaps/mine",
                400,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}},
            ),
            Step(
                "PUT",
                f"{TENANT_PATH}/configmaps/mine",
                400,
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "mine", "namespace": "victim"},
                },
            ),
            Step(
                "POST",
                f"{TENANT_PATH}/configmaps",
                403,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}},
            ),
            admin("GET", f"{TENANT_PATH}/configmaps/other", 404),
        ),
        inside=(rule("", "configmaps", "*", "mine"),),
    ),
    "subresources are rights of their own": Attack(
        (
            Step("GET", f"{TENANT_PATH}/pods/p/log", 403),
            Step("POST", f"{TENANT_PATH}/pods/p/exec", 403, {}),
            Step("GET", f"{TENANT_PATH}/pods/p/exec", 403),
            Step("POST", f"{TENANT_PATH}/pods/p/eviction", 403, {}),
            Step("POST", f"{TENANT_PATH}/pods/p/binding", 403, {}),
            Step("PATCH", f"{TENANT_PATH}/pods/p/status", 403, {}, MERGE),
            Step("PATCH", f"{TENANT_PATH}/pods/p/ephemeralcontainers", 403, {}, MERGE),
            Step("PATCH", f"{TENANT_PATH}/pods/p/resize", 403, {}, MERGE),
            Step("GET", f"/apis/apps/v1/namespaces/{TENANT}/deployments/d/scale", 404),
            Step("PATCH", f"/apis/apps/v1/namespaces/{TENANT}/deployments/d/scale", 403, {}, MERGE),
            Step("GET", f"/apis/apps/v1/namespaces/{TENANT}/deployments/d", 403),
            Step("GET", f"{TENANT_PATH}/replicationcontrollers/d/scale", 403),
            Step("POST", TOKEN, 403, {}),
            Step("POST", f"{TENANT_PATH}/bindings", 403, {}),
        ),
        inside=(rule("", "pods serviceaccounts", "*"), rule("apps", "*/scale", "get")),
    ),
    "paths without a resource": Attack(
        (
            Step("GET", "/livez", 200, sender="nobody"),
            Step("GET", "/livez/", 403, sender="nobody"),
            Step("GET", "/livez/ping", 403, sender="nobody"),
            Step("GET", "/healthz/ping", 403, sender="nobody"),
            Step("GET", "/readyz/ping", 403),
            Step("GET", "/metrics", 403),
            Step("GET", "/version", 200, sender="nobody"),
            Step("GET", "/version/", 200, sender="nobody"),
            Step("GET", "/api", 403, sender="nobody"),
            Step("GET", "/api", 200),
            Step("GET", "/", 403),
            Step("GET", "/%6Detrics", 403),
            Step("GET", "/logs/..%2Fmetrics", 403),
            Step("GET", "/openapi/v3", 403, sender="nobody"),
            Step("POST", "/api", 403, {}),
            Step("GET", "/apis/apps/v1", 200),
            Step("GET", "/mark/{user}", 404),
            Step("GET", "/mark/%7buser%7d", 403, same_text=False),
            Step("GET", "/mark/{user}/", 403),
            Step("GET", "/mark/{user}x", 403),
            Step("POST", "/mark/{user}", 403, {}),
        ),
    ),
    "custom resources": Attack(
        (
            Step("POST", THINGS, 201, thing("a")),
            Step("GET", f"{CUSTOM}/things", 403),
            Step("GET", f"{CUSTOM}/wides", 403),
            Step("GET", f"{CUSTOM}/namespaces/{TENANT}/wides", 404),
            Step("POST", f"{CUSTOM}/namespaces/{TENANT}/wides", 404, thing("a")),
            Step("GET", f"{CUSTOM}/namespaces/victim/things", 403),
            Step("GET", f"{CUSTOM}/things/a", 403),
            Step("PUT", f"{THINGS}/absent", 404, thing("absent")),
            Step("PUT", f"{THINGS}/a", 400, thing("b")),
            Step("PATCH", f"{THINGS}/a/scale", 404, {}, MERGE),
            Step("GET", f"{THINGS}/a/status", 200),
            Step("GET", f"{THINGS}/a/status/x", 200),
            Step("GET", f"{THINGS}/a/b", 404),
            Step("GET", f"{THINGS}/..", 400),
            Step("GET", f"{CUSTOM}/watch/namespaces/{TENANT}/things?timeoutSeconds=1", 200),
            Step("GET", f"{THINGS}?{MINE}", 200),
        ),
        inside=(EVERYTHING,),
    ),
    "custom resources by the whole cluster's rights": Attack(
        (
            Step("DELETE", f"{CUSTOM}/things", 404),
            Step("POST", f"{CUSTOM}/things", 404, thing("a")),
            Step("GET", f"{CUSTOM}/things/a", 404),
            Step("GET", f"{CUSTOM}/namespaces/{TENANT}/wides", 404),
            Step("GET", f"{CUSTOM}/watch/things?timeoutSeconds=1", 200),
            Step("PATCH", f"{THINGS}/new?fieldManager=a", 201, thing("new"), APPLY),
        ),
        rules=(EVERYTHING,),
    ),
    "a custom resource is created by patch": Attack(
        (
            Step("PATCH", f"{THINGS}/{{user}}?fieldManager=a", 403, thing("{user}"), APPLY),
            Step("PUT", f"{THINGS}/{{user}}", 404, thing("{user}")),
            Step("PATCH", f"{THINGS}/{{user}}/status?fieldManager=a", 404, thing("{user}"), APPLY),
            admin("GET", f"{THINGS}/{{user}}", 404),
        ),
        inside=(rule("example.com", "things things/status", "get patch update"),),
    ),
    "heads and other methods": Attack(
        (
            Step("HEAD", SECRETS, 405),
            Step("HEAD", f"{SECRETS}/mine", 405),
            Step("HEAD", f"{VICTIM_PATH}/secrets", 403),
            Step("TRACE", SECRETS, 405),
            Step("BIND", f"{TENANT_PATH}/pods/p", 405),
            Step("HEAD", "/metrics", 403),
            Step("HEAD", "/livez", 403),
        ),
        inside=(EVERYTHING,),
    ),
    "more after a subresource": Attack(
        (
            Step("GET", f"{TENANT_PATH}/status/x", 404),
            Step("PUT", f"{TENANT_PATH}/finalize/x", 404, {}),
            Step("GET", f"{TENANT_PATH}/finalize", 405),
            Step("GET", f"{TENANT_PATH}/pods/p/status/x", 404),
            Step("GET", f"{TENANT_PATH}/pods/p/log/x", 404),
            Step("GET", f"{TENANT_PATH}/pods/p/nosuch", 404),
            Step("POST", f"{TENANT_PATH}/serviceaccounts/default/token/x", 404, {}),
        ),
        inside=(EVERYTHING,),
    ),
    "a body names another pod or namespace": Attack(
        (
            Step(
                "POST",
                f"{TENANT_PATH}/bindings",
                400,
                {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": "p", "namespace": "victim"},
                    "target": {"kind": "Node", "name": "n"},
                },
            ),
            Step(
                "POST",
                f"{TENANT_PATH}/pods/p/binding",
                400,
                {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": "q"},
                    "target": {"kind": "Node", "name": "n"},
                },
            ),
            Step(
                "POST",
                f"{TENANT_PATH}/pods/p/eviction",
                400,
                {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "q"}},
            ),
            Step(
                "POST",
                f"{TENANT_PATH}/events",
                422,
                {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"name": "e"},
                    "involvedObject": {"namespace": "victim"},
                },
            ),
            Step(
                "POST",
                f"{RBAC}/namespaces/{TENANT}/roles",
                400,
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "Role",
                    "metadata": {"name": "r", "namespace": "victim"},
                    "rules": [],
                },
            ),
            Step(
                "POST",
                f"{RBAC}/namespaces/{TENANT}/roles",
                400,
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "ClusterRole",
                    "metadata": {"name": "r"},
                    "rules": [],
                },
            ),
            Step(
                "POST",
                f"{TENANT_PATH}/configmaps",
                400,
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "r"}},
            ),
        ),
        inside=(EVERYTHING,),
    ),
    "a namespace is made by a right to another verb": Attack(
        (
            Step(
                "PATCH",
                "/api/v1/namespaces/{user}?fieldManager=a",
                403,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{user}"}},
                APPLY,
            ),
            Step(
                "PATCH",
                "/api/v1/namespaces/{user}?fieldManager=a",
                400,
                {"apiVersion": "v1", "kind": "Namespace"},
                APPLY,
            ),
            Step(
                "PUT",
                "/api/v1/namespaces/{user}",
                404,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{user}"}},
            ),
            Step(
                "POST",
                "/api/v1/namespaces",
                403,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{user}"}},
            ),
            Step("DELETE", "/api/v1/namespaces", 403),
            Step(
                "PUT",
                f"{VICTIM_PATH}/finalize",
                403,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "victim"}},
            ),
        ),
        rules=(rule("", "namespaces", "get patch update"),),
    ),
    "reviews of other users": Attack(
        (
            Step("POST", f"{ACCESS}/subjectaccessreviews", 403, {}),
            Step("POST", f"{ACCESS}/namespaces/{TENANT}/localsubjectaccessreviews", 403, {}),
            Step("POST", "/apis/authentication.k8s.io/v1/tokenreviews", 403, {}),
            Step(
                "POST",
                f"{ACCESS}/selfsubjectaccessreviews",
                201,
                {
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectAccessReview",
                    "spec": {"resourceAttributes": {"verb": "get", "resource": "secrets"}},
                },
            ),
            Step("GET", f"{ACCESS}/selfsubjectaccessreviews", 403),
        ),
    ),
}

"""Attacks on what a request's path, selectors and body name."""

from __future__ import annotations

from typing import Any

from tests.adversary.attack_steps import (
    APPLY,
    JSON_PATCH,
    MERGE,
    RBAC,
    STRATEGIC,
    TENANT,
    TENANT_PATH,
    VICTIM_PATH,
    Attack,
    Step,
    admin,
    rule,
)

Object = dict[str, Any]

EVERYTHING = rule("*", "*", "*")
SECRETS = f"{TENANT_PATH}/secrets"
WATCHED = f"/api/v1/watch/namespaces/{TENANT}/secrets"
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW_BODY = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
ACCOUNTS = f"{TENANT_PATH}/serviceaccounts"
TOKEN = f"{ACCOUNTS}/{{user}}/token"
MINE = "fieldSelector=metadata.name%3Dmine"
TENANT_USER = f"system:serviceaccount:{TENANT}:{{user}}"


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
            Step("GET", f"{SECRETS}/..", 404),
            Step("GET", f"{SECRETS}/.", 404),
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
                "GET", f"{SECRETS}?fieldSelector=metadata.name%3Dother%2Cmetadata.name%3Dmine", 403
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
}

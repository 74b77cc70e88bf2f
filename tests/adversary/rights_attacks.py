"""Attacks on the rights of the API server: roles, bindings and writes that create."""

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
    Attack,
    Step,
    admin,
    binding,
    cluster_role,
    role,
    rule,
)

Object = dict[str, Any]

ROLES, BINDINGS = f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
INSIDE = f"{RBAC}/namespaces/{TENANT}"
_RBAC = "rbac.authorization.k8s.io"
_WRITES = "get create update patch"
MANAGES = rule(_RBAC, "clusterroles clusterrolebindings roles rolebindings", _WRITES)
HOLDS = rule("", "configmaps", "get list")
MORE = rule("", "secrets", "get")
EVERYTHING = {
    "aggregationRule": {
        "clusterRoleSelectors": [
            {"matchExpressions": [{"key": "kubernetes.io/bootstrapping", "operator": "Exists"}]}
        ]
    }
}
ADMIN_LABEL = {"rbac.authorization.k8s.io/aggregate-to-admin": "true"}


def patches(path: str, code: int, change: Object, *operations: Object) -> tuple[Step, ...]:
    """Return a patch of each type; `operations` are those of the JSON patch."""
    kind = "ClusterRole" if "roles/" in path else "ClusterRoleBinding"
    applied = {"apiVersion": f"{_RBAC}/v1", "kind": kind, **change}
    return (
        Step("PATCH", path, code, list(operations), JSON_PATCH),
        Step("PATCH", path, code, change, MERGE),
        Step("PATCH", path, code, change, STRATEGIC),
        Step("PATCH", f"{path}?fieldManager=a&force=true", code, applied, APPLY),
        Step("PATCH", f"{path}?dryRun=All", code, change, MERGE),
    )


def labels(path: str, code: int) -> tuple[Step, ...]:
    """Return patches of each type that add a label."""
    return patches(
        path,
        code,
        {"metadata": {"labels": ADMIN_LABEL}},
        {"op": "add", "path": "/metadata/labels", "value": ADMIN_LABEL},
    )


def _with_version(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "labels": {"a": "b"}}}


OWN = f"{ROLES}/own-{{user}}"
OWN_ROLE = cluster_role("own-{user}", HOLDS)
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{TENANT}/leases"
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "{user}"}}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "{user}"},
    "spec": {"ports": [{"port": 80}]},
}
LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "{user}"},
    "spec": {"limits": []},
}
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses/{user}"
RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "{user}"},
    "handler": "a",
}
MAPS = f"{TENANT_PATH}/configmaps"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{user}"}}


def odd(kind: str, name: str, *, group: str = _RBAC) -> Object:
    """Return a ClusterRoleBinding with an unusual reference."""
    made = binding("ClusterRoleBinding", "odd-{user}", name)
    return made | {"roleRef": {"apiGroup": group, "kind": kind, "name": name}}


ATTACKS: dict[str, Attack] = {
    "a new role that aggregates": Attack(
        (
            Step("POST", ROLES, 403, cluster_role("own-{user}", **EVERYTHING)),
            Step("POST", f"{ROLES}?dryRun=All", 403, cluster_role("own-{user}", **EVERYTHING)),
            Step("PUT", OWN, 403, cluster_role("own-{user}", **EVERYTHING)),
            Step(
                "PATCH",
                f"{OWN}?fieldManager=a",
                403,
                cluster_role("own-{user}", **EVERYTHING),
                APPLY,
            ),
            admin("GET", OWN, 404),
        ),
        rules=(MANAGES, HOLDS),
    ),
    "an own role that is made to aggregate": Attack(
        (
            Step("POST", ROLES, 201, OWN_ROLE),
            Step("PUT", OWN, 403, {**OWN_ROLE, **EVERYTHING}),
            *patches(
                OWN,
                403,
                EVERYTHING,
                {"op": "add", "path": "/aggregationRule", "value": EVERYTHING["aggregationRule"]},
            ),
            Step("PUT", OWN, 200, _with_version(OWN_ROLE)),
        ),
        rules=(MANAGES, HOLDS),
    ),
    "a role that aggregates is changed": Attack(
        (
            *labels(f"{ROLES}/view", 403),
            *patches(
                f"{ROLES}/admin",
                403,
                {"aggregationRule": None},
                {"op": "remove", "path": "/aggregationRule"},
            )[:3],
            *patches(
                f"{ROLES}/edit",
                403,
                {"rules": [HOLDS]},
                {"op": "add", "path": "/rules", "value": [HOLDS]},
            ),
        ),
        rules=(MANAGES, HOLDS),
    ),
    "an aggregation without selectors": Attack(
        (
            Step(
                "POST",
                ROLES,
                422,
                cluster_role("own-{user}", aggregationRule={"clusterRoleSelectors": []}),
            ),
        ),
        rules=(MANAGES,),
    ),
    "a full administrator aggregates": Attack(
        (
            Step("POST", ROLES, 201, cluster_role("own-{user}", **EVERYTHING)),
            Step("PATCH", OWN, 200, {"metadata": {"labels": {"a": "b"}}}, MERGE),
        ),
        rules=(rule("*", "*", "*"), {"nonResourceURLs": ["*"], "verbs": ["*"]}),
    ),
    "all resources are not enough to aggregate": Attack(
        (Step("POST", ROLES, 403, cluster_role("own-{user}", **EVERYTHING)),),
        rules=(rule("*", "*", "get list watch create update patch delete"),),
    ),
    "a bootstrap role gets the label of an aggregate": Attack(
        (
            *labels(f"{ROLES}/cluster-admin", 403),
            *labels(f"{ROLES}/system:kube-controller-manager", 403),
            *labels(f"{BINDINGS}/cluster-admin", 403),
        ),
        rules=(MANAGES, HOLDS),
    ),
    "the fields of garbage collection may change": Attack(
        (
            Step(
                "PATCH",
                f"{ROLES}/system:node-proxier",
                200,
                {"metadata": {"finalizers": ["example.com/a"]}},
                MERGE,
            ),
            Step(
                "PATCH",
                f"{ROLES}/system:node-proxier",
                200,
                {"metadata": {"finalizers": None}},
                MERGE,
            ),
            Step(
                "PATCH",
                f"{ROLES}/system:node-proxier",
                403,
                {"metadata": {"finalizers": ["example.com/a"], "labels": {"a": "b"}}},
                MERGE,
            ),
        ),
        rules=(MANAGES, HOLDS),
    ),
    "a labelled role grants more to an aggregate": Attack(
        (
            Step(
                "POST",
                ROLES,
                403,
                cluster_role("own-{user}", MORE, metadata={"labels": ADMIN_LABEL}),
            ),
            Step(
                "POST",
                ROLES,
                201,
                cluster_role("own-{user}", HOLDS, metadata={"labels": ADMIN_LABEL}),
            ),
            Step("PATCH", OWN, 403, {"rules": [HOLDS, MORE]}, MERGE),
        ),
        rules=(MANAGES, HOLDS),
    ),
    "escalate for one name does not create": Attack(
        (
            Step("POST", ROLES, 403, cluster_role("own-{user}", MORE)),
            Step("PUT", OWN, 201, cluster_role("own-{user}", MORE)),
            Step("PATCH", OWN, 200, EVERYTHING, MERGE),
            Step("PUT", f"{ROLES}/u-{{user}}", 403, cluster_role("u-{user}", MORE)),
        ),
        rules=(MANAGES, HOLDS, rule(_RBAC, "clusterroles", "escalate", "own-{user}")),
    ),
    "escalate on cluster roles does not reach roles": Attack(
        (
            Step("POST", f"{INSIDE}/roles", 403, role("own-{user}", MORE)),
            Step("POST", ROLES, 201, cluster_role("own-{user}", MORE)),
        ),
        rules=(MANAGES, rule(_RBAC, "clusterroles", "escalate")),
    ),
    "escalate in a namespace does not reach the cluster": Attack(
        (
            Step("POST", ROLES, 403, cluster_role("own-{user}", MORE)),
            Step("POST", f"{INSIDE}/roles", 201, role("own-{user}", MORE)),
            Step("POST", f"{RBAC}/namespaces/victim/roles", 403, role("own-{user}", MORE)),
        ),
        rules=(MANAGES,),
        inside=(rule(_RBAC, "roles clusterroles", "escalate"),),
    ),
    "bind for one role": Attack(
        (
            Step("POST", BINDINGS, 403, binding("ClusterRoleBinding", "a-{user}", "cluster-admin")),
            Step("POST", BINDINGS, 201, binding("ClusterRoleBinding", "a-{user}", "view")),
            Step(
                "POST",
                f"{INSIDE}/rolebindings",
                403,
                binding("RoleBinding", "a-{user}", "cluster-admin"),
            ),
            Step("POST", f"{INSIDE}/rolebindings", 201, binding("RoleBinding", "a-{user}", "view")),
            Step(
                "PUT",
                f"{INSIDE}/rolebindings/b-{{user}}",
                403,
                binding("RoleBinding", "b-{user}", "cluster-admin"),
            ),
        ),
        rules=(MANAGES, rule(_RBAC, "clusterroles", "bind", "view")),
    ),
    "bind in a namespace does not reach the cluster": Attack(
        (
            Step("POST", BINDINGS, 403, binding("ClusterRoleBinding", "a-{user}", "cluster-admin")),
            Step(
                "POST",
                f"{INSIDE}/rolebindings",
                201,
                binding("RoleBinding", "a-{user}", "cluster-admin"),
            ),
        ),
        rules=(MANAGES,),
        inside=(rule(_RBAC, "clusterroles", "bind"),),
    ),
    "subjects are added to a binding": Attack(
        (
            *patches(
                f"{BINDINGS}/cluster-admin",
                403,
                {"subjects": binding("", "", "")["subjects"]},
                {"op": "add", "path": "/subjects/-", "value": binding("", "", "")["subjects"][0]},
            ),
            Step(
                "PUT",
                f"{BINDINGS}/cluster-admin",
                403,
                binding("ClusterRoleBinding", "cluster-admin", "cluster-admin"),
            ),
            Step(
                "PUT",
                f"{BINDINGS}/new-{{user}}",
                403,
                binding("ClusterRoleBinding", "new-{user}", "cluster-admin"),
            ),
            Step(
                "PATCH",
                f"{BINDINGS}/new-{{user}}?fieldManager=a",
                403,
                binding("ClusterRoleBinding", "new-{user}", "cluster-admin"),
                APPLY,
            ),
        ),
        rules=(MANAGES, HOLDS),
    ),
    "an own binding gets another role": Attack(
        (
            Step("POST", ROLES, 201, OWN_ROLE),
            Step("POST", BINDINGS, 201, binding("ClusterRoleBinding", "own-{user}", "own-{user}")),
            Step(
                "PATCH",
                f"{BINDINGS}/own-{{user}}",
                403,
                {"roleRef": {"name": "cluster-admin"}},
                MERGE,
            ),
            Step("POST", BINDINGS, 404, binding("ClusterRoleBinding", "x-{user}", "none-{user}")),
            Step(
                "PATCH",
                f"{BINDINGS}/own-{{user}}",
                200,
                {"metadata": {"labels": {"a": "b"}}},
                MERGE,
            ),
        ),
        rules=(MANAGES, HOLDS),
    ),
    "a role of a namespace grants more than it has": Attack(
        (
            Step("POST", f"{INSIDE}/roles", 403, role("own-{user}", MORE)),
            Step("POST", f"{INSIDE}/roles", 201, role("own-{user}", HOLDS)),
            Step("PATCH", f"{INSIDE}/roles/own-{{user}}", 403, {"rules": [MORE]}, MERGE),
            Step(
                "PATCH",
                f"{INSIDE}/roles/own-{{user}}",
                403,
                {"rules": [rule("*", "*", "*")]},
                MERGE,
            ),
        ),
        inside=(MANAGES, HOLDS),
    ),
    "patch does not create": Attack(
        (
            Step("PATCH", f"{MAPS}/{{user}}?fieldManager=a", 403, MAP, APPLY),
            Step("PATCH", f"{MAPS}/{{user}}?fieldManager=a&dryRun=All", 403, MAP, APPLY),
            Step("PATCH", f"{MAPS}/{{user}}", 404, {"data": {"a": "b"}}, MERGE),
            Step("PUT", f"{MAPS}/{{user}}", 404, MAP),
            Step("PATCH", f"{LEASES}/{{user}}?fieldManager=a", 403, LEASE, APPLY),
            admin("GET", f"{MAPS}/{{user}}", 404),
        ),
        inside=(
            rule("", "configmaps", "get patch update"),
            rule("coordination.k8s.io", "leases", "patch"),
        ),
    ),
    "patch and create create": Attack(
        (
            Step("PATCH", f"{MAPS}/{{user}}?fieldManager=a", 201, MAP, APPLY),
            Step(
                "PATCH",
                f"{MAPS}/other?fieldManager=a",
                403,
                {**MAP, "metadata": {"name": "other"}},
                APPLY,
            ),
        ),
        inside=(rule("", "configmaps", "patch"), rule("", "configmaps", "create", "{user}")),
    ),
    "update creates nothing": Attack(
        (
            Step("PUT", f"{LEASES}/{{user}}", 403, LEASE),
            Step("PUT", f"{LEASES}/{{user}}?dryRun=All", 403, LEASE),
            Step("PUT", f"{TENANT_PATH}/services/{{user}}", 403, SERVICE),
            Step(
                "PUT",
                f"{TENANT_PATH}/endpoints/{{user}}",
                403,
                {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "{user}"}},
            ),
            Step("PUT", f"{TENANT_PATH}/limitranges/{{user}}", 403, LIMITS),
            Step(
                "PUT",
                f"{TENANT_PATH}/events/{{user}}",
                403,
                {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"name": "{user}", "namespace": TENANT},
                    "involvedObject": {"namespace": TENANT},
                },
            ),
            Step("PUT", CLASSES, 403, RUNTIME_CLASS),
            Step("PUT", f"{ROLES}/own-{{user}}", 403, OWN_ROLE),
            Step(
                "PUT",
                f"{BINDINGS}/own-{{user}}",
                403,
                binding("ClusterRoleBinding", "own-{user}", "{user}"),
            ),
            Step("PUT", f"{INSIDE}/roles/own-{{user}}", 403, role("own-{user}", HOLDS)),
            Step(
                "PUT",
                f"{INSIDE}/rolebindings/own-{{user}}",
                403,
                binding("RoleBinding", "own-{user}", "{user}", target_kind="Role"),
            ),
            admin("GET", f"{LEASES}/{{user}}", 404),
            admin("GET", f"{TENANT_PATH}/services/{{user}}", 404),
        ),
        rules=(rule("*", "*", "update"), HOLDS),
        inside=(HOLDS,),
    ),
    "update and create create": Attack(
        (
            Step("PUT", f"{LEASES}/{{user}}", 201, LEASE),
            Step("PUT", f"{TENANT_PATH}/services/{{user}}", 201, SERVICE),
            Step("PUT", f"{TENANT_PATH}/limitranges/{{user}}", 201, LIMITS),
            Step("PUT", CLASSES, 201, RUNTIME_CLASS),
            Step("PUT", f"{ROLES}/own-{{user}}", 201, OWN_ROLE),
            Step("PUT", f"{INSIDE}/roles/own-{{user}}", 201, role("own-{user}", HOLDS)),
            Step(
                "PUT",
                f"{TENANT_PATH}/secrets/{{user}}",
                404,
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "{user}"}},
            ),
        ),
        rules=(rule("*", "*", "update create"), HOLDS),
    ),
    "bindings of odd references": Attack(
        (
            Step("POST", BINDINGS, 422, odd("ClusterRole", "system:discovery", group="a.io")),
            Step("POST", BINDINGS, 403, odd("ClusterRole", "cluster-admin", group="a.io")),
            Step("POST", BINDINGS, 400, odd("Role", "view")),
            Step(
                "POST",
                f"{INSIDE}/rolebindings",
                404,
                {**odd("Role", "none-{user}"), "kind": "RoleBinding"},
            ),
        ),
        rules=(MANAGES, HOLDS),
    ),
}

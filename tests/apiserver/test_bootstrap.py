from __future__ import annotations

from mooring.apiserver import bootstrap
from tests.apiserver.api_server import GROUP_GATES, ApiServer


def test_what_every_cluster_starts_with() -> None:
    server = ApiServer()
    lookup = server.cluster.lookup
    names = [one.key for one in server.store.items("/namespaces")]
    assert sorted(names) == ["default", "kube-node-lease", "kube-public", "kube-system"]
    service = lookup("/services", "default", "kubernetes")
    assert service is not None and service["spec"]["clusterIP"] == "10.0.0.1"
    critical = lookup("scheduling.k8s.io/priorityclasses", "", "system-node-critical")
    assert critical is not None and critical["value"] == 2_000_001_000
    role = lookup("rbac.authorization.k8s.io/clusterroles", "", "cluster-admin")
    assert role is not None
    assert role["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
    assert role["rules"][0]["verbs"] == ["*"]
    assert role["metadata"]["uid"] and role["metadata"]["creationTimestamp"]


def test_feature_gates_add_rules_to_roles() -> None:
    def rules(server: ApiServer, role: str) -> list[tuple[str, str]]:
        found = server.cluster.lookup("rbac.authorization.k8s.io/clusterroles", "", role)
        assert found is not None
        return [
            (resource, ",".join(rule["verbs"]))
            for rule in found["rules"]
            if "scheduling.k8s.io" in rule["apiGroups"]
            for resource in rule["resources"]
        ]

    server = ApiServer(features=GROUP_GATES)
    read, write = "get,list,watch", "create,delete,deletecollection,patch,update"
    assert rules(server, "system:kube-scheduler") == [
        ("podgroups", read),
        ("podgroups/status", "patch,update"),
        ("compositepodgroups", read),
        ("compositepodgroups/status", "patch,update"),
    ]
    assert rules(server, "system:aggregate-to-edit") == [
        ("podgroups", write),
        ("workloads", write),
        ("compositepodgroups", write),
    ]
    assert ("podgroups/status", read) in rules(server, "system:aggregate-to-view")
    fewer = ApiServer(features=frozenset({"GenericWorkload"}))
    assert [name for name, _ in rules(fewer, "system:kube-scheduler")] == [
        "podgroups",
        "podgroups/status",
    ]
    assert rules(ApiServer(), "system:kube-scheduler") == []


def test_roles_of_an_older_folder_get_the_rules_they_lack() -> None:
    server = ApiServer()
    roles = "rbac.authorization.k8s.io/clusterroles"
    kept = server.cluster.lookup(roles, "", "system:aggregate-to-view")
    assert kept is not None
    kept["metadata"]["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    fewer = [*kept["rules"]]
    server.cluster.features = GROUP_GATES
    bootstrap.fill(server.cluster)
    role = server.cluster.lookup(roles, "", "system:kube-scheduler")
    fresh = ApiServer(features=GROUP_GATES).cluster.lookup(roles, "", "system:kube-scheduler")
    assert role is not None and fresh is not None
    assert role["rules"] == fresh["rules"]
    kept = server.cluster.lookup(roles, "", "system:aggregate-to-view")
    assert kept is not None and kept["rules"] == fewer


def test_the_authority_is_published() -> None:
    server = ApiServer()
    server.store.delete("/configmaps", "kube-system/extension-apiserver-authentication")
    bootstrap.fill(server.cluster, b"PEM")
    found = server.cluster.lookup(
        "/configmaps", "kube-system", "extension-apiserver-authentication"
    )
    assert found is not None and found["data"]["client-ca-file"] == "PEM"


def test_what_exists_stays() -> None:
    server = ApiServer()
    before = server.store.version
    bootstrap.fill(server.cluster)
    bootstrap.ensure(server.cluster, "", "v1", "namespaces", {"metadata": {"name": "default"}})
    assert server.store.version == before
    bootstrap.ensure(server.cluster, "", "v1", "namespaces", {"metadata": {"name": "new"}})
    assert server.store.version > before

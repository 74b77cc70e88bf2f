from __future__ import annotations

from mooring.apiserver.resource_table import Catalogue, Served, custom_resource, version_rank
from mooring.apiserver.schema.custom_schema import custom_kinds
from mooring.controlplane.type_table import types


def _served(group: str, version: str, name: str = "things") -> Served:
    names = {"plural": name, "kind": "Thing"}
    versions = [{"name": version, "served": True, "storage": True}]
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": versions}
    (custom,) = custom_kinds({"spec": spec})
    return custom_resource(custom)


def test_built_in_resources() -> None:
    catalogue = Catalogue(types())
    pods = catalogue.get("", "v1", "pods")
    assert pods is not None
    assert (pods.kind, pods.namespaced, pods.group_version) == ("Pod", True, "v1")
    assert {"status", "binding", "log"} <= set(pods.subresources)
    deployments = catalogue.get("apps", "v1", "deployments")
    assert deployments is not None and deployments.group_version == "apps/v1"
    assert catalogue.get("apps", "v1", "none") is None
    assert catalogue.get("", "v1", "pods/status") is None


def test_versions_that_are_off_unless_they_are_wanted() -> None:
    version = "resource.k8s.io/v1beta1"
    assert not Catalogue(types()).has("resource.k8s.io", "v1beta1")
    assert Catalogue(types(), [version]).has("resource.k8s.io", "v1beta1")


def test_resources_that_need_a_feature_gate() -> None:
    enabled = ["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"]
    names: dict[str, list[str]] = {}
    for gates in ((), ("GenericWorkload",), ("GenericWorkload", "CompositePodGroup")):
        catalogue = Catalogue(types(), enabled, gates)
        names = {
            version: sorted(one.name for one in catalogue.of("scheduling.k8s.io", version))
            for version in ("v1beta1", "v1alpha3")
        }
        groups = ["podgroups", "workloads"] if gates else []
        composites = ["compositepodgroups"] if "CompositePodGroup" in gates else []
        assert names == {"v1beta1": groups, "v1alpha3": composites + groups}
    assert not Catalogue(types(), (), ("GenericWorkload",)).has("scheduling.k8s.io", "v1beta1")


def test_events_of_both_groups_are_stored_together() -> None:
    catalogue = Catalogue(types())
    both = [catalogue.get(group, "v1", "events") for group in ("", "events.k8s.io")]
    assert [one.store for one in both if one is not None] == ["/events", "/events"]
    assert _served("a.io", "v1").store == "a.io/things"


def test_resources_come_and_go() -> None:
    catalogue = Catalogue(types())
    before = catalogue.revision
    catalogue.add(_served("a.io", "v1beta1"))
    catalogue.add(_served("a.io", "v1"))
    catalogue.add(_served("a.io", "v1", "others"))
    assert catalogue.groups["a.io"] == ["v1", "v1beta1"]
    assert catalogue.revision == before + 3
    found = catalogue.preferred("a.io", "things")
    assert found is not None and found.version == "v1"
    assert [one.name for one in catalogue.of("a.io", "v1")] == ["things", "others"]
    catalogue.remove("a.io", "things")
    assert catalogue.groups["a.io"] == ["v1"]
    assert catalogue.preferred("a.io", "things") is None
    catalogue.remove("a.io", "others")
    assert "a.io" not in catalogue.groups
    assert catalogue.revision == before + 5


def test_built_in_resources_stay() -> None:
    catalogue = Catalogue(types())
    group = "rbac.authorization.k8s.io"
    catalogue.add(_served(group, "v9", "things"))
    catalogue.remove(group, "clusterroles")
    assert catalogue.get(group, "v1", "clusterroles") is not None
    assert catalogue.is_built_in(group, "clusterroles")
    assert not catalogue.is_built_in(group, "things")
    reserved = [("v1", "clusterroles"), ("v9", "clusterroles"), ("v1", "things")]
    assert all(catalogue.is_reserved(group, *one) for one in reserved)
    assert not catalogue.is_reserved(group, "v9", "things")


def test_kinds() -> None:
    catalogue = Catalogue(types())
    found = catalogue.find_kind("apps/v1", "Deployment")
    assert found is not None and found.name == "deployments"
    assert catalogue.find_kind("v1", "Deployment") is None
    assert found in list(catalogue)


def test_a_custom_resource() -> None:
    names = {"plural": "things", "kind": "Thing", "shortNames": ["th"], "categories": ["all"]}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    spec = {"group": "a.io", "scope": "Cluster", "names": names, "versions": [version]}
    (custom,) = custom_kinds({"spec": spec})
    served = custom_resource(custom)
    assert (served.name, served.kind, served.namespaced) == ("things", "Thing", False)
    assert (served.short_names, served.categories) == (("th",), ("all",))
    assert list(served.subresources) == ["status"]
    assert served.custom is custom


def test_the_order_of_versions() -> None:
    wanted = ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "alpha", "v1x"]
    assert sorted(reversed(wanted), key=version_rank) == wanted

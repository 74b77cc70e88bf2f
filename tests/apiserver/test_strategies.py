from __future__ import annotations

import copy
from typing import Any

import pytest

from mooring.apiserver import strategies
from mooring.apiserver.refusals import Refusal
from tests.apiserver.api_server import ApiServer

Object = dict[str, Any]


def created(path: str, obj: Object) -> Object:
    """Return a new object with the fields that the server owns."""
    server = ApiServer()
    new = {"metadata": {"name": "x", "uid": "u", "namespace": "default"}, **copy.deepcopy(obj)}
    strategies.prepare_create(server.cluster, server.served(path), new)
    return new


def updated(path: str, old: Object, new: Object, subresource: str = "") -> Object:
    """Return an updated object with the fields that the server owns."""
    server = ApiServer()
    metadata = {"name": "x", "uid": "u", "namespace": "default", "generation": 3}
    sides = []
    for side in (old, new):
        side = copy.deepcopy(side)
        side["metadata"] = metadata | side.get("metadata", {})
        sides.append(side)
    strategies.prepare_update(server.cluster, server.served(path), sides[1], sides[0], subresource)
    return sides[1]


NEW: dict[str, tuple[str, Object, Object]] = {
    "a pod's status is the server's": (
        "/v1/pods",
        {"spec": {}, "status": {"phase": "Running"}},
        {"spec": {}, "status": {"phase": "Pending", "qosClass": "BestEffort"}},
    ),
    "a node keeps its status": (
        "/v1/nodes",
        {"status": {"phase": "x"}},
        {"status": {"phase": "x"}},
    ),
    "a namespace is active": (
        "/v1/namespaces",
        {},
        {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
    ),
    "a namespace keeps its finalizers": (
        "/v1/namespaces",
        {"spec": {"finalizers": ["a/b"]}},
        {"spec": {"finalizers": ["a/b", "kubernetes"]}, "status": {"phase": "Active"}},
    ),
    "a volume waits from now on": (
        "/v1/persistentvolumes",
        {"spec": {}},
        {
            "spec": {},
            "status": {"phase": "Pending", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"},
        },
    ),
    "an account names its secrets": (
        "/v1/serviceaccounts",
        {"secrets": [{"name": "s", "namespace": "n", "kind": "Secret"}]},
        {"secrets": [{"name": "s"}]},
    ),
    "the taint of a rule begins now": (
        "resource.k8s.io/v1/devicetaintrules",
        {"spec": {"taint": {"key": "k"}}},
        {"spec": {"taint": {"key": "k", "timeAdded": "2026-01-01T00:00:00Z"}}, "status": {}},
    ),
    "a device's taint begins now": (
        "resource.k8s.io/v1/resourceslices",
        {"spec": {"devices": [{"taints": [{"key": "k"}, {"key": "l", "timeAdded": "t"}]}]}},
        {
            "spec": {
                "devices": [
                    {
                        "taints": [
                            {"key": "k", "timeAdded": "2026-01-01T00:00:00Z"},
                            {"key": "l", "timeAdded": "t"},
                        ]
                    }
                ]
            }
        },
    ),
}


@pytest.mark.parametrize(("path", "given", "expected"), NEW.values(), ids=NEW)
def test_new_objects(path: str, given: Object, expected: Object) -> None:
    found = created(path, given)
    del found["metadata"]
    assert found == expected


@pytest.mark.parametrize(
    ("path", "generation"),
    [("/v1/pods", 1), ("apps/v1/deployments", 1), ("/v1/configmaps", None), ("/v1/nodes", None)],
)
def test_some_kinds_count_their_changes(path: str, generation: int | None) -> None:
    assert created(path, {"spec": {}})["metadata"].get("generation") == generation


_CLAIM = {"kind": "PersistentVolumeClaim", "name": "c"}
SOURCES: dict[str, tuple[Object, Object]] = {
    "the older field is copied": (
        {"dataSource": _CLAIM},
        {"dataSource": _CLAIM, "dataSourceRef": {"apiGroup": None, **_CLAIM}},
    ),
    "the newer field is copied": (
        {"dataSourceRef": _CLAIM},
        {"dataSource": {"apiGroup": None, **_CLAIM}, "dataSourceRef": _CLAIM},
    ),
    "an unknown kind is dropped": ({"dataSource": {"kind": "Pod", "name": "p"}}, {}),
    "a source of another namespace is dropped": (
        {"dataSourceRef": _CLAIM | {"namespace": "n"}},
        {},
    ),
    "both stay": (
        {"dataSource": _CLAIM, "dataSourceRef": _CLAIM},
        {"dataSource": _CLAIM, "dataSourceRef": _CLAIM},
    ),
}


@pytest.mark.parametrize(("given", "expected"), SOURCES.values(), ids=SOURCES)
def test_sources_of_claims(given: Object, expected: Object) -> None:
    found = created("/v1/persistentvolumeclaims", {"spec": given})
    assert found["spec"] == expected
    assert found["status"] == {"phase": "Pending"}
    assert updated("/v1/persistentvolumeclaims", {"spec": {}}, {"spec": given})["spec"] == expected


def test_a_job_selects_its_own_pods() -> None:
    found = created("batch/v1/jobs", {"spec": {}})
    labels = found["spec"]["template"]["metadata"]["labels"]
    assert labels == {
        "job-name": "x",
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u",
    }
    assert found["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert found["metadata"]["labels"] == labels


def test_a_job_with_labels_or_a_selector_of_its_own() -> None:
    job = created("batch/v1/jobs", {"metadata": {"uid": "u", "labels": {"a": "b"}}, "spec": {}})
    assert job["metadata"]["labels"] == {"a": "b"}
    spec = {"manualSelector": True, "template": {}}
    assert created("batch/v1/jobs", {"spec": spec})["spec"] == spec


def test_a_dry_run_of_a_definition_accepts_no_names() -> None:
    server = ApiServer()
    path = "apiextensions.k8s.io/v1/customresourcedefinitions"
    obj = {"metadata": {}, "spec": {"versions": [{"name": "v1", "storage": True}, {"name": "v2"}]}}
    strategies.prepare_create(server.cluster, server.served(path), obj, dry_run=True)
    assert obj["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }


KEPT: dict[str, tuple[str, str, Object, Object, Object]] = {
    "the status stays in a write of the object": (
        "/v1/pods",
        "",
        {"spec": {}, "status": {"phase": "Running"}},
        {"spec": {"a": 1}},
        {"spec": {"a": 1}, "status": {"phase": "Running"}},
    ),
    "all but the status stays in a write of the status": (
        "apps/v1/deployments",
        "status",
        {"spec": {"a": 1}},
        {"spec": {"a": 2}, "extra": 5, "status": {"replicas": 1}},
        {"spec": {"a": 1}, "status": {"replicas": 1}},
    ),
    "a pod keeps its quality of service": (
        "/v1/pods",
        "status",
        {"spec": {}, "status": {"qosClass": "BestEffort"}},
        {"spec": {}, "status": {"phase": "Running"}},
        {"spec": {}, "status": {"phase": "Running", "qosClass": "BestEffort"}},
    ),
    "a namespace keeps its finalizers": (
        "/v1/namespaces",
        "",
        {"spec": {"finalizers": ["a"]}},
        {"spec": {"finalizers": []}},
        {"spec": {"finalizers": ["a"]}},
    ),
    "a namespace loses its finalizers through their subresource": (
        "/v1/namespaces",
        "finalize",
        {"spec": {"finalizers": ["a"]}},
        {"spec": {"finalizers": []}},
        {"spec": {"finalizers": []}},
    ),
    "a request to sign stays": (
        "certificates.k8s.io/v1/certificatesigningrequests",
        "",
        {"spec": {"a": 1}},
        {"spec": {"a": 2}},
        {"spec": {"a": 1}},
    ),
    "an account names its secrets": (
        "/v1/serviceaccounts",
        "",
        {},
        {"secrets": [{"name": "s", "kind": "Secret"}]},
        {"secrets": [{"name": "s"}]},
    ),
}


@pytest.mark.parametrize(("path", "part", "old", "new", "expected"), KEPT.values(), ids=KEPT)
def test_what_a_write_does_not_change(
    path: str, part: str, old: Object, new: Object, expected: Object
) -> None:
    found = updated(path, old, new, part)
    del found["metadata"]
    assert found == expected


TAINTS: dict[str, tuple[Object, Object, str]] = {
    "another effect begins now": ({"effect": "a"}, {"effect": "b"}, "2026-01-01T00:00:00Z"),
    "the same effect goes on": ({"effect": "a"}, {"effect": "a"}, "then"),
    "a time that is given counts": ({"effect": "a"}, {"effect": "b", "timeAdded": "x"}, "x"),
}


@pytest.mark.parametrize(("old", "new", "expected"), TAINTS.values(), ids=TAINTS)
def test_the_time_of_a_taint(old: Object, new: Object, expected: str) -> None:
    before = {"spec": {"taint": {"timeAdded": "then", **old}}}
    after = {"spec": {"taint": {"timeAdded": "then", **new}}}
    found = updated("resource.k8s.io/v1/devicetaintrules", before, after, "")
    assert found["spec"]["taint"]["timeAdded"] == expected


GENERATIONS: dict[str, tuple[str, str, Object, Object, int]] = {
    "a change of the spec counts": ("/v1/pods", "", {"spec": {}}, {"spec": {"a": 1}}, 4),
    "no change does not": ("/v1/pods", "", {"spec": {}}, {"spec": {}}, 3),
    "a change of the status does not": (
        "/v1/pods",
        "status",
        {"spec": {}},
        {"spec": {}, "status": {"phase": "Running"}},
        3,
    ),
    "labels do not": (
        "apps/v1/deployments",
        "",
        {"spec": {}},
        {"metadata": {"labels": {"a": "b"}}, "spec": {}},
        3,
    ),
    "annotations of deployments do": (
        "apps/v1/deployments",
        "",
        {"spec": {}},
        {"metadata": {"annotations": {"a": "b"}}, "spec": {}},
        4,
    ),
    "a priority class does not count": (
        "scheduling.k8s.io/v1/priorityclasses",
        "",
        {"value": 1},
        {"value": 2},
        3,
    ),
    "an autoscaler counts": (
        "autoscaling/v2/horizontalpodautoscalers",
        "",
        {"spec": {}},
        {"spec": {"a": 1}},
        4,
    ),
    "a driver counts": ("storage.k8s.io/v1/csidrivers", "", {"spec": {}}, {"spec": {"a": 1}}, 4),
}


@pytest.mark.parametrize(
    ("path", "part", "old", "new", "generation"), GENERATIONS.values(), ids=GENERATIONS
)
def test_generations(path: str, part: str, old: Object, new: Object, generation: int) -> None:
    assert updated(path, old, new, part)["metadata"]["generation"] == generation


def test_the_labels_of_a_deployment_stay_in_a_write_of_its_status() -> None:
    new = {"metadata": {"labels": {"a": "b"}}, "spec": {}}
    found = updated("apps/v1/deployments", {"spec": {}}, new, "status")
    assert "labels" not in found["metadata"]


@pytest.mark.parametrize(("template", "count"), [({"a": 1}, "6"), ({}, "5")])
def test_a_daemon_set_counts_the_versions_of_its_template(template: Object, count: str) -> None:
    name = "deprecated.daemonset.template.generation"
    old = {"metadata": {"annotations": {name: "5"}}, "spec": {"template": {}}}
    found = updated("apps/v1/daemonsets", old, {"spec": {"template": template}})
    assert found["metadata"]["annotations"] == {name: count}


@pytest.mark.parametrize(
    ("labels", "allowed"),
    [({}, False), ({"resource.kubernetes.io/admin-access": "true"}, True)],
    ids=["not labelled", "labelled"],
)
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_administrators_of_devices_need_a_labelled_namespace(
    labels: dict[str, str], allowed: bool, kind: str
) -> None:
    server = ApiServer()
    server.store.put("/namespaces", "default", {"metadata": {"name": "default", "labels": labels}})
    request = {
        "name": "r",
        "exactly": {
            "deviceClassName": "c",
            "allocationMode": "ExactCount",
            "count": 1,
            "adminAccess": True,
        },
    }
    spec: Object = {"devices": {"requests": [request]}}
    obj = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"spec": spec} if kind.endswith("Template") else spec,
    }
    served = server.served(f"resource.k8s.io/v1/{kind.lower()}s")
    if allowed:
        strategies.check_create(server.cluster, served, obj)
        return
    with pytest.raises(Refusal, match=r"requests\[0\].adminAccess: Forbidden: admin access"):
        strategies.check_create(server.cluster, served, obj)


def test_the_first_namespaces_are_not_deleted() -> None:
    server = ApiServer()
    namespaces = server.served("/v1/namespaces")
    strategies.check_delete(server.cluster, namespaces, {"metadata": {"name": "mine"}})
    with pytest.raises(Refusal) as refused:
        strategies.check_delete(server.cluster, namespaces, {"metadata": {"name": "default"}})
    assert refused.value.code == 403


def test_a_namespace_that_is_deleted_is_terminating() -> None:
    server = ApiServer()
    obj: Object = {"metadata": {"name": "n"}, "status": {"phase": "Active"}}
    strategies.begin_deletion(server.cluster, server.served("/v1/configmaps"), obj)
    assert obj["status"] == {"phase": "Active"}
    strategies.begin_deletion(server.cluster, server.served("/v1/namespaces"), obj)
    assert obj["status"] == {"phase": "Terminating"}
    assert strategies.namespace_terminating(obj).code == 409


def test_fields_that_a_write_cannot_change() -> None:
    obj = {"metadata": {}, "spec": {}, "status": {}, "data": {}}
    assert set(strategies.kept_fields(obj, "status")) == {"spec", "data"}
    assert set(strategies.kept_fields(obj, "")) == set()

"""Create, update, patch: names, conflicts, dry runs, validation, field ownership."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from mooring.apiserver.http import BODY_LIMIT
from tests.apiserver.api_server import MAPS, PODS, ApiServer, config_map, pod

MERGE = "application/merge-patch+json"


async def test_a_new_object_gets_what_the_server_gives() -> None:
    server = ApiServer()
    made = await server.ask("POST", PODS, pod("p"))
    assert made["metadata"]["uid"] and made["metadata"]["creationTimestamp"]
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["spec"]["priority"] == 0
    assert made["spec"]["serviceAccountName"] == "default"
    assert made["metadata"]["managedFields"][0]["manager"] == "test"


async def test_generated_names_differ() -> None:
    server = ApiServer()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}}
    names = {(await server.ask("POST", MAPS, body))["metadata"]["name"] for _ in range(20)}
    assert len(names) == 20
    assert all(len(name) == 9 and name.startswith("gen-") for name in names)


async def test_a_dry_run_stores_nothing() -> None:
    server = ApiServer()
    before = server.store.version
    made = await server.ask("POST", f"{MAPS}?dryRun=All", config_map("a"))
    assert made["metadata"]["uid"]
    assert server.store.version == before


async def test_a_write_that_changes_nothing_makes_no_version() -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a", x="1"))
    before = server.store.version
    for _ in range(2):
        await server.send("PATCH", f"{MAPS}/a", b'{"data":{"x":"1"}}', content_type=MERGE)
    assert server.store.version == before


async def test_a_stale_update_conflicts() -> None:
    server = ApiServer()
    first = await server.ask("POST", MAPS, config_map("a"))
    await server.ask("PUT", f"{MAPS}/a", config_map("a", x="1"))
    response = await server.send("PUT", f"{MAPS}/a", first)
    assert response.code == 409
    assert "the object has been modified" in json.loads(response.body)["message"]


async def test_the_generation_counts_changes_of_the_spec_alone() -> None:
    server = ApiServer()
    await server.ask("POST", PODS, pod("p"))
    patched = await server.ask(
        "PATCH", f"{PODS}/p", b'{"metadata":{"labels":{"x":"y"}}}', content_type=MERGE
    )
    assert patched["metadata"]["generation"] == 1
    patched = await server.ask(
        "PATCH", f"{PODS}/p", b'{"spec":{"activeDeadlineSeconds":9}}', content_type=MERGE
    )
    assert patched["metadata"]["generation"] == 2


async def test_status_is_written_through_its_subresource_alone() -> None:
    server = ApiServer()
    await server.ask("POST", PODS, pod("p"))
    body = b'{"status":{"phase":"Running"},"spec":{"nodeName":"n"}}'
    plain = b'{"status":{"phase":"Running"}}'
    main = await server.ask("PATCH", f"{PODS}/p", plain, content_type=MERGE)
    assert main["status"]["phase"] == "Pending"
    status = await server.ask("PATCH", f"{PODS}/p/status", body, content_type=MERGE)
    assert status["status"]["phase"] == "Running"
    assert "nodeName" not in status["spec"]


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "code", "text"),
    [
        pytest.param("POST", MAPS, b"{", "application/json", 400, "unexpected", id="half a body"),
        pytest.param("POST", MAPS, b"[]", "application/json", 400, "cannot unmarshal", id="a list"),
        pytest.param("POST", MAPS, b"x", "text/plain", 415, "unknown format", id="plain text"),
        pytest.param(
            "POST",
            MAPS,
            b"k8s\0\xff\xff",
            "application/vnd.kubernetes.protobuf",
            400,
            "",
            id="broken protobuf",
        ),
        pytest.param("POST", PODS, pod("Bad_Name"), "application/json", 422, "RFC 1123", id="name"),
        pytest.param(
            "POST", f"{PODS}?fieldValidation=Strict", pod("x", foo=1), "application/json", 400,
            'unknown field "spec.foo"', id="an unknown field",
        ),
        pytest.param(
            "POST", "/api/v1/namespaces/nowhere/configmaps", config_map("x"), "application/json",
            404, 'namespaces "nowhere" not found', id="a namespace that is not there",
        ),
        pytest.param("PUT", f"{MAPS}/x", config_map("y"), "application/json", 400,
            "does not match the name on the URL", id="another name"),
        pytest.param("PATCH", f"{MAPS}/x", b"{}", "text/plain", 415, "unknown", id="a patch"),
    ],
)  # fmt: skip
async def test_a_bad_write_is_refused(
    method: str, path: str, body: object, kind: str, code: int, text: str
) -> None:
    server = ApiServer()
    response = await server.send(method, path, body, content_type=kind)
    status = json.loads(response.body)
    assert (response.code, status["kind"], status["code"]) == (code, "Status", code)
    assert text in status["message"]


async def test_an_unknown_field_warns_unless_asked_otherwise() -> None:
    server = ApiServer()
    response = await server.send("POST", PODS, pod("x", foo=1))
    assert response.code == 201
    assert response.warnings == ['unknown field "spec.foo"']
    assert "foo" not in json.loads(response.body)["spec"]


async def test_events_are_one_thing_in_two_groups() -> None:
    server = ApiServer()
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Scheduled",
        "note": "assigned",
        "type": "Normal",
        "action": "Binding",
        "reportingController": "me",
        "reportingInstance": "me-1",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }
    assert (await server.send("POST", events, body)).code == 201
    core = await server.ask("GET", "/api/v1/namespaces/default/events/e")
    assert core["message"] == "assigned"
    assert core["involvedObject"]["name"] == "p"
    assert core["reportingComponent"] == "me"
    new = await server.ask("GET", f"{events}/e")
    assert new["note"] == "assigned" and "message" not in new


def test_the_limit_of_a_body_is_the_real_one() -> None:
    assert BODY_LIMIT == 3 * 1024 * 1024


APPLY = "application/apply-patch+yaml"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}


async def test_an_object_is_applied_twice() -> None:
    server = ApiServer()
    path = f"{MAPS}/a?fieldManager=me"
    body = config_map("a", x="1")
    assert (await server.send("PATCH", path, body, content_type=APPLY)).code == 201
    body["data"] = {"y": "2"}
    assert (await server.send("PATCH", path, body, content_type=APPLY)).code == 200
    assert (await server.ask("GET", f"{MAPS}/a"))["data"] == {"y": "2"}
    other = await server.send(
        "PATCH", f"{MAPS}/a?fieldManager=you", config_map("a", y="3"), content_type=APPLY
    )
    assert other.code == 409


APPLIED: dict[str, tuple[str, Any, int]] = {
    "the status of nothing": (f"{PODS}/none/status", {"metadata": {"name": "none"}}, 404),
    "another version": (f"{MAPS}/a", {"metadata": {"name": "a", "resourceVersion": "1"}}, 409),
    "another namespace": (f"{MAPS}/a", {"metadata": {"name": "a", "namespace": "x"}}, 400),
    "a field of another type": (f"{MAPS}/a", {"metadata": {"name": "a"}, "data": 5}, 400),
}


@pytest.mark.parametrize(("path", "more", "code"), APPLIED.values(), ids=APPLIED)
async def test_applies_that_are_refused(path: str, more: dict[str, Any], code: int) -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    kind = "Pod" if path.startswith(PODS) else "ConfigMap"
    body = {"apiVersion": "v1", "kind": kind, **more}
    response = await server.send("PATCH", f"{path}?fieldManager=me", body, content_type=APPLY)
    assert response.code == code


async def test_a_lease_is_created_by_its_update() -> None:
    server = ApiServer()
    assert (await server.send("PUT", f"{LEASES}/l", LEASE)).code == 201
    # Later updates name the version that they change.
    blind = await server.send("PUT", f"{LEASES}/l", LEASE)
    assert blind.code == 422
    assert "must be specified for an update" in json.loads(blind.body)["message"]


UPDATES: dict[str, tuple[dict[str, Any], int, str]] = {
    "another name": ({"name": "b"}, 400, "the name of the object (b) does not match the name on"),
    "no name": ({}, 400, "name must be provided"),
    "another object": ({"name": "a", "uid": "x"}, 409, "UID in precondition: x"),
    "a version that is none": ({"name": "a", "resourceVersion": "x"}, 400, "invalid syntax"),
    "another namespace": ({"name": "a", "namespace": "x"}, 400, "does not match the namespace"),
}


@pytest.mark.parametrize(("metadata", "code", "message"), UPDATES.values(), ids=UPDATES)
async def test_updates_that_are_refused(metadata: dict[str, Any], code: int, message: str) -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    response = await server.send("PUT", f"{MAPS}/a", body)
    assert response.code == code
    assert message in json.loads(response.body)["message"]


async def test_a_patch_does_not_rename() -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    merge = "application/merge-patch+json"
    for metadata in ({"name": "b"}, {"namespace": "x"}):
        patch = {"metadata": metadata}
        assert (await server.send("PATCH", f"{MAPS}/a", patch, content_type=merge)).code == 400


async def test_a_new_object_has_no_version_and_is_not_made_while_an_old_one_goes() -> None:
    server = ApiServer()
    versioned = config_map("a")
    versioned["metadata"]["resourceVersion"] = "5"
    assert (await server.send("POST", MAPS, versioned)).code == 400
    held = config_map("b")
    held["metadata"]["finalizers"] = ["a/b"]
    await server.ask("POST", MAPS, held)
    await server.ask("DELETE", f"{MAPS}/b")
    again = await server.send("POST", MAPS, config_map("b"))
    assert again.code == 409
    assert "object is being deleted" in json.loads(again.body)["message"]


async def test_generated_names_that_are_all_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ApiServer()
    monkeypatch.setattr(random.Random, "choices", lambda self, letters, k: ["x"] * k)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}
    assert (await server.send("POST", MAPS, body)).code == 201
    assert (await server.send("POST", MAPS, body)).code == 409

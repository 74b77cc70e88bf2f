"""Delete: grace periods, finalizers, preconditions, propagation, collections."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mooring.apiserver.resource_store import StoreEvent
from tests.apiserver.api_server import MAPS, PODS, ApiServer, config_map, pod


async def test_a_bound_pod_ends_gracefully() -> None:
    server = ApiServer()
    await server.ask("POST", PODS, pod("p", nodeName="n", terminationGracePeriodSeconds=20))
    ended = await server.ask("DELETE", f"{PODS}/p")
    assert ended["metadata"]["deletionGracePeriodSeconds"] == 20
    assert ended["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:20Z"
    shorter = await server.ask("DELETE", f"{PODS}/p?gracePeriodSeconds=5")
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    await server.ask("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
    assert (await server.send("GET", f"{PODS}/p")).code == 404


async def test_watchers_see_a_pod_end_before_it_is_gone() -> None:
    server, seen = ApiServer(), list[StoreEvent]()
    await server.ask("POST", PODS, pod("p"))
    server.store.listen("/pods", seen.append)
    await server.ask("DELETE", f"{PODS}/p")
    assert [one.type for one in seen] == ["MODIFIED", "DELETED"]
    assert all(one.stored.object["metadata"]["deletionTimestamp"] for one in seen)


async def test_finalizers_hold_an_object() -> None:
    server = ApiServer()
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.com/x"]
    await server.ask("POST", MAPS, held)
    ended = await server.ask("DELETE", f"{MAPS}/a")
    assert ended["metadata"]["deletionTimestamp"]
    again = await server.send("POST", MAPS, config_map("a"))
    assert json.loads(again.body)["message"].startswith("object is being deleted")
    await server.send(
        "PATCH",
        f"{MAPS}/a",
        b'{"metadata":{"finalizers":null}}',
        content_type="application/merge-patch+json",
    )
    assert (await server.send("GET", f"{MAPS}/a")).code == 404


async def test_propagation_leaves_its_finalizer() -> None:
    server = ApiServer()
    for name, policy, finalizer in (
        ("a", "Foreground", "foregroundDeletion"),
        ("b", "Orphan", "orphan"),
    ):
        await server.ask("POST", MAPS, config_map(name))
        ended = await server.ask("DELETE", f"{MAPS}/{name}", {"propagationPolicy": policy})
        assert ended["metadata"]["finalizers"] == [finalizer]


async def test_preconditions_must_hold() -> None:
    server = ApiServer()
    made = await server.ask("POST", MAPS, config_map("a"))
    wrong = {"preconditions": {"uid": "0"}}
    assert (await server.send("DELETE", f"{MAPS}/a", wrong)).code == 409
    right = {"preconditions": {"uid": made["metadata"]["uid"]}}
    assert (await server.send("DELETE", f"{MAPS}/a", right)).code == 200


async def test_a_collection_is_deleted_by_selector() -> None:
    server = ApiServer()
    for name in "abc":
        await server.ask("POST", PODS, pod(name))
    deleted = await server.ask("DELETE", f"{PODS}?labelSelector=app+in+(a,b)")
    assert len(deleted["items"]) == 2
    left = await server.ask("GET", PODS)
    assert [one["metadata"]["name"] for one in left["items"]] == ["c"]


async def test_a_dry_run_deletes_nothing() -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    assert (await server.send("DELETE", f"{MAPS}/a?dryRun=All")).code == 200
    assert (await server.send("GET", f"{MAPS}/a")).code == 200


async def test_the_first_namespaces_stay() -> None:
    server = ApiServer()
    response = await server.send("DELETE", "/api/v1/namespaces/kube-system")
    assert response.code == 403


async def test_a_large_collection_goes_in_turns_with_others() -> None:
    server = ApiServer()
    for i in range(50):
        await server.ask("POST", MAPS, config_map(f"m{i}"))
    deleting = asyncio.create_task(server.send("DELETE", MAPS))
    for _ in range(20):
        await asyncio.sleep(0)
    left = (await server.ask("GET", MAPS))["items"]
    assert 0 < len(left) < 50
    # An object created meanwhile is not deleted.
    await server.ask("POST", MAPS, config_map("late"))
    gone = json.loads((await deleting).body)["items"]
    assert len(gone) == 50
    assert [one["metadata"]["name"] for one in (await server.ask("GET", MAPS))["items"]] == ["late"]


OPTIONS: dict[str, tuple[Any, str, int, str]] = {
    "a list": ([], "", 400, "cannot unmarshal array into Go value"),
    "another kind": (
        {"kind": "Pod", "apiVersion": "v1"},
        "",
        400,
        'no kind "Pod" is registered for version "v1"',
    ),
    "a text in place of a number": ({"gracePeriodSeconds": "x"}, "", 400, "gracePeriodSeconds"),
    "no JSON": (b"{", "", 400, ""),
    "a parameter that is no number": (
        None,
        "?gracePeriodSeconds=x",
        400,
        'strconv.ParseInt: parsing "x": invalid syntax',
    ),
    "an unknown propagation": (
        None,
        "?propagationPolicy=Sideways",
        422,
        'Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", '
        '"nil"',
    ),
    "two propagations": (
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        "",
        422,
        "orphanDependents and deletionPropagation cannot be both set",
    ),
    "an unknown dry run": (None, "?dryRun=Some", 422, 'Unsupported value: ["Some"]'),
}


@pytest.mark.parametrize(("body", "query", "code", "message"), OPTIONS.values(), ids=OPTIONS)
async def test_options_that_are_refused(body: Any, query: str, code: int, message: str) -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    response = await server.send("DELETE", f"{MAPS}/a{query}", body)
    assert response.code == code
    assert message in json.loads(response.body)["message"]
    assert server.store.get("/configmaps", "default/a") is not None


@pytest.mark.parametrize(
    ("query", "finalizers"),
    [
        ("?orphanDependents=true", ["orphan"]),
        ("?propagationPolicy=Foreground", ["foregroundDeletion"]),
    ],
)
async def test_parameters_are_options_too(query: str, finalizers: list[str]) -> None:
    server = ApiServer()
    await server.ask("POST", MAPS, config_map("a"))
    found = await server.ask("DELETE", f"{MAPS}/a{query}")
    assert found["metadata"]["finalizers"] == finalizers

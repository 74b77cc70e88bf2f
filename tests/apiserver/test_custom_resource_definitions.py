from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver import custom_resource_definitions as definitions
from mooring.apiserver.schema.custom_schema import custom_kinds
from tests.apiserver.api_server import ApiServer


async def test_a_custom_resource_is_served_as_soon_as_it_is_defined() -> None:
    server = ApiServer()
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
    things = "/apis/example.com/v1/namespaces/default/things"
    assert (await server.send("GET", things)).code == 404
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await server.send("POST", path, definition)).code == 201
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    made = await server.ask("POST", things, thing | {"spec": {"size": 1, "odd": 2}})
    assert made["spec"] == {"size": 1}
    assert (await server.send("POST", things, thing | {"spec": {"size": "x"}})).code == 422
    await server.send("DELETE", f"{path}/things.example.com")
    assert (await server.send("GET", things)).code == 404
    assert server.store.count("example.com/things") == 0


def _definition(plural: str = "things", kind: str = "Thing", **more: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object"}}
    names = {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": "a.io", "scope": "Cluster", "names": names | more.pop("names", {})}
    spec |= {"versions": more.pop("versions", [version])}
    return {"metadata": {"name": f"{plural}.a.io"}, "spec": spec, **more}


def _conditions(definition: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        one["type"]: (one["status"], one["reason"]) for one in definition["status"]["conditions"]
    }


def _store(server: ApiServer, definition: dict[str, Any]) -> None:
    definitions.prepare(server.cluster, definition)
    server.store.put(definitions.RESOURCE, definition["metadata"]["name"], definition)


def test_the_names_of_a_definition_are_accepted() -> None:
    made = _definition(names={"shortNames": ["th"], "categories": ["all"]})
    definitions.prepare(ApiServer().cluster, made)
    assert _conditions(made) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert made["status"]["acceptedNames"] == made["spec"]["names"]
    assert made["status"]["storedVersions"] == ["v1"]


TAKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "the kind": ({"kind": "Thing"}, "KindConflict", '"Thing" is already in use'),
    "a short name": ({"shortNames": ["th"]}, "ShortNamesConflict", '"th" is already in use'),
    "the singular": ({"singular": "thing"}, "SingularConflict", '"thing" is already in use'),
}


@pytest.mark.parametrize(("names", "reason", "message"), TAKEN.values(), ids=TAKEN)
def test_names_that_are_taken(names: dict[str, Any], reason: str, message: str) -> None:
    server = ApiServer()
    _store(server, _definition(names={"shortNames": ["th"]}))
    other = _definition("others", "Other", names=names)
    definitions.prepare(server.cluster, other)
    assert _conditions(other) == {
        "NamesAccepted": ("False", reason),
        "Established": ("False", "NotAccepted"),
    }
    assert other["status"]["conditions"][0]["message"] == message
    assert other["status"]["acceptedNames"]["plural"] == "others"
    # A definition that is not established is not served, and nothing of it is withdrawn.
    definitions.serve(server.cluster, other)
    definitions.withdraw(server.cluster, other)
    assert server.cluster.catalogue.get("a.io", "v1", "others") is None


def test_conditions_keep_their_times() -> None:
    server = ApiServer()
    made = _definition()
    _store(server, made)
    first = made["status"]["conditions"]
    first.append({"type": "Terminating", "status": "False", "reason": "x"})
    again = _definition(status=made["status"])
    definitions.prepare(server.cluster, again)
    assert again["status"]["conditions"] == first


def test_definitions_are_served_and_withdrawn() -> None:
    server = ApiServer()
    made = _definition()
    _store(server, made)
    definitions.load(server.cluster)
    assert server.cluster.catalogue.get("a.io", "v1", "things") is not None
    server.store.put("a.io/things", "t", {"metadata": {"name": "t"}})
    definitions.empty(server.cluster, made)
    assert server.store.count("a.io/things") == 0
    definitions.withdraw(server.cluster, made)
    assert server.cluster.catalogue.get("a.io", "v1", "things") is None


OLD = {"name": "v1beta1", "served": True, "storage": False, "deprecated": True}
OLD["schema"] = {"openAPIV3Schema": {"type": "object"}}
NEW = {"name": "v1", "served": True, "storage": True, "schema": OLD["schema"]}
WARNINGS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a version that stays": ([NEW], ""),
    "a deprecated version": ([OLD], "a.io/v1beta1 Thing is deprecated"),
    "a deprecated version beside a better one": (
        [OLD, NEW],
        "a.io/v1beta1 Thing is deprecated; use a.io/v1 Thing",
    ),
    "words of its own": ([OLD | {"deprecationWarning": "go away"}, NEW], "go away"),
}


@pytest.mark.parametrize(("versions", "warning"), WARNINGS.values(), ids=WARNINGS)
def test_warnings_of_versions(versions: list[dict[str, Any]], warning: str) -> None:
    server = ApiServer()
    made = _definition(versions=versions)
    _store(server, made)
    definitions.serve(server.cluster, made)
    served = server.cluster.catalogue.get("a.io", versions[0]["name"], "things")
    assert served is not None and served.warning == warning


SCALES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "numbers": ({"spec": {"n": 1}, "status": {"n": 0}}, []),
    "nothing": ({}, []),
    "a negative number": (
        {"spec": {"n": -1}},
        [".spec.n: Invalid value: -1: should be a non-negative integer"],
    ),
    "a text": (
        {"spec": {"n": "1"}},
        [
            ".spec.n: Invalid value: 0: .spec.n accessor error: 1 is of the type string, expected "
            "int64"
        ],
    ),
    "no object": ({"spec": 5}, []),
}


@pytest.mark.parametrize(("obj", "expected"), SCALES.values(), ids=SCALES)
def test_scales_of_custom_objects(obj: dict[str, Any], expected: list[str]) -> None:
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    version = NEW | {"subresources": {"scale": scale}}
    (custom,) = custom_kinds(_definition(versions=[version]))
    found = [str(one) for one in definitions.check_scale(custom, obj)]
    assert found == expected

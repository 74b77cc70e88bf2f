"""Decoding, defaults and validation compared with a real API server."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.apiserver import version_conversion
from mooring.apiserver.defaults import set_defaults
from mooring.apiserver.patch import managed
from mooring.apiserver.printing import printer_of
from mooring.apiserver.resource_table import Catalogue
from mooring.apiserver.schema import protobuf_decoding
from mooring.apiserver.schema.canonical import canonical, decode
from mooring.apiserver.schema.decoding import decode_object
from mooring.apiserver.validation import check_create
from mooring.controlplane.type_table import types
from tests.apiserver.real_server import RealServer, problem
from tests.support.fixtures import run_control_plane

HERE = Path(__file__).parent
REFUSED = list(yaml.safe_load_all((HERE / "validation/refused.yaml").read_text()))
ACCEPTED = list(yaml.safe_load_all((HERE / "defaults/accepted.yaml").read_text()))

# Fields set by admission or when an object is stored, which are not compared.
STORED = {
    "metadata": {"uid", "creationTimestamp", "generation", "namespace", "managedFields"},
    "spec": {
        "priority",
        "preemptionPolicy",
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "selector",
    },
}
WITH_LABELS_OF_ITS_OWN = {"Job"}


def name(manifest: dict[str, Any], at: int) -> str:
    return f"{manifest['kind']}-{at}"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with run_control_plane(tmp_path_factory.mktemp("real")) as plane:
        server = RealServer(plane)
        yield server
        server.close()


def ours(manifest: dict[str, Any], namespaced: bool) -> dict[str, Any]:
    version, kind = manifest["apiVersion"], manifest["kind"]
    found = types().find(version, kind)
    assert found is not None
    obj = decode_object(copy.deepcopy(manifest), found, kind, version).object
    if namespaced:
        obj["metadata"].setdefault("namespace", "default")
    set_defaults(version, kind, obj)
    return obj


def problems(manifest: dict[str, Any], obj: dict[str, Any]) -> list[Any]:
    """Return the problems of an object in its stored version, by the rules of its own version."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    served = Catalogue(types()).find_kind(version, kind)
    assert served is not None
    return check_create(version, kind, version_conversion.to_stored(served, obj))


@pytest.mark.parametrize("at", range(len(REFUSED)), ids=lambda at: name(REFUSED[at], at))
def test_the_same_is_refused_in_the_same_words(real: RealServer, at: int) -> None:
    manifest = REFUSED[at]
    path, namespaced = real.place(manifest)
    answer = real.ask("POST", path, manifest, dryRun="All")
    obj = ours(manifest, namespaced)
    found = problems(manifest, obj)
    assert {problem(one.reason, one.path, one.message) for one in found} == answer.problems
    assert bool(found) == (answer.code == 422)


@pytest.mark.parametrize("at", range(len(ACCEPTED)), ids=lambda at: name(ACCEPTED[at], at))
def test_the_same_is_filled_in_and_owned(real: RealServer, at: int) -> None:
    manifest = copy.deepcopy(ACCEPTED[at])
    version, kind = manifest["apiVersion"], manifest["kind"]
    path, namespaced = real.place(manifest)
    answer = real.ask("POST", path, manifest, dryRun="All")
    assert answer.code == 201, answer.body
    obj = ours(manifest, namespaced)
    assert problems(manifest, obj) == []
    found = types().find(version, kind)
    has_status = any(one.name.endswith("/status") for one in types().resources(version))
    managed.update_managers(
        found,
        None,
        obj,
        manager="mooring-test",
        version=version,
        now="2024-01-01T00:00:00Z",
        reset=managed.reset_fields(kind, has_status, ""),
    )
    theirs = answer.body["metadata"].get("managedFields") or []
    mine = obj["metadata"].get("managedFields") or []
    assert [one["fieldsV1"] for one in mine] == [one["fieldsV1"] for one in theirs]
    assert stripped(obj) == stripped(answer.body)


def stripped(obj: dict[str, Any]) -> dict[str, Any]:
    obj = copy.deepcopy(obj)
    obj.pop("status", None)
    for part, fields in STORED.items():
        for field in fields:
            if isinstance(obj.get(part), dict):
                obj[part].pop(field, None)
    if obj["kind"] in WITH_LABELS_OF_ITS_OWN:
        obj["metadata"].pop("labels", None)
        obj["spec"]["template"]["metadata"].pop("labels", None)
    for port in obj.get("spec", {}).get("ports") or ():
        port.pop("nodePort", None)
    return obj


def test_every_kind_has_the_columns_of_the_real_server(real: RealServer) -> None:
    shown, expected = {}, {}
    for resource in Catalogue(types()):
        if "list" not in resource.verbs:
            continue
        root = f"/apis/{resource.group_version}" if resource.group else "/api/v1"
        table = real.ask(
            "GET", f"{root}/{resource.name}", accept="application/json;as=Table;v=v1;g=meta.k8s.io"
        )
        name = f"{resource.group}/{resource.kind}"
        parts = ("name", "type", "format", "priority")
        expected[name] = [
            [column[part] for part in parts] for column in table.body["columnDefinitions"]
        ]
        shown[name] = [
            [column.name, column.type, column.format, column.priority]
            for column in printer_of(resource).columns
        ]
    assert shown == expected


def test_protobuf_is_read_as_json_is(real: RealServer) -> None:
    table, kinds = types(), 0
    for resource in Catalogue(table):
        if "list" not in resource.verbs or resource.name == "componentstatuses":
            continue
        version = resource.group_version
        root = f"/apis/{version}" if resource.group else f"/api/{version}"
        text = real.ask("GET", f"{root}/{resource.name}")
        assert text.code == 200, f"{version} {resource.name}"
        if not text.body["items"]:
            continue
        binary = "application/vnd.kubernetes.protobuf"
        data = real.ask("GET", f"{root}/{resource.name}", accept=binary)
        listed = table.find(version, text.body["kind"])
        assert listed is not None
        mine = canonical(listed, protobuf_decoding.decode(data.body, table))
        theirs, errors = decode(listed, text.body)
        assert errors == []
        assert mine["items"] == theirs["items"], resource.name
        kinds += 1
    assert kinds > 5

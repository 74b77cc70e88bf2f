"""Server-side apply."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.patch.apply import LAST_APPLIED, apply, read_apply_patch, strict_apply_error
from mooring.apiserver.patch.managed import set_managers, update_managers
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.schema.canonical import canonical
from mooring.apiserver.schema.decoding import parse_json
from mooring.controlplane.type_table import types
from tests.apiserver.schema.test_custom_schema import KIND

CONFIG = types().get("core.v1.ConfigMap")
NOW = "2024-01-01T00:00:00Z"


def config(data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    obj: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", **metadata},
    }
    return obj if data is None else obj | {"data": data}


def created(data: dict[str, str], manager: str = "maker", **metadata: Any) -> dict[str, Any]:
    obj = canonical(CONFIG, config(data, **metadata)) | {"apiVersion": "v1", "kind": "ConfigMap"}
    update_managers(CONFIG, None, obj, manager=manager, version="v1", now=NOW)
    return obj


def applied(
    live: dict[str, Any] | None, patch: dict[str, Any], manager: str, *, force: bool = False
) -> dict[str, Any]:
    found = apply(
        CONFIG,
        live,
        patch,
        manager=manager,
        version="v1",
        kind="ConfigMap",
        now=NOW,
        force=force,
    )
    set_managers(found.object, found.managers)
    return found.object


def owners(obj: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (one["manager"], one["operation"]): one["fieldsV1"]
        for one in obj["metadata"].get("managedFields", ())
    }


def test_an_apply_to_nothing_makes_the_object() -> None:
    obj = applied(None, config({"a": "1"}), "m")
    assert obj["data"] == {"a": "1"}
    assert owners(obj) == {("m", "Apply"): {"f:data": {"f:a": {}}}}


def test_what_is_dropped_goes_unless_another_owns_it() -> None:
    obj = applied(None, config({"a": "1", "b": "1"}), "m")
    obj = applied(obj, config({"b": "1"}), "n")
    obj = applied(obj, config({"c": "1"}), "m")
    assert obj["data"] == {"b": "1", "c": "1"}
    assert owners(obj) == {
        ("m", "Apply"): {"f:data": {"f:c": {}}},
        ("n", "Apply"): {"f:data": {"f:b": {}}},
    }


def test_equal_values_are_shared_and_different_ones_conflict() -> None:
    obj = created({"a": "1"})
    shared = applied(obj, config({"a": "1"}), "m")
    assert len(owners(shared)) == 2
    with pytest.raises(Refusal) as raised:
        applied(shared, config({"a": "2"}), "n")
    assert raised.value.code == 409
    assert str(raised.value) == (
        "Apply failed with 2 conflicts: "
        'conflicts with "m":\n- .data.a\nconflicts with "maker" using v1:\n- .data.a'
    )
    causes = raised.value.status["details"]["causes"]
    assert causes[0] == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "m"',
        "field": ".data.a",
    }


def test_force_takes_over() -> None:
    obj = applied(created({"a": "1"}), config({"a": "2"}), "m", force=True)
    assert obj["data"] == {"a": "2"}
    assert ("m", "Apply") in owners(obj)
    assert "f:a" not in owners(obj).get(("maker", "Update"), {}).get("f:data", {})


def test_objects_that_nobody_owned_belong_to_one_before() -> None:
    obj = created({"a": "1"})
    del obj["metadata"]["managedFields"]
    found = owners(applied(obj, config({"b": "1"}), "m"))
    assert ("before-first-apply", "Update") in found


def test_client_side_apply_is_taken_over_without_conflict() -> None:
    last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1"}}'
    obj = created({"a": "1"}, "kubectl-client-side-apply", annotations={LAST_APPLIED: last})
    found = applied(obj, config({"a": "2"}), "kubectl")
    assert found["data"] == {"a": "2"}
    assert '"a":"2"' in found["metadata"]["annotations"][LAST_APPLIED]
    with pytest.raises(Refusal, match="conflict"):
        applied(obj, config({"a": "2"}), "another")


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"kind": "Foo"}, 400, "invalid object type: /v1, Kind=Foo"),
        ({"metadata": {"managedFields": []}}, 400, "metadata.managedFields must be nil"),
        (
            {"colour": 1},
            400,
            "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .colour: field not "
            "declared in schema",
        ),
        (
            {"data": []},
            400,
            "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .data: expected map, "
            "got &{[]}",
        ),
    ],
)
def test_patches_that_do_not_fit_are_refused(change: Any, code: int, text: str) -> None:
    with pytest.raises(Refusal) as raised:
        applied(None, config() | change, "m")
    assert (raised.value.code, str(raised.value)) == (code, text)


def test_lists_merge_by_keys_in_the_applied_order() -> None:
    def thing(*names: str) -> dict[str, Any]:
        return {
            "apiVersion": "example.com/v1",
            "kind": "Thing",
            "metadata": {"name": "x"},
            "spec": {"size": 1, "tasks": [{"name": name} for name in names]},
        }

    def run(live: Any, patch: Any, manager: str) -> dict[str, Any]:
        found = apply(
            KIND.type,
            live,
            patch,
            manager=manager,
            version="example.com/v1",
            kind="Thing",
            now=NOW,
        )
        set_managers(found.object, found.managers)
        return found.object

    obj = run(None, thing("a", "b"), "m")
    obj = run(obj, thing("c", "a"), "n")
    assert [one["name"] for one in obj["spec"]["tasks"]] == ["c", "a", "b"]
    obj = run(obj, thing("b"), "m")
    assert [one["name"] for one in obj["spec"]["tasks"]] == ["c", "a", "b"]
    with pytest.raises(Refusal, match='duplicate entries for key \\[name="a"\\]'):
        run(obj, thing("a", "a"), "m")


def test_bodies_are_yaml_or_json() -> None:
    assert read_apply_patch(b"a: 1\n") == read_apply_patch(b'{"a": 1}') == {"a": 1}
    with pytest.raises(Refusal, match="error decoding YAML"):
        read_apply_patch(b"a: b: c")
    found = strict_apply_error(parse_json('{"spec":{"a":1,"a":2}}'))
    assert found is not None and 'key "a" already set in map' in found

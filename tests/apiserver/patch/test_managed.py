"""Field ownership in managedFields."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.patch import managed
from mooring.apiserver.patch.field_set import FieldSet
from mooring.apiserver.schema.canonical import canonical
from mooring.controlplane.type_table import types

POD = types().get("core.v1.Pod")


def pod(**more: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return canonical(POD, obj | more) | {"apiVersion": "v1", "kind": "Pod"}


def written(
    live: dict[str, Any] | None, obj: dict[str, Any], manager: str, time: str, **more: Any
) -> dict[str, Any]:
    managed.update_managers(POD, live, obj, manager=manager, version="v1", now=time, **more)
    return obj


def test_a_create_owns_what_it_set_and_nothing_that_identifies() -> None:
    obj = written(None, pod(), "m", "t1")
    assert obj["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "t1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}
                    }
                }
            },
        }
    ]


def test_a_change_moves_ownership() -> None:
    live = written(None, pod(), "m", "t1")
    obj = pod(spec={"containers": [{"name": "c", "image": "j"}]})
    found = written(live, obj, "n", "t2")["metadata"]["managedFields"]
    assert [one["manager"] for one in found] == ["m", "n"]
    inner = found[1]["fieldsV1"]["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert inner == {"f:image": {}}
    assert "f:image" not in str(found[0])


def test_a_write_that_changes_nothing_keeps_the_time() -> None:
    live = written(None, pod(), "m", "t1")
    found = written(live, pod(), "m", "t2")["metadata"]["managedFields"]
    assert [one["time"] for one in found] == ["t1"]


def test_status_is_written_by_its_own_manager() -> None:
    live = written(None, pod(), "m", "t1")
    obj = pod(status={"phase": "Running"})
    reset = managed.reset_fields("Pod", True, "status")
    found = written(live, obj, "k", "t2", subresource="status", reset=reset)
    last = found["metadata"]["managedFields"][-1]
    assert (last["subresource"], last["fieldsV1"]) == ("status", {"f:status": {"f:phase": {}}})


@pytest.mark.parametrize("given", [[], [{}]])
def test_managers_can_be_forgotten(given: list[Any]) -> None:
    live = written(None, pod(), "m", "t1")
    obj = pod(metadata={"name": "x", "managedFields": given})
    assert "managedFields" not in written(live, obj, "m", "t2")["metadata"]
    assert "managedFields" not in written(obj, pod(), "m", "t3")["metadata"], "until an apply"


def test_old_updaters_are_merged_when_there_are_many() -> None:
    obj = written(None, pod(), "m0", "t00")
    for i in range(1, 14):
        labels = {f"k{j}": "v" for j in range(i)}
        obj = written(obj, pod(metadata={"name": "x", "labels": labels}), f"m{i}", f"t{i:02}")
    found = obj["metadata"]["managedFields"]
    assert len(found) == managed.MOST_UPDATE_MANAGERS
    assert "ancient-changes" in {one["manager"] for one in found}


@pytest.mark.parametrize(
    ("agent", "manager"),
    [("kubectl/v1.36 (linux)", "kubectl"), ("", ""), ("x" * 200, "x" * 128), ("a\tb/1", "ab")],
)
def test_a_program_is_a_manager(agent: str, manager: str) -> None:
    assert managed.manager_from_user_agent(agent) == manager


def test_malformed_entries_count_as_none() -> None:
    assert managed.read_managers([{"operation": "Dance"}]) is None
    assert managed.read_managers(None) == {}
    assert FieldSet.from_fields(5).empty()

"""Strategic merge patches."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.controlplane.strategic_patch import apply_strategic_patch, patched
from mooring.controlplane.type_table import types
from mooring.errors import ApiError

DEPLOYMENT = types().get("apps.v1.Deployment")


def live() -> dict[str, Any]:
    return {
        "metadata": {"labels": {"a": "b"}, "finalizers": ["x/1", "x/2"]},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {
                "spec": {
                    "containers": [
                        {"name": "one", "image": "1", "args": ["a"], "env": [{"name": "X"}]},
                        {"name": "two", "image": "2"},
                    ]
                }
            },
        },
    }


def merged(patch: dict[str, Any]) -> dict[str, Any]:
    return apply_strategic_patch(DEPLOYMENT, live(), patch)


def containers(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": list(items), **more}}}}


def names(found: dict[str, Any]) -> list[str]:
    return [one["name"] for one in found["spec"]["template"]["spec"]["containers"]]


def test_items_merge_by_their_key_and_plain_lists_are_replaced() -> None:
    found = merged(containers({"name": "one", "image": "9", "args": ["c"]}, {"name": "three"}))
    first = found["spec"]["template"]["spec"]["containers"][0]
    assert first == {"name": "one", "image": "9", "args": ["c"], "env": [{"name": "X"}]}
    assert names(found) == ["one", "three", "two"]


def test_an_item_is_deleted() -> None:
    assert names(merged(containers({"$patch": "delete", "name": "one"}))) == ["two"]


def test_a_list_is_replaced_where_one_item_says_so() -> None:
    assert names(merged(containers({"$patch": "replace"}, {"name": "solo"}))) == ["solo"]


def test_the_order_is_the_one_asked_for() -> None:
    order = {"$setElementOrder/containers": [{"name": "two"}, {"name": "new"}, {"name": "one"}]}
    assert names(merged(containers({"name": "new"}, **order))) == ["two", "new", "one"]


def test_keys_not_retained_go() -> None:
    strategy = {"$retainKeys": ["type"], "type": "Recreate"}
    assert merged({"spec": {"strategy": strategy}})["spec"]["strategy"] == {"type": "Recreate"}


def test_a_map_is_replaced_or_emptied() -> None:
    found = merged({"metadata": {"labels": {"$patch": "replace", "c": "d"}}})
    assert found["metadata"]["labels"] == {"c": "d"}
    assert merged({"spec": {"strategy": {"$patch": "delete"}}})["spec"]["strategy"] == {}


def test_scalars_are_added_to_and_deleted_from_lists() -> None:
    added = merged({"metadata": {"finalizers": ["x/3"]}})
    assert added["metadata"]["finalizers"] == ["x/3", "x/1", "x/2"]
    gone = merged({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/1"]}})
    assert gone["metadata"]["finalizers"] == ["x/2"]


def test_null_deletes() -> None:
    assert merged({"metadata": {"labels": {"a": None}}})["metadata"]["labels"] == {}


@pytest.mark.parametrize(
    ("patch", "code", "text"),
    [
        (
            containers({"image": "x"}),
            400,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            containers({"$patch": "dance", "name": "one"}),
            400,
            "unknown patch type: dance in map: map[$patch:dance name:one]",
        ),
        (
            {"spec": {"strategy": {"$retainKeys": ["x"], "type": "Recreate"}}},
            400,
            "invalid patch format of retainKeys",
        ),
        (
            containers({"name": "one"}, **{"$setElementOrder/containers": [{"name": "x"}]}),
            400,
            "The order in patch list:\n[map[name:one]]\n doesn't match $setElementOrder list:\n"
            "[map[name:x]]\n",
        ),
    ],
)
def test_bad_patches_are_refused(patch: dict[str, Any], code: int, text: str) -> None:
    with pytest.raises(ApiError) as raised:
        merged(patch)
    assert (raised.value.status, raised.value.message) == (code, text)


def test_type_of_the_object_decides_which_lists_merge() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"tolerations": [{"key": "a"}]}}
    change = {"spec": {"tolerations": [{"key": "b"}]}, "metadata": {"finalizers": ["x/1"]}}
    result = patched(pod, change)
    assert result["spec"]["tolerations"] == [{"key": "b"}]
    assert result["metadata"]["finalizers"] == ["x/1"]
    assert pod["spec"] == {"tolerations": [{"key": "a"}]}


def test_patch_is_not_changed() -> None:
    order = {"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]}
    patch = containers({"name": "two"}, **order)
    assert names(merged(patch)) == names(merged(patch)) == ["two", "one"]


def test_custom_resource_does_not_support_strategic_patches() -> None:
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": {}}
    with pytest.raises(ApiError) as raised:
        patched(thing, {"spec": {"a": 1}})
    assert (raised.value.status, raised.value.reason) == (415, "UnsupportedMediaType")

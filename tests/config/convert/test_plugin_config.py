"""The `pluginConfig` list of a profile, converted."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.convert.converted import Conversion
from mooring.config.convert.plugin_config import (
    ConvertedPluginConfig,
    require_labels,
    say_list_defaulting,
    set_strategy,
    stop_default_spreading,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def config(*entries: tuple[str, Any]) -> ConvertedPluginConfig:
    return ConvertedPluginConfig([{"name": name, "args": args} for name, args in entries], "old")


def written(given: ConvertedPluginConfig) -> dict[str, Any]:
    return {one["name"]: one.get("args") for one in given.write(Conversion(), "new")}


def test_entries_keep_their_order_and_their_origin() -> None:
    given = ConvertedPluginConfig([{"name": "A", "args": {"a": 1}}, {"name": "B"}, {}], "old")
    conversion = Conversion()
    assert given.write(conversion, "new") == [
        {"name": "A", "args": {"a": 1}},
        {"name": "B"},
        {"name": ""},
    ]
    assert conversion.origins == {f"new[{i}]": f"old[{i}]" for i in range(3)}


def test_args_have_the_version_of_the_result() -> None:
    old = "kubescheduler.config.k8s.io/v1beta2"
    inner = {"apiVersion": "example.com/v1"}
    given = config(("A", {"apiVersion": old, "list": [inner]}))
    assert written(given)["A"] == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "list": [inner],
    }


def test_a_field_is_set_and_its_origin_kept() -> None:
    given = config(("A", {"a": 1}))
    given.put("A", "b", 2, "elsewhere")
    given.put("B", "c", 3, "somewhere")
    conversion = Conversion()
    assert given.write(conversion, "new") == [
        {"name": "A", "args": {"a": 1, "b": 2}},
        {"name": "B", "args": {"c": 3}},
    ]
    assert conversion.origins["new[0].args.b"] == "elsewhere"
    assert conversion.origins["new[1]"] == "somewhere"


def test_a_field_is_set_in_an_entry_that_had_no_args() -> None:
    given = ConvertedPluginConfig([{"name": "A"}], "old")
    given.put("A", "b", 2, "elsewhere")
    assert written(given) == {"A": {"b": 2}}


def test_a_plugin_is_taken_with_all_its_entries() -> None:
    given = config(("A", {"a": 1}), ("B", {}), ("A", {"a": 2}))
    taken = given.take("A")
    assert taken is not None
    assert taken.fields() == {"a": 1}
    assert given.find("A") is None
    assert given.take("A") is None
    assert given.fields("A") == {}
    assert list(written(given)) == ["B"]


def test_args_that_are_no_mapping_have_no_fields() -> None:
    assert config(("A", [1])).fields("A") == {}


@pytest.mark.parametrize(
    ("plugin", "args", "strategy"),
    [
        pytest.param("NodeResourcesLeastAllocated", {}, None, id="the default needs no word"),
        pytest.param(
            "NodeResourcesLeastAllocated",
            {"resources": [{"name": "cpu"}]},
            {"type": "LeastAllocated", "resources": [{"name": "cpu"}]},
            id="resources are kept",
        ),
        pytest.param(
            "NodeResourcesMostAllocated", {}, {"type": "MostAllocated"}, id="full nodes first"
        ),
        pytest.param(
            "RequestedToCapacityRatio",
            {"shape": [{"utilization": 0, "score": 1}]},
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 1}]},
            },
            id="a ratio keeps its shape",
        ),
    ],
)
def test_a_plugin_that_scored_by_resources_is_a_strategy_of_fit(
    plugin: str, args: dict[str, Any], strategy: Any
) -> None:
    given = config((plugin, args))
    set_strategy(given, plugin, given.take(plugin), "origin")
    assert written(given) == (
        {} if strategy is None else {"NodeResourcesFit": {"scoringStrategy": strategy}}
    )


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        pytest.param({"defaultConstraints": [{"maxSkew": 1}]}, "List", id="constraints imply it"),
        pytest.param({"defaultConstraints": []}, None, id="no constraints do not"),
        pytest.param(
            {"defaultConstraints": [{}], "defaultingType": "System"}, "System", id="what is said"
        ),
    ],
)
def test_a_list_of_constraints_is_named_as_such(args: dict[str, Any], kind: str | None) -> None:
    given = config(("PodTopologySpread", args))
    say_list_defaulting(given)
    assert written(given)["PodTopologySpread"].get("defaultingType") == kind


def test_without_spreading_args_nothing_is_named() -> None:
    given = config()
    say_list_defaulting(given)
    assert written(given) == {}


@pytest.mark.parametrize(
    ("args", "kind"),
    [({}, "List"), ({"defaultingType": "System"}, "System"), ({"defaultConstraints": [1]}, None)],
)
def test_default_spreading_stops_unless_the_file_says_something(
    args: dict[str, Any], kind: str | None
) -> None:
    given = config(("PodTopologySpread", args))
    stop_default_spreading(given, "origin")
    assert written(given)["PodTopologySpread"].get("defaultingType") == kind


def test_labels_are_required_by_added_affinity() -> None:
    given = config()
    labels = {"presentLabels": ["a"], "absentLabels": ["b"]}
    require_labels(Conversion(), given, labels, "origin")
    wanted = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]
    assert written(given)["NodeAffinity"] == {
        "addedAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": wanted}]}}
    }


def test_no_labels_require_nothing() -> None:
    given = config()
    require_labels(Conversion(), given, {"presentLabels": []}, "origin")
    assert written(given) == {}


@pytest.mark.parametrize(
    "affinity",
    [
        "text",
        {REQUIRED: "text"},
        {REQUIRED: {"nodeSelectorTerms": "text"}},
        {REQUIRED: {"nodeSelectorTerms": ["text"]}},
        {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": "text"}]}},
    ],
    ids=["no mapping", "no selector", "no terms", "no term", "no expressions"],
)
def test_labels_cannot_be_added_to_what_is_no_affinity(affinity: Any) -> None:
    given = config(("NodeAffinity", {"addedAffinity": affinity}))
    conversion = Conversion()
    require_labels(conversion, given, {"presentLabels": ["a"]}, "origin")
    assert [str(error) for error in conversion.errors] == [
        "old[0].args.addedAffinity: must hold node selector terms, to which NodeLabel's labels go"
    ]

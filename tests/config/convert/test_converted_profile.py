"""Removed plugins in profiles of v1beta2 and older, and the order of what replaces them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.convert import Converted
from tests.config.convert.older import enable, older, only_profile


def run(version: str, plugins: dict[str, Any], config: list[Any] | None = None) -> Converted:
    return older(version, profiles=[{"plugins": plugins, "pluginConfig": config or []}])


def args(converted: Converted, plugin: str) -> Any:
    config = only_profile(converted).get("pluginConfig", [])
    return next((entry["args"] for entry in config if entry["name"] == plugin), None)


@pytest.mark.parametrize("point", ["filter", "postFilter", "reserve", "preBind", "bind"])
def test_a_default_plugin_that_is_enabled_again_moves_to_the_end(point: str) -> None:
    default = {"filter": "NodeName", "postFilter": "DefaultPreemption", "bind": "DefaultBinder"}
    name = default.get(point, "VolumeBinding")
    plugins = {point: enable("Mine", name, disable=(name,))}
    written = only_profile(run("v1beta2", plugins))["plugins"][point]
    assert written["disabled"] == [{"name": "*"}]
    assert [one["name"] for one in written["enabled"]][-2:] == ["Mine", name]


def test_a_default_plugin_that_is_enabled_as_it_is_stays_where_it_is() -> None:
    written = only_profile(run("v1beta2", {"filter": enable("NodeName")}))["plugins"]
    assert "filter" not in written


def test_a_plugin_disabled_wherever_it_ran_is_disabled_as_a_whole() -> None:
    plugins = {"filter": enable(disable=("VolumeZone", "NodeName"))}
    written = only_profile(run("v1beta2", plugins))["plugins"]
    # VolumeZone has a PreFilter today; NodeName still has only a Filter.
    assert written["multiPoint"]["disabled"] == [{"name": "VolumeZone"}]
    assert written["filter"] == {"disabled": [{"name": "NodeName"}]}


def test_all_disabled_where_nothing_ran_disables_nothing() -> None:
    written = only_profile(run("v1alpha2", {"preBind": enable(disable=("*",))}))
    assert "preBind" not in written["plugins"]


@pytest.mark.parametrize(
    ("version", "disabled", "spreading"),
    [
        ("v1alpha2", "DefaultPodTopologySpread", {"defaultingType": "List"}),
        ("v1beta1", "SelectorSpread", {"defaultingType": "List"}),
        ("v1beta2", "SelectorSpread", None),
    ],
)
def test_disabling_the_default_spreading(version: str, disabled: str, spreading: Any) -> None:
    converted = run(version, {"score": enable(disable=(disabled,))})
    assert args(converted, "PodTopologySpread") == spreading
    told = any("SelectorSpread no longer exists" in one for one in converted.warnings[1:])
    assert told == (spreading is None)


def test_selector_spread_alone_becomes_pod_topology_spread() -> None:
    plugins = {
        "preScore": enable("SelectorSpread", disable=("*",)),
        "score": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": "SelectorSpread", "weight": 5}],
        },
    }
    written = only_profile(run("v1beta1", plugins))["plugins"]
    assert written["preScore"]["enabled"] == [{"name": "PodTopologySpread"}]
    assert written["score"]["enabled"] == [{"name": "PodTopologySpread", "weight": 5}]


def test_of_two_spreading_weights_the_larger_holds() -> None:
    score = {
        "disabled": [{"name": "DefaultPodTopologySpread"}],
        "enabled": [{"name": "DefaultPodTopologySpread", "weight": 5}],
    }
    written = only_profile(run("v1alpha2", {"score": score}))["plugins"]
    assert written["score"]["enabled"] == [{"name": "PodTopologySpread", "weight": 5}]
    assert {"name": "PodTopologySpread", "weight": 1} not in written["multiPoint"]["enabled"]


def test_scoring_by_least_allocated_resources_can_be_disabled() -> None:
    plugins = {"score": enable(disable=("NodeResourcesLeastAllocated",))}
    written = only_profile(run("v1beta1", plugins))["plugins"]
    assert written["score"] == {"disabled": [{"name": "NodeResourcesFit"}]}


def test_the_args_of_least_allocated_become_fits() -> None:
    resources = [{"name": "cpu", "weight": 3}]
    config = [{"name": "NodeResourcesLeastAllocated", "args": {"resources": resources}}]
    converted = run("v1beta1", {}, config)
    strategy = {"type": "LeastAllocated", "resources": resources}
    assert args(converted, "NodeResourcesFit") == {"scoringStrategy": strategy}
    path = "profiles[0].pluginConfig[0].args"
    assert converted.origin(f"{path}.scoringStrategy.resources[0]") == f"{path}.resources[0]"


def test_the_ratio_needs_a_shape() -> None:
    plugins = {
        "score": enable("RequestedToCapacityRatio", disable=("NodeResourcesLeastAllocated",))
    }
    (error,) = run("v1beta1", plugins).errors
    assert str(error) == (
        "profiles[0].plugins.score.enabled[0]: RequestedToCapacityRatio needs args with a shape"
    )


def test_every_alternative_of_an_added_affinity_asks_for_node_labels() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"matchFields": []}]
    config = [
        {"name": "NodeLabel", "args": {"absentLabels": ["old"]}},
        {
            "name": "NodeAffinity",
            "args": {"addedAffinity": {required: {"nodeSelectorTerms": terms}}},
        },
    ]
    converted = run("v1beta1", {"filter": enable("NodeLabel")}, config)
    old = {"key": "old", "operator": "DoesNotExist"}
    assert args(converted, "NodeAffinity")["addedAffinity"][required]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "a", "operator": "Exists"}, old]},
        {"matchFields": [], "matchExpressions": [old]},
    ]


@pytest.mark.parametrize(
    ("version", "plugins", "start"),
    [
        (
            "v1alpha2",
            {"score": enable("NodeResourceLimits")},
            "NodeResourceLimits no longer exists",
        ),
        (
            "v1beta1",
            {"bind": enable("SelectorSpread")},
            "SelectorSpread no longer exists, and took",
        ),
        ("v1beta2", {"score": enable("NodePreferAvoidPods")}, "Invalid value: "),
        ("v1beta3", {"multiPoint": enable("NodeLabel")}, "Invalid value: "),
    ],
)
def test_what_nothing_replaces_is_refused(
    version: str, plugins: dict[str, Any], start: str
) -> None:
    (error,) = run(version, plugins).errors
    assert error.path.endswith("enabled[0]")
    assert error.message.startswith(start)


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha2"])
def test_avoiding_pods_is_left_out_with_a_word_if_the_file_asks_for_it(version: str) -> None:
    silent = run(version, {})
    asked = run(version, {"score": enable("NodePreferAvoidPods")})
    assert not any("NodePreferAvoidPods" in one for one in silent.warnings)
    assert any("PreferNoSchedule" in one for one in asked.warnings)
    assert only_profile(silent) == only_profile(asked)

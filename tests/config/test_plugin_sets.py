"""Merging with the defaults and expanding multiPoint: recorded decisions and table tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mooring.config.load import (
    LoadResult,
    default_config,
    load_config_data,
    load_config_text,
)
from mooring.config.plugin_sets import expand_profile
from mooring.config.types import PluginRef, Plugins, PluginSet, ProfileConfig
from mooring.errors import ConfigErrors
from mooring.framework.features import FeatureGates
from mooring.framework.points import CONFIGURABLE_POINTS, Point
from mooring.framework.releases import parse_versions
from tests.config.in_tree import POINTS, in_tree_registry, make_plugin
from tests.conformance.recordings import SCENARIOS, identifier, record

REGISTRY = in_tree_registry(
    make_plugin("Other", "filter score"),
    make_plugin("Sort", "queueSort"),
    make_plugin("Late", "filter"),
    make_plugin("Racks", "placementGenerate"),
    make_plugin("RackScore", "placementScore"),
    make_plugin("Rescue", "podGroupPostFilter"),
    make_plugin("Quorum", "placementFeasible"),
    make_plugin("Quota", "filter placementFeasible"),
)


def recorded() -> Iterator[Any]:
    for scenario in SCENARIOS:
        objects, expected = record(*scenario[:3])
        if "plugins" in expected:
            yield pytest.param(scenario[0], objects, expected, id=identifier(scenario))


@pytest.mark.parametrize(("release", "scenario", "expected"), list(recorded()))
def test_a_recorded_configuration_runs_the_same_plugins(
    release: str, scenario: Any, expected: Any
) -> None:
    gates = FeatureGates(scenario.get("featureGates"), parse_versions([release]))
    result = load_config_data(scenario["config"], registry=REGISTRY, feature_gates=gates)
    pod = scenario.get("pod") or scenario["podSequence"][0]
    name = pod["spec"]["schedulerName"]
    profile = next(one for one in result.profiles if one.scheduler_name == name)
    plugins = {
        point.key: list(profile.names(point))
        for point in CONFIGURABLE_POINTS
        if profile.points[point]
    }
    assert plugins == expected["plugins"]
    assert dict(profile.points[Point.SCORE]) == expected.get("scoreWeights", {})


def load(plugins: str, second: str = "") -> LoadResult:
    profiles = f"- schedulerName: one\n  plugins: {plugins}\n"
    if second:
        profiles += f"- schedulerName: two\n  plugins: {second}\n"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    return load_config_text(f"{head}profiles:\n{profiles}", registry=REGISTRY)


def names(result: LoadResult, point: Point) -> list[str]:
    return list(result.profiles[0].names(point))


def test_plugins_of_a_point_and_of_multi_point_come_first_then_multi_point_then_the_rest() -> None:
    result = load(
        "{multiPoint: {disabled: [{name: NodePorts}], enabled: [{name: Other, weight: 7}]}, "
        "filter: {enabled: [{name: Late}, {name: Other}, {name: NodeName}]}}"
    )
    assert names(result, Point.FILTER)[:2] == ["Other", "NodeName"]
    assert names(result, Point.FILTER)[-1] == "Late"
    assert "NodePorts" not in names(result, Point.FILTER)
    assert names(result, Point.SCORE)[-1] == "Other"
    assert dict(result.profiles[0].points[Point.SCORE])["Other"] == 7


def test_a_point_that_disables_all_keeps_only_what_it_names() -> None:
    result = load("{score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 4}]}}")
    assert result.profiles[0].points[Point.SCORE] == (("ImageLocality", 4),)
    assert "NodeAffinity" in names(result, Point.FILTER)


def test_the_weight_at_the_point_beats_the_one_in_multi_point_and_zero_counts_as_one() -> None:
    result = load(
        "{multiPoint: {enabled: [{name: Other, weight: 7}, {name: NodeAffinity, weight: 0}]}, "
        "score: {enabled: [{name: Other, weight: 3}]}}"
    )
    weights = dict(result.profiles[0].points[Point.SCORE])
    assert weights["Other"] == 3
    assert weights["NodeAffinity"] == 1
    assert weights["VolumeBinding"] == 1


def test_a_default_plugin_that_is_named_again_keeps_its_place() -> None:
    defaults = names(load("{}"), Point.SCORE)
    changed = load("{multiPoint: {enabled: [{name: InterPodAffinity, weight: 9}]}}")
    assert names(changed, Point.SCORE) == defaults
    assert dict(changed.profiles[0].points[Point.SCORE])["InterPodAffinity"] == 9


@pytest.mark.parametrize(
    ("name", "point"),
    [
        pytest.param("Racks", Point.PLACEMENT_GENERATE, id="PlacementGenerate"),
        pytest.param("Quorum", Point.PLACEMENT_FEASIBLE, id="PlacementFeasible"),
        pytest.param("RackScore", Point.PLACEMENT_SCORE, id="PlacementScore"),
        pytest.param("Rescue", Point.POD_GROUP_POST_FILTER, id="PodGroupPostFilter"),
    ],
)
@pytest.mark.parametrize("is_named", [True, False], ids=["in a file", "without a file"])
def test_a_plugin_of_one_point_of_groups_runs_there(
    name: str, point: Point, is_named: bool
) -> None:
    if is_named:
        result = load(f"{{multiPoint: {{enabled: [{{name: {name}}}]}}}}")
    else:
        result = default_config(registry=REGISTRY, enabled=[name])
    assert name in names(result, point)
    assert name in result.profiles[0].plugins


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param("{}", [], id="nobody, without the gate of pod groups"),
        pytest.param(
            "{multiPoint: {enabled: [{name: Quota}, {name: Quorum}]}}",
            ["Quota", "Quorum"],
            id="plugins of multiPoint, in their order",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: Quorum}]}, filter: {enabled: [{name: Quota}]}}",
            ["Quorum", "Quota"],
            id="also one that is enabled at another point only",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: Quota}]}, filter: {disabled: [{name: Quota}]}}",
            ["Quota"],
            id="also one that is disabled at its other points",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: Quorum}], disabled: [{name: Quorum}]}}",
            ["Quorum"],
            id="one that is disabled and enabled again",
        ),
    ],
)
def test_every_plugin_of_a_profile_that_has_the_method_runs_at_placement_feasible(
    plugins: str, expected: list[str]
) -> None:
    assert names(load(plugins), Point.PLACEMENT_FEASIBLE) == expected


@pytest.mark.parametrize(
    ("plugins", "second", "error"),
    [
        pytest.param(
            "{score: {enabled: [{name: NodeName}]}}",
            "",
            "profiles[0].plugins.score.enabled[0].name: "
            'plugin "NodeName" does not extend ScorePlugin plugin',
            id="a plugin at a point that it does not implement",
        ),
        pytest.param(
            "{filter: {enabled: [{name: Late}, {name: NodeName}, {name: Late}]}}",
            "",
            "profiles[0].plugins.filter.enabled[2].name: "
            'plugin "Late" already registered as "FilterPlugin"',
            id="a plugin twice at a point",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: Late}, {name: Late}]}}",
            "",
            "profiles[0].plugins.multiPoint.enabled[1].name: "
            'plugin "Late" already registered as "FilterPlugin"',
            id="a plugin twice in multiPoint",
        ),
        pytest.param(
            "{queueSort: {enabled: [{name: Sort}]}}",
            "",
            "profiles[0].plugins.queueSort: only one queue sort plugin required for profile with "
            'scheduler name "one", but got 2',
            id="two queue sort plugins",
        ),
        pytest.param(
            "{queueSort: {disabled: [{name: '*'}]}}",
            "",
            "profiles[0].plugins.queueSort: only one queue sort plugin required for profile with "
            'scheduler name "one", but got 0',
            id="no queue sort plugin",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: Racks}]}, "
            "placementGenerate: {enabled: [{name: TopologyPlacementGenerator}]}}",
            "",
            "profiles[0].plugins.placementGenerate: at most one placement generate plugin is "
            'allowed for profile with scheduler name "one"',
            id="two placement generate plugins",
        ),
        pytest.param(
            "{bind: {disabled: [{name: DefaultBinder}]}}",
            "",
            "profiles[0].plugins.bind: at least one bind plugin is needed for profile with "
            'scheduler name "one"',
            id="no bind plugin",
        ),
        pytest.param(
            "{}",
            "{multiPoint: {enabled: [{name: Sort}], disabled: [{name: PrioritySort}]}}",
            "profiles[1].plugins: different queue sort plugins for profile "
            '"two": "Sort", first: "PrioritySort"',
            id="queue sort plugins that differ through multiPoint",
        ),
    ],
)
def test_a_choice_that_cannot_run_is_refused(plugins: str, second: str, error: str) -> None:
    with pytest.raises(ConfigErrors) as raised:
        load(plugins, second)
    assert [f"{one.path}: {one.message}" for one in raised.value.errors] == [error]
    assert raised.value.errors[0].line


def test_weights_that_could_overflow_are_refused() -> None:
    heavy = tuple(PluginRef(name=f"P{index}", weight=2**31 - 1) for index in range(3))
    points_of = {plugin.name: frozenset({Point.SCORE}) for plugin in heavy}
    profile = ProfileConfig(plugins=Plugins(score=PluginSet(enabled=heavy)))
    _, errors = expand_profile(profile, points_of)
    assert not any("overflow" in error.message for error in errors)
    heavier = PluginSet(enabled=(PluginRef(name="P0", weight=2**60),))
    _, errors = expand_profile(ProfileConfig(plugins=Plugins(score=heavier)), points_of)
    assert any(
        error.message == "score plugins: total score of Score plugins could overflow"
        for error in errors
    )


@pytest.mark.parametrize(
    ("weights", "refused"),
    [
        pytest.param((-1, 1), True, id="nothing may follow a total below zero"),
        pytest.param((1, -1), False, id="the last may be negative"),
        pytest.param((3, -1, 1), False, id="or one that leaves the total above zero"),
    ],
)
def test_negative_weights_overflow_as_the_references_do(
    weights: tuple[int, ...], refused: bool
) -> None:
    named = tuple(PluginRef(name=f"P{index}", weight=one) for index, one in enumerate(weights))
    points_of = {plugin.name: frozenset({Point.SCORE}) for plugin in named}
    _, errors = expand_profile(
        ProfileConfig(plugins=Plugins(score=PluginSet(enabled=named))), points_of
    )
    assert any("overflow" in error.message for error in errors) == refused


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("DeferredPodScheduling", "preFilter filter permit"),
        ("GangScheduling", "preEnqueue permit"),
        ("TopologyPlacementGenerator", "placementGenerate"),
        ("PodGroupPodsCount", "placementScore"),
    ],
)
def test_built_ins_that_no_recording_shows_have_the_points_of_the_reference(
    name: str, points: str
) -> None:
    # kube-scheduler: the `var _ fwk.…Plugin = &…{}` lines of framework/plugins
    assert POINTS[name] == points

"""v1beta1: plugins of their own score by resources, constraints imply their list."""

from __future__ import annotations

from tests.config.convert.older import enable, older, only_profile


def test_constraints_imply_that_they_are_a_list() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    args = {"name": "PodTopologySpread", "args": {"defaultConstraints": [constraint]}}
    profile = only_profile(older("v1beta1", profiles=[{"pluginConfig": [args]}]))
    (written,) = [one for one in profile["pluginConfig"] if one["name"] == "PodTopologySpread"]
    assert written["args"] == {"defaultConstraints": [constraint], "defaultingType": "List"}


def test_most_allocated_is_a_strategy_of_fit() -> None:
    score = enable("NodeResourcesMostAllocated", disable=("NodeResourcesLeastAllocated",))
    profile = only_profile(older("v1beta1", profiles=[{"plugins": {"score": score}}]))
    (fit,) = [one for one in profile["pluginConfig"] if one["name"] == "NodeResourcesFit"]
    assert fit["args"]["scoringStrategy"]["type"] == "MostAllocated"


def test_extenders_and_settings_stay_as_they_are() -> None:
    extender = {"urlPrefix": "https://e", "enableHTTPS": True}
    found = older("v1beta1", parallelism=3, extenders=[extender])
    assert found.doc_v1["extenders"] == [extender]
    assert found.doc_v1["parallelism"] == 3


def test_without_profiles_there_is_one_with_the_weights_of_the_version() -> None:
    score = only_profile(older("v1beta1"))["plugins"]["multiPoint"]["enabled"]
    assert {one["name"]: one["weight"] for one in score}["TaintToleration"] == 1

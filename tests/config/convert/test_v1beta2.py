"""v1beta2: default plugins point by point."""

from __future__ import annotations

import pytest

from tests.config.convert.older import enable, older, only_profile


@pytest.mark.parametrize("point", ["preEnqueue", "multiPoint"])
def test_points_that_it_ignored_are_left_out_with_a_warning(point: str) -> None:
    found = older("v1beta2", profiles=[{"plugins": {point: enable("Mine")}}])
    assert "Mine" not in str(only_profile(found))
    assert any(
        warning.startswith(f"profiles[0].plugins.{point}: kube-scheduler ignored {point}")
        for warning in found.warnings
    )


def test_a_plugin_that_it_removed_is_refused_at_a_point_and_in_the_args() -> None:
    found = older(
        "v1beta2",
        profiles=[
            {
                "plugins": {"score": enable("NodeResourcesLeastAllocated")},
                "pluginConfig": [{"name": "NodeResourcesLeastAllocated", "args": {}}],
            }
        ],
    )
    assert [error.path for error in found.errors] == [
        "profiles[0].plugins.score.enabled[0]",
        "profiles[0].pluginConfig[0]",
    ]
    assert found.doc_v1 == {}


def test_the_settings_outside_of_profiles_are_kept() -> None:
    found = older("v1beta2", podMaxBackoffSeconds=30, extenders=[{"urlPrefix": "http://e"}])
    assert found.doc_v1["podMaxBackoffSeconds"] == 30
    assert found.doc_v1["extenders"] == [{"urlPrefix": "http://e"}]

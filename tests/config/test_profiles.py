"""Which plugins a profile runs, and what is said of those that cannot run."""

from __future__ import annotations

import pytest

from mooring.config import default_config
from mooring.framework.features import FeatureGates
from mooring.framework.points import Point
from tests.config.loading import (
    REGISTRY,
    errors_of,
    load,
)


def test_a_plugin_that_is_not_registered_says_how_to_register_it() -> None:
    (error,) = errors_of(
        """\
        profiles:
        - plugins:
            filter:
              enabled:
              - name: sample
        """
    )
    assert error.startswith(
        'config.yaml:7:15: profiles[0].plugins.filter.enabled[0].name: plugin "sample" is not '
        "registered; register it with --plugin FILE.py:Class"
    )
    assert "mooring.plugins" in error
    assert "mooring.main(plugins=[...])" in error


def test_a_misspelt_plugin_gets_a_suggestion() -> None:
    (error,) = errors_of("profiles: [{plugins: {multiPoint: {enabled: [{name: Strangre}]}}}]\n")
    assert 'is not registered, did you mean "Stranger"?' in error


def test_args_alone_of_a_plugin_that_is_not_registered_are_a_warning() -> None:
    (warning,) = load("profiles: [{pluginConfig: [{name: sample, args: {a: 1}}]}]\n").warnings
    assert "profiles[0].pluginConfig[0].name" in warning
    assert 'plugin "sample" is not registered and not enabled' in warning


def test_without_a_registry_any_plugin_may_be_named() -> None:
    body = """\
        profiles:
        - plugins: {score: {enabled: [{name: sample}]}}
          pluginConfig: [{name: sample, args: {a: 1}}]
        """
    result = load(body, registry=None)
    assert result.profiles == ()
    assert result.config.profiles[0].plugin_config[0].args == {"a": 1}


@pytest.mark.parametrize("key", ["placementGenerate", "placementScore", "podGroupPostFilter"])
def test_the_points_of_pod_groups_take_plugin_sets_as_the_others_do(key: str) -> None:
    assert load(f"profiles: [{{plugins: {{{key}: {{disabled: [{{name: '*'}}]}}}}}}]\n").profiles
    (error,) = errors_of(f"profiles: [{{plugins: {{{key}: {{enabled: [{{name: X}}]}}}}}}]\n")
    assert 'plugin "X" is not registered' in error


def test_the_gate_of_pod_groups_adds_their_plugins_to_the_default_profile() -> None:
    gates = FeatureGates.from_text("GenericWorkload=true")
    (profile,) = default_config(registry=REGISTRY, feature_gates=gates).profiles
    assert profile.names(Point.PERMIT) == ("GangScheduling",)
    assert profile.names(Point.POD_GROUP_POST_FILTER) == ("DynamicResources", "DefaultPreemption")

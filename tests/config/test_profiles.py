"""Which plugins a profile runs, and what is said of those that cannot run."""

from __future__ import annotations

import pytest

from mooring.config import default_config
from mooring.errors import ConfigErrors
from mooring.framework.features import FeatureGates
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


@pytest.mark.parametrize("key", ["placementGenerate", "placementScore"])
def test_placement_points_are_not_supported_yet(key: str) -> None:
    assert load(f"profiles: [{{plugins: {{{key}: {{disabled: [{{name: '*'}}]}}}}}}]\n").profiles
    (error,) = errors_of(f"profiles: [{{plugins: {{{key}: {{enabled: [{{name: X}}]}}}}}}]\n")
    assert error.endswith(f"the extension point {key} is not supported yet")


@pytest.mark.parametrize(
    "name", ["GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"]
)
def test_pod_group_plugins_are_not_supported_yet(name: str) -> None:
    (error,) = errors_of(
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: {name}}}]}}}}}}]"
    )
    assert error.endswith(f'the plugin "{name}" is not supported yet')


def test_a_gate_that_enables_a_pod_group_plugin_is_not_supported_yet() -> None:
    gates = FeatureGates.from_text("GenericWorkload=true")
    (error,) = errors_of("", feature_gates=gates)
    assert (
        'the plugin "GangScheduling", which a feature gate enables, is not supported yet' in error
    )
    with pytest.raises(ConfigErrors, match="not supported yet"):
        default_config(registry=REGISTRY, feature_gates=gates)

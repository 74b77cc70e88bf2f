"""Printing a configuration, beyond what tests/config/reference.yaml covers."""

from __future__ import annotations

from mooring.config.load import load_config_text
from mooring.config.printing import to_v1
from mooring.framework.features import FeatureGates

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: 2000}
profiles:
- pluginConfig:
  - {name: VolumeBinding, args: {bindTimeoutSeconds: 5}}
  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 7}}
  plugins:
    multiPoint: {disabled: [{name: VolumeBinding}]}
"""
DEFAULTS = [
    "DefaultPreemption",
    "DynamicResources",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "PodTopologySpread",
]


def test_args_are_in_use_and_by_name_or_as_given_with_defaults_after_them() -> None:
    config = load_config_text(CONFIG, feature_gates=FeatureGates()).config

    def names(*, as_given: bool) -> list[str]:
        (profile,) = to_v1(config, as_given=as_given)["profiles"]
        return [one["name"] for one in profile["pluginConfig"]]

    assert names(as_given=False) == sorted([*DEFAULTS, "InterPodAffinity"])
    assert names(as_given=True) == ["VolumeBinding", "InterPodAffinity", *DEFAULTS]


def test_numbers_without_a_fraction_are_printed_as_such() -> None:
    config = load_config_text(CONFIG, feature_gates=FeatureGates()).config
    qps = to_v1(config)["clientConnection"]["qps"]
    assert (qps, type(qps)) == (2000, int)

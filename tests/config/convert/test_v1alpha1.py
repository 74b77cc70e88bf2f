"""v1alpha1: its algorithmSource, and the settings that moved."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.convert import convert
from mooring.errors import ApiError
from tests.config.convert.older import errors, only_profile


def alpha(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }


def fail(error: Exception) -> Any:
    def read(*_: str) -> Any:
        raise error

    return read


POLICY_FILE = {"policy": {"file": {"path": "policy.yaml"}}}
POLICY_MAP = {"policy": {"configMap": {"name": "rules"}}}


@pytest.mark.parametrize("provider", [None, "", "DefaultProvider"])
def test_the_default_provider_prefers_empty_nodes(provider: str | None) -> None:
    source = {} if provider is None else {"algorithmSource": {"provider": provider}}
    assert "pluginConfig" not in only_profile(convert(alpha(**source)))


def test_the_cluster_autoscaler_provider_prefers_full_nodes() -> None:
    doc = alpha(algorithmSource={"provider": "ClusterAutoscalerProvider"})
    assert only_profile(convert(doc))["pluginConfig"] == [
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    ]


def test_a_provider_that_nobody_registered_is_refused() -> None:
    assert errors(convert(alpha(algorithmSource={"provider": "Mine"}))) == [
        'algorithmSource.provider: algorithm provider "Mine" is not registered, expected one of '
        "DefaultProvider, ClusterAutoscalerProvider"
    ]


def test_a_provider_is_looked_at_before_a_policy() -> None:
    converted = convert(alpha(algorithmSource={"provider": "DefaultProvider", **POLICY_FILE}))
    assert "disabled" not in only_profile(converted)["plugins"]["multiPoint"]
    assert any("algorithmSource.policy: is ignored" in one for one in converted.warnings)


def test_a_policy_file_is_looked_at_before_a_policy_config_map() -> None:
    source = {"policy": POLICY_FILE["policy"] | POLICY_MAP["policy"]}
    converted = convert(
        alpha(algorithmSource=source),
        read_file=lambda name: "predicates: []\npriorities: []\n",
        read_config_map=fail(AssertionError("must not be asked")),
    )
    assert set(only_profile(converted)["plugins"]) == {"multiPoint", "filter"}
    assert any("algorithmSource.policy.configMap: is ignored" in w for w in converted.warnings)


def test_a_policy_config_map_is_read_from_kube_system_by_default() -> None:
    asked: list[tuple[str, str]] = []

    def read(namespace: str, name: str) -> dict[str, str]:
        asked.append((namespace, name))
        return {"policy.cfg": '{"predicates": [], "priorities": [],}'}

    converted = convert(alpha(algorithmSource=POLICY_MAP), read_config_map=read)
    assert set(only_profile(converted)["plugins"]) == {"multiPoint", "filter"}
    assert asked == [("kube-system", "rules")]


def test_an_empty_policy_source_is_an_empty_policy() -> None:
    plugins = only_profile(convert(alpha(algorithmSource={"policy": {}})))["plugins"]
    assert plugins["multiPoint"]["disabled"] == [{"name": "*"}]
    assert {"name": "PodTopologySpread", "weight": 2} in plugins["score"]["enabled"]


@pytest.mark.parametrize(
    ("source", "readers", "message"),
    [
        (
            POLICY_FILE,
            {},
            "algorithmSource.policy.file.path: the Policy is kept in the file policy.yaml, which "
            "cannot be read here: convert the Policy itself, or run where it can be read",
        ),
        (
            POLICY_MAP,
            {},
            "algorithmSource.policy.configMap: the Policy is kept in the ConfigMap "
            "kube-system/rules, which cannot be read here: convert the Policy itself, or run where "
            "it can be read",
        ),
        (
            POLICY_FILE,
            {"read_file": fail(FileNotFoundError("gone"))},
            "algorithmSource.policy.file.path: couldn't read policy config: gone",
        ),
        (
            POLICY_MAP,
            {"read_config_map": fail(ApiError(404, reason="NotFound"))},
            "algorithmSource.policy.configMap: couldn't get policy config map kube-system/rules: "
            "404 NotFound",
        ),
        (
            POLICY_MAP,
            {"read_config_map": lambda *_: {"policy.json": "{}"}},
            'algorithmSource.policy.configMap: missing policy config map value at key "policy.cfg"',
        ),
        (
            POLICY_FILE,
            {"read_file": lambda _: "predicates: [{name: Nope}]"},
            "algorithmSource.policy.file.path: policy.yaml: predicates[0].name: predicate type not "
            'found for "Nope"',
        ),
        (
            POLICY_FILE,
            {"read_file": lambda _: "- a list"},
            "algorithmSource.policy.file.path: policy.yaml: must be a mapping, got a list",
        ),
    ],
    ids=[
        "a file without a reader",
        "a ConfigMap without a reader",
        "a file that is not there",
        "a ConfigMap that is not there",
        "a ConfigMap without the key",
        "a Policy with an error",
        "a Policy that is no mapping",
    ],
)
def test_a_policy_that_cannot_be_had_is_an_error(
    source: dict[str, Any], readers: dict[str, Any], message: str
) -> None:
    assert errors(convert(alpha(algorithmSource=source), **readers)) == [message]


def test_a_policy_does_not_go_with_plugins() -> None:
    doc = alpha(
        algorithmSource=POLICY_FILE,
        plugins={"filter": {"enabled": [{"name": "Mine"}]}},
        pluginConfig=[{"name": "Mine"}],
    )
    assert errors(convert(doc, read_file=lambda _: "{}")) == [
        "plugins: using Plugins and Policy simultaneously is not supported",
        "pluginConfig: using PluginConfig and Policy simultaneously is not supported",
    ]


@pytest.mark.parametrize(
    ("policy", "weight"),
    [("{}", 10), ("hardPodAffinitySymmetricWeight: 30", 30)],
    ids=["the file's weight holds", "the policy's weight holds over the file's"],
)
def test_the_weight_of_hard_pod_affinity_with_a_policy(policy: str, weight: int) -> None:
    doc = alpha(algorithmSource=POLICY_FILE, hardPodAffinitySymmetricWeight=10)
    config = only_profile(convert(doc, read_file=lambda _: policy))["pluginConfig"]
    assert {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": weight}} in config


def test_two_weights_of_hard_pod_affinity_must_agree() -> None:
    config = [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 3}}]
    assert only_profile(convert(alpha(hardPodAffinitySymmetricWeight=3, pluginConfig=config)))
    assert errors(convert(alpha(hardPodAffinitySymmetricWeight=4, pluginConfig=config))) == [
        "hardPodAffinitySymmetricWeight: repeated config for plugin InterPodAffinity: its args say "
        "hardPodAffinityWeight 3"
    ]


def test_preemption_can_be_switched_off() -> None:
    on = only_profile(convert(alpha(disablePreemption=False)))["plugins"]["multiPoint"]
    off = only_profile(convert(alpha(disablePreemption=True)))["plugins"]["multiPoint"]
    assert "disabled" not in on
    assert off["disabled"] == [{"name": "DefaultPreemption"}]


def test_post_filter_is_todays_pre_score_and_unreserve_is_part_of_reserve() -> None:
    plugins = {
        "postFilter": {"enabled": [{"name": "Mine"}]},
        "reserve": {"enabled": [{"name": "Mine"}]},
        "unreserve": {"enabled": [{"name": "Mine"}, {"name": "Yours"}]},
    }
    converted = convert(alpha(plugins=plugins))
    written = only_profile(converted)["plugins"]
    assert "postFilter" not in written
    assert written["preScore"] == {"enabled": [{"name": "Mine"}]}
    assert written["reserve"] == {"enabled": [{"name": "Mine"}, {"name": "Yours"}]}
    assert converted.origin("profiles[0].plugins.preScore.enabled[0].name") == (
        "plugins.postFilter.enabled[0].name"
    )
    assert converted.origin("profiles[0].plugins.reserve.enabled[1]") == (
        "plugins.unreserve.enabled[1]"
    )

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.config import default_config, load_config, load_config_data, load_config_text
from mooring.errors import ConfigError, ConfigErrors
from mooring.framework.points import Point
from mooring.plugins.args import NodeResourcesFitArgs
from tests.config.loading import (
    HEAD,
    REGISTRY,
    StrangerArgs,
    errors_of,
    load,
)


def test_a_file_that_says_nothing_is_the_default_configuration() -> None:
    assert load("").config == default_config().config
    (profile,) = load("").profiles
    assert profile == default_config(registry=REGISTRY).profiles[0]
    assert profile.scheduler_name == "default-scheduler"
    assert profile.names(Point.QUEUE_SORT) == ("PrioritySort",)
    assert dict(profile.points[Point.SCORE])["TaintToleration"] == 3
    assert profile.args["NodeResourcesFit"] == NodeResourcesFitArgs()
    assert "DefaultBinder" in profile.plugins


def test_a_plugin_may_be_added_to_the_default_configuration() -> None:
    (profile,) = default_config(registry=REGISTRY, enabled=["Stranger"]).profiles
    assert profile.names(Point.FILTER)[-1] == "Stranger"
    assert profile.args["Stranger"] == StrangerArgs()
    with pytest.raises(ConfigErrors, match='plugin "Nobody" is not registered'):
        default_config(registry=REGISTRY, enabled=["Nobody"])


def test_every_error_has_file_line_column_path_and_words() -> None:
    assert errors_of(
        """\
        parallelism: 0
        profiles:
        - shedulerName: x
          plugins:
            score:
              enabled:
              - name: NodeResourcesFit
                weight: heavy
            multipoint: {}
          pluginConfig:
          - name: InterPodAffinity
            args:
              hardPodAffinityWeight: 101
              ignorePreferredTerms: true
        leaderElection:
          leaseDuration: 15
        """
    ) == [
        "config.yaml:3:14: parallelism: Invalid value: 0: "
        "should be an integer value greater than zero",
        'config.yaml:5:3: profiles[0].shedulerName: unknown field "shedulerName", '
        'did you mean "schedulerName"?',
        "config.yaml:10:17: profiles[0].plugins.score.enabled[0].weight: must be an integer, "
        'got "heavy"',
        'config.yaml:11:5: profiles[0].plugins.multipoint: unknown field "multipoint", '
        'did you mean "multiPoint"?',
        "config.yaml:15:30: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: "
        "Invalid value: 101: not in valid range [0, 100]",
        "config.yaml:16:7: profiles[0].pluginConfig[0].args.ignorePreferredTerms: "
        'unknown field "ignorePreferredTerms", '
        'did you mean "ignorePreferredTermsOfExistingPods"?',
        'config.yaml:18:18: leaderElection.leaseDuration: must be a duration such as "15s", got 15',
    ]


def test_a_file_is_read_from_disk_in_yaml_and_json(tmp_path: Path) -> None:
    yaml_file = tmp_path / "config.yaml"
    yaml_file.write_text("\ufeff" + HEAD + "parallelism: 3\n", encoding="utf-8")
    json_file = tmp_path / "config.json"
    json_file.write_text(
        '{\n\t"apiVersion": "kubescheduler.config.k8s.io/v1",\n'
        '\t"kind": "KubeSchedulerConfiguration",\n\t"parallelism": 3\n}',
        encoding="utf-8",
    )
    assert load_config(yaml_file).config == load_config(json_file).config
    assert load_config(yaml_file).config.parallelism == 3


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: No such file or directory"):
        load_config(tmp_path / "absent.yaml")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(binary)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "must be a KubeSchedulerConfiguration, got an empty document", id="empty"),
        pytest.param("- a\n", "must be a KubeSchedulerConfiguration, got a list", id="a list"),
        pytest.param("a: 1\n", "kind: Required value: must be", id="no kind"),
        pytest.param("kind: Pod\napiVersion: v1\n", 'kind: must be "Kube', id="another kind"),
        pytest.param(
            "kind: KubeSchedulerConfiguration\n", "apiVersion: Required value", id="no version"
        ),
        pytest.param(
            "kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v2\n",
            'got "kubescheduler.config.k8s.io/v2"',
            id="a version that does not exist",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigErrors) as raised:
        load_config_text(text)
    assert words in str(raised.value)


def test_what_one_step_found_is_not_said_again_by_the_next() -> None:
    (error,) = errors_of("profiles: [{plugins: {bind: {enabled: [{name: 5}]}}}]\n")
    assert "must be a string, got 5" in error


def test_an_older_version_loads_with_a_warning_and_its_errors_point_to_the_file() -> None:
    old = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
    result = load_config_text(old + "parallelism: 3\n", registry=REGISTRY)
    assert result.config.parallelism == 3
    assert any("v1beta3" in warning for warning in result.warnings)
    with pytest.raises(ConfigErrors) as raised:
        load_config_text(old + "parallelism: 0\n", file="old.yaml")
    assert str(raised.value).startswith("old.yaml:3:14: parallelism: Invalid value: 0")


def test_data_that_is_parsed_already_gives_errors_without_lines() -> None:
    with pytest.raises(ConfigErrors) as raised:
        load_config_data(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "parallelism": 0,
            },
            file="config",
        )
    assert str(raised.value).startswith("config: parallelism: Invalid value: 0")


WORDS = """apiVersion kind profiles plugins pluginConfig args name weight enabled disabled
    multiPoint
    score filter schedulerName parallelism extenders urlPrefix managedResources tlsConfig certData
    httpTimeout leaderElection leaseDuration clientConnection qps scoringStrategy resources shape
    addedAffinity defaultConstraints percentageOfNodesToScore resourceLock"""
VALUES = """kubescheduler.config.k8s.io/v1 NodeResourcesFit PodTopologySpread NodeAffinity * 15s 1h
    VolumeBinding Stranger RequestedToCapacityRatio List"""
KEYS = st.sampled_from(WORDS.split())
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(VALUES.split()),
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, DATA, max_size=6))
def test_malformed_data_escapes_as_config_errors_only(data: dict[str, Any]) -> None:
    data["apiVersion"] = "kubescheduler.config.k8s.io/v1"
    data["kind"] = "KubeSchedulerConfiguration"
    try:
        load_config_data(data, registry=REGISTRY)
    except ConfigErrors as error:
        assert error.errors


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=60), st.booleans())
def test_malformed_text_escapes_as_config_errors_only(text: str, headed: bool) -> None:
    try:
        load_config_text((HEAD if headed else "") + text, registry=REGISTRY)
    except ConfigErrors as error:
        assert error.errors


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab:-[]{}#&*!|>'\"%@`?,<~01.\n\t ", max_size=80))
def test_text_of_yaml_characters_escapes_as_config_errors_only(text: str) -> None:
    try:
        load_config_text(HEAD + text, registry=REGISTRY)
    except ConfigErrors as error:
        assert error.errors

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.config import default_config, load_config, load_config_data, load_config_text
from mooring.errors import ConfigError, ConfigErrors
from mooring.framework.features import FeatureGates
from mooring.framework.points import Point
from mooring.plugins.args import NodeResourcesFitArgs
from tests.config.in_tree import in_tree_registry, make_plugin

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class StrangerArgs(msgspec.Struct):
    """Arguments as a plugin author writes them: fields without renaming, and a check."""

    favorite_color: str = "blue"
    favorite_number: int = 7

    def check(self) -> None:
        if self.favorite_number < 0:
            raise ValueError(f"favorite_number must not be negative, got {self.favorite_number}")


class BrokenArgs(msgspec.Struct):
    number: int = 0

    def check(self) -> None:
        raise RuntimeError("a bug in the plugin")


class NeedyArgs(msgspec.Struct):
    node: str


REGISTRY = in_tree_registry(
    make_plugin("Stranger", "filter score", StrangerArgs),
    make_plugin("Broken", "filter", BrokenArgs),
    make_plugin("Needy", "filter", NeedyArgs),
    make_plugin("Loose", "permit"),
    make_plugin("OtherSort", "queueSort"),
)


def load(body: str, **options: Any) -> Any:
    options.setdefault("registry", REGISTRY)
    return load_config_text(HEAD + textwrap.dedent(body), file="config.yaml", **options)


def errors_of(body: str, **options: Any) -> list[str]:
    with pytest.raises(ConfigErrors) as raised:
        load(body, **options)
    return str(raised.value).split("\n")


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
    gates = FeatureGates.from_text("GenericWorkload=true,GangScheduling=true")
    (error,) = errors_of("", feature_gates=gates)
    assert (
        'the plugin "GangScheduling", which a feature gate enables, is not supported yet' in error
    )
    with pytest.raises(ConfigErrors, match="not supported yet"):
        default_config(registry=REGISTRY, feature_gates=gates)


def test_a_strangers_args_are_typed_and_defaulted() -> None:
    result = load(
        """\
        profiles:
        - plugins: {multiPoint: {enabled: [{name: Stranger}, {name: Loose}]}}
          pluginConfig:
          - name: Stranger
            args: {favorite_color: red, apiVersion: example.com/v1, kind: StrangerArgs}
          - name: Loose
            args: {anything: [goes]}
        """
    )
    assert result.profiles[0].args["Stranger"] == StrangerArgs(favorite_color="red")
    assert result.profiles[0].args["Loose"] == {"anything": ["goes"]}
    result = load("profiles: [{plugins: {multiPoint: {enabled: [{name: Stranger}]}}}]\n")
    assert result.profiles[0].args["Stranger"] == StrangerArgs()


def test_args_that_a_plugin_needs_and_nobody_gives_are_an_error() -> None:
    (error,) = errors_of("profiles: [{plugins: {filter: {enabled: [{name: Needy}]}}}]\n")
    assert error.endswith(
        'profiles[0].pluginConfig: plugin "Needy" needs args: node: Required value'
    )


@pytest.mark.parametrize(
    ("args", "error"),
    [
        pytest.param(
            "{favourite_color: red}",
            "config.yaml:6:12: profiles[0].pluginConfig[0].args.favourite_color: unknown field "
            '"favourite_color", did you mean "favorite_color"?',
            id="an unknown field",
        ),
        pytest.param(
            "{favorite_number: many}",
            "config.yaml:6:29: profiles[0].pluginConfig[0].args.favorite_number: must be an "
            'integer, got "many"',
            id="a wrong type",
        ),
        pytest.param(
            "{favorite_number: -1}",
            "config.yaml:6:11: profiles[0].pluginConfig[0].args: favorite_number must not be "
            "negative, got -1",
            id="a check of the plugin's own",
        ),
        pytest.param(
            "[red]",
            "config.yaml:6:11: profiles[0].pluginConfig[0].args: must be a mapping, got a list",
            id="not a mapping",
        ),
    ],
)
def test_a_strangers_args_are_checked(args: str, error: str) -> None:
    assert errors_of(
        f"""\
        profiles:
        - plugins: {{multiPoint: {{enabled: [{{name: Stranger}}]}}}}
          pluginConfig:
          - args: {args}
            name: Stranger
        """
    ) == [error]


def test_a_check_that_breaks_is_an_error_of_the_configuration() -> None:
    (error,) = errors_of("profiles: [{pluginConfig: [{name: Broken, args: {number: 1}}]}]\n")
    assert "RuntimeError('a bug in the plugin')" in error


@pytest.mark.parametrize(
    ("args", "error"),
    [
        pytest.param(
            "{kind: InterPodAffinityArgs}",
            "args for plugin NodeResourcesFit were not of type "
            "NodeResourcesFitArgs.kubescheduler.config.k8s.io, got "
            "InterPodAffinityArgs.kubescheduler.config.k8s.io",
            id="the kind of another plugin",
        ),
        pytest.param(
            "{apiVersion: kubescheduler.config.k8s.io/v1beta1}",
            'must be "kubescheduler.config.k8s.io/v1", got "kubescheduler.config.k8s.io/v1beta1"',
            id="an older version",
        ),
    ],
)
def test_the_type_inside_in_tree_args_is_checked(args: str, error: str) -> None:
    body = f"profiles: [{{pluginConfig: [{{name: NodeResourcesFit, args: {args}}}]}}]\n"
    (found,) = errors_of(body)
    assert found.endswith(error)


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

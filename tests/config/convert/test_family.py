"""Points and arguments that plugins of the scheduler-plugins family had, and lost."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config import load_config_text
from mooring.config.convert import to_yaml
from mooring.config.convert.family import find_plugin
from mooring.config.convert.family_table import TABLE
from mooring.config.struct_fields import struct_fields
from mooring.errors import ConfigErrors
from mooring.framework.points import POINT_BY_KEY, points_of
from mooring.registry import default_registry
from tests.config.convert.older import enable, older, only_profile

POST_BIND_GONE = (
    "profiles[0].plugins.postBind.enabled[0]: Coscheduling no longer extends postBind, and is left "
    "out there: it kept the status of PodGroups there, which `mooring controllers` does today, and "
    "`mooring up` by itself"
)
DENIED = "deniedPGExpirationTimeSeconds"


def args(version: str, plugin: str, /, **given: Any) -> tuple[Any, list[str]]:
    """Convert a plugin's arguments; return those of v1, and the warnings but the first."""
    found = older(version, profiles=[{"pluginConfig": [{"name": plugin, "args": given}]}])
    (config,) = only_profile(found)["pluginConfig"]
    return config["args"], found.warnings[1:]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
def test_a_lost_point_is_left_out_with_a_warning(version: str) -> None:
    points = {"postBind": enable("Coscheduling", "Mine"), "permit": enable("Coscheduling")}
    found = older(version, profiles=[{"plugins": points}])
    plugins = only_profile(found)["plugins"]
    assert plugins["postBind"] == {"enabled": [{"name": "Mine"}]}
    assert plugins["permit"] == {"enabled": [{"name": "Coscheduling"}]}
    assert POST_BIND_GONE in found.warnings


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1", "v1beta2", "v1beta3"])
def test_a_point_that_a_plugin_never_had_stays_for_v1_to_refuse(version: str) -> None:
    found = older(version, profiles=[{"plugins": {"postBind": enable("QOSSort")}}])
    assert only_profile(found)["plugins"]["postBind"] == {"enabled": [{"name": "QOSSort"}]}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
def test_the_seconds_of_a_denied_group_become_its_backoff(version: str) -> None:
    written, warnings = args(version, "Coscheduling", permitWaitingTimeSeconds=10, **{DENIED: 3})
    assert written == {"permitWaitingTimeSeconds": 10, "podGroupBackoffSeconds": 3}
    assert warnings == [
        f"profiles[0].pluginConfig[0].args.{DENIED}: Coscheduling no longer has this argument: "
        "podGroupBackoffSeconds takes its place, the seconds for which a group is held back after "
        "a member found no node"
    ]


def test_a_backoff_that_is_set_wins() -> None:
    written, warnings = args("v1beta2", "Coscheduling", podGroupBackoffSeconds=7, **{DENIED: 3})
    assert written == {"podGroupBackoffSeconds": 7}
    assert warnings == [
        f"profiles[0].pluginConfig[0].args.{DENIED}: Coscheduling no longer has this argument, and "
        "it is left out: podGroupBackoffSeconds is set too"
    ]


@pytest.mark.parametrize(
    ("plugin", "argument", "value", "reason"),
    [
        ("Coscheduling", "kubeConfigPath", "/a", "clientConnection.kubeconfig"),
        ("Coscheduling", "kubeMaster", "http://a", "--master"),
        ("CapacityScheduling", "kubeConfigPath", "/a", "clientConnection.kubeconfig"),
        ("NodeResourceTopologyMatch", "kubeconfigpath", "/a", "clientConnection.kubeconfig"),
        ("NodeResourceTopologyMatch", "masteroverride", "http://a", "--master"),
        ("NodeResourceTopologyMatch", "namespaces", ["a"], "in no namespace"),
    ],
)
def test_a_lost_argument_is_left_out_with_its_reason(
    plugin: str, argument: str, value: Any, reason: str
) -> None:
    written, (warning,) = args("v1beta1", plugin, **{argument: value})
    assert written == {}
    path = f"profiles[0].pluginConfig[0].args.{argument}"
    assert warning.startswith(f"{path}: {plugin} no longer has this argument, and it is left out: ")
    assert reason in warning


def test_an_argument_that_the_version_did_not_have_stays_for_v1_to_refuse() -> None:
    assert args("v1beta2", "Coscheduling", kubeMaster="a") == ({"kubeMaster": "a"}, [])


def test_arguments_that_are_no_mapping_stay_for_v1_to_refuse() -> None:
    found = older("v1beta2", profiles=[{"pluginConfig": [{"name": "Coscheduling", "args": [3]}]}])
    assert only_profile(found)["pluginConfig"] == [{"name": "Coscheduling", "args": [3]}]


@pytest.mark.parametrize("given", [{}, {"pluginConfig": [{"name": "Coscheduling"}]}])
def test_a_default_that_has_changed_since_is_kept(given: dict[str, Any]) -> None:
    plugins = {"permit": enable("Coscheduling")}
    found = older("v1alpha2", profiles=[{"plugins": plugins, **given}])
    assert only_profile(found)["pluginConfig"] == [
        {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}
    ]


def test_an_argument_wins_over_the_default_of_its_version() -> None:
    plugins = {"permit": enable("Coscheduling")}
    config = [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 5}}]
    found = older("v1alpha2", profiles=[{"plugins": plugins, "pluginConfig": config}])
    assert only_profile(found)["pluginConfig"] == config


def test_a_moved_argument_that_is_wrong_is_reported_where_the_file_has_it() -> None:
    config = [{"name": "Coscheduling", "args": {DENIED: "soon"}}]
    doc = {
        "apiVersion": "kubescheduler.config.k8s.io/v1beta2",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": config}],
    }
    with pytest.raises(ConfigErrors) as caught:
        load_config_text(to_yaml(doc), registry=default_registry())
    (error,) = caught.value.errors
    assert f"profiles[0].pluginConfig[0].args.{DENIED}: must be" in str(error)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        pytest.param(
            {"plugins": {"postBind": enable("Coscheduling")}},
            'plugin "Coscheduling" does not extend PostBindPlugin plugin',
            id="point",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "Coscheduling", "args": {DENIED: 3}}]},
            f'unknown field "{DENIED}"',
            id="argument",
        ),
    ],
)
def test_v1_refuses_what_a_plugin_lost(given: dict[str, Any], complaint: str) -> None:
    queue_sort = enable("Coscheduling", disable=("*",))
    plugins = {"queueSort": queue_sort, **given.pop("plugins", {})}
    doc = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins, **given}],
    }
    with pytest.raises(ConfigErrors) as caught:
        load_config_text(to_yaml(doc), registry=default_registry())
    assert complaint in str(caught.value)


@pytest.mark.parametrize("name", TABLE)
def test_plugins_have_the_points_and_arguments_of_the_original(name: str) -> None:
    plugin = default_registry().get(name)
    original = find_plugin(name, "v1")
    assert plugin is not None
    assert original is not None
    assert {POINT_BY_KEY[point] for point in original.points.split()} <= points_of(plugin)
    own = set() if plugin.Args is None else {one.encode_name for one in struct_fields(plugin.Args)}
    assert original.args.keys() <= own

"""What a configuration leaves out, filled in."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.durations import Duration
from mooring.config.defaulting import complete
from mooring.config.types import (
    ClientConnection,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    ProfileConfig,
)
from mooring.framework.features import FeatureGates
from mooring.plugins import ARGS_OF_PLUGIN
from mooring.plugins.args import NodeResourcesFitArgs


def completed(**fields: Any) -> KubeSchedulerConfiguration:
    return complete(KubeSchedulerConfiguration(**fields), FeatureGates())


def test_without_profiles_there_is_the_default_one() -> None:
    (profile,) = completed().profiles
    assert profile.scheduler_name == "default-scheduler"


def test_a_single_profile_is_named_and_several_are_not() -> None:
    assert completed(profiles=(ProfileConfig(),)).profiles[0].scheduler_name == "default-scheduler"
    named = completed(profiles=(ProfileConfig(scheduler_name="mine"),)).profiles[0]
    assert named.scheduler_name == "mine"
    several = completed(profiles=(ProfileConfig(), ProfileConfig(scheduler_name="b"))).profiles
    assert [one.scheduler_name for one in several] == [None, "b"]


@pytest.mark.parametrize(
    ("profiling", "given", "contention"),
    [(True, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
def test_contention_is_profiled_if_the_rest_is(
    profiling: bool, given: bool | None, contention: bool
) -> None:
    found = completed(enable_profiling=profiling, enable_contention_profiling=given)
    assert found.enable_contention_profiling is contention


def test_the_zero_values_of_leader_election_count_as_absent() -> None:
    zero = LeaderElection(
        leader_elect=False,
        lease_duration=Duration(0),
        renew_deadline=Duration(0),
        retry_period=Duration(0),
        resource_lock="",
        resource_name="",
        resource_namespace="",
    )
    assert completed(leader_election=zero).leader_election == LeaderElection(leader_elect=False)
    given = LeaderElection(lease_duration=Duration.from_seconds(60), resource_name="mine")
    assert completed(leader_election=given).leader_election == given


def test_the_zero_values_of_the_connection_count_as_absent() -> None:
    zero = ClientConnection(kubeconfig="/a", content_type="", qps=0, burst=0)
    assert completed(client_connection=zero).client_connection == ClientConnection(kubeconfig="/a")
    given = ClientConnection(content_type="application/json", qps=1.0, burst=2)
    assert completed(client_connection=given).client_connection == given


def test_args_of_every_plugin_that_runs_are_added_after_those_given() -> None:
    given = PluginConfig(name="NodeResourcesFit", args=NodeResourcesFitArgs())
    (profile,) = completed(profiles=(ProfileConfig(plugin_config=(given,)),)).profiles
    names = [one.name for one in profile.plugin_config]
    assert names[0] == "NodeResourcesFit"
    assert names[1:] == sorted(set(ARGS_OF_PLUGIN) - {"NodeResourcesFit"})


def test_a_plugin_that_is_disabled_gets_no_args() -> None:
    disabled = PluginSet(disabled=(PluginRef(name="InterPodAffinity"),))
    profile = ProfileConfig(plugins=Plugins(multi_point=disabled))
    (found,) = completed(profiles=(profile,)).profiles
    assert "InterPodAffinity" not in {one.name for one in found.plugin_config}


def test_the_args_of_a_stranger_stay_as_they_are() -> None:
    mine = PluginConfig(name="Mine", args={"a": 1})
    (profile,) = completed(profiles=(ProfileConfig(plugin_config=(mine,)),)).profiles
    assert profile.plugin_config[0] == mine

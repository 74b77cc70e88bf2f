"""Configurations that are complete and wrong."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.durations import Duration
from mooring.config.types import (
    ClientConnection,
    Extender,
    ExtenderManagedResource,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    ProfileConfig,
)
from mooring.config.validate import validate
from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions
from mooring.plugins.args import InterPodAffinityArgs


def errors(*profiles: ProfileConfig, **fields: Any) -> list[str]:
    given = profiles or (ProfileConfig(scheduler_name="a"),)
    config = KubeSchedulerConfiguration(profiles=given, **fields)
    return [str(error) for error in validate(config, FeatureGates())]


def sorts(*names: str) -> Plugins:
    return Plugins(queue_sort=PluginSet(enabled=tuple(PluginRef(name=name) for name in names)))


def seconds(number: float) -> Duration:
    return Duration.from_seconds(number)


def manages(*names: str) -> Extender:
    return Extender(managed_resources=tuple(ExtenderManagedResource(name=name) for name in names))


def test_a_field_of_a_later_release_is_unknown() -> None:
    profile = ProfileConfig(scheduler_name="a", plugins=Plugins(pod_group_post_filter=PluginSet()))
    assert errors(profile) == []
    old = FeatureGates(None, parse_versions(["1.36"]))
    (error,) = validate(KubeSchedulerConfiguration(profiles=(profile,)), old)
    assert str(error) == (
        'profiles[0].plugins.podGroupPostFilter: unknown field "podGroupPostFilter"'
    )


def test_the_default_configuration_is_valid() -> None:
    assert errors() == []


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param(
            {"parallelism": 0},
            ["parallelism: Invalid value: 0: should be an integer value greater than zero"],
            id="no parallelism",
        ),
        pytest.param(
            {"percentage_of_nodes_to_score": 101},
            ["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
            id="more than all nodes",
        ),
        pytest.param(
            {"pod_initial_backoff_seconds": 0},
            ["podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"],
            id="no initial backoff",
        ),
        pytest.param(
            {"pod_initial_backoff_seconds": 5, "pod_max_backoff_seconds": 4},
            [
                "podMaxBackoffSeconds: Invalid value: 4: "
                "must be greater than or equal to PodInitialBackoffSeconds"
            ],
            id="a longest backoff that is shorter",
        ),
        pytest.param(
            {"client_connection": ClientConnection(burst=-1)},
            ["clientConnection.burst: Invalid value: -1: must be non-negative"],
            id="a negative burst",
        ),
        pytest.param(
            {"leader_election": LeaderElection(retry_period=seconds(0))},
            ['leaderElection.retryPeriod: Invalid value: "0s": must be greater than zero'],
            id="no retry period",
        ),
        pytest.param(
            {"leader_election": LeaderElection(lease_duration=seconds(10))},
            [
                'leaderElection.leaseDuration: Invalid value: "10s": '
                "must be greater than `RenewDeadline`"
            ],
            id="a lease as long as its deadline",
        ),
        pytest.param(
            {"leader_election": LeaderElection(resource_lock="endpoints")},
            [
                'leaderElection.resourceLock: Invalid value: "endpoints": '
                'resourceLock value must be "leases"'
            ],
            id="a lock that no longer exists",
        ),
        pytest.param(
            {"leader_election": LeaderElection(leader_elect=False, resource_lock="endpoints")},
            [],
            id="without election its settings do not matter",
        ),
    ],
)
def test_settings(fields: dict[str, Any], found: list[str]) -> None:
    assert errors(**fields) == found


@pytest.mark.parametrize(
    ("profiles", "found"),
    [
        pytest.param(
            [ProfileConfig()], ["profiles[0].schedulerName: Required value"], id="no name"
        ),
        pytest.param(
            [ProfileConfig(scheduler_name="a")] * 2,
            ['profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"'],
            id="a name twice",
        ),
        pytest.param(
            [ProfileConfig(scheduler_name="a", percentage_of_nodes_to_score=-1)],
            ["profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"],
            id="less than no node",
        ),
        pytest.param(
            [ProfileConfig(scheduler_name="a", plugin_config=(PluginConfig(name="Mine"),) * 2)],
            ['profiles[0].pluginConfig[1]: Duplicate value: "Mine"'],
            id="args twice",
        ),
        pytest.param(
            [ProfileConfig(scheduler_name="a", plugin_config=(PluginConfig(name="EBSLimits"),))],
            [
                'profiles[0].pluginConfig[0]: Invalid value: "EBSLimits": was invalid in version '
                '"v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
            ],
            id="args of a plugin that is gone",
        ),
        pytest.param(
            [
                ProfileConfig(
                    scheduler_name="a",
                    plugin_config=(
                        PluginConfig(
                            name="InterPodAffinity",
                            args=InterPodAffinityArgs(hard_pod_affinity_weight=101),
                        ),
                    ),
                )
            ],
            [
                "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: "
                "Invalid value: 101: not in valid range [0, 100]"
            ],
            id="args that their plugin refuses",
        ),
        pytest.param(
            [ProfileConfig(scheduler_name="a", plugins=sorts("A", "B"))],
            [
                "profiles[0].plugins.queueSort.enabled: Invalid value: 2: "
                "only one queue sort plugin can be enabled"
            ],
            id="two plugins that sort the queue",
        ),
        pytest.param(
            [
                ProfileConfig(scheduler_name="a", plugins=sorts("A")),
                ProfileConfig(scheduler_name="b", plugins=sorts("B")),
            ],
            [
                'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"B",'
                '"Weight":0}],"Disabled":null}: must be the same for all profiles'
            ],
            id="profiles that sort the queue differently",
        ),
        pytest.param(
            [
                ProfileConfig(
                    scheduler_name=name,
                    plugins=sorts("A"),
                    plugin_config=(PluginConfig(name="A", args={"by": name}),),
                )
                for name in ("a", "b")
            ],
            [
                'profiles[1].pluginConfig[0].args: Invalid value: {"by":"b"}: '
                "queueSort must be the same for all profiles"
            ],
            id="profiles that sort the queue with other args",
        ),
    ],
)
def test_profiles(profiles: list[ProfileConfig], found: list[str]) -> None:
    assert errors(*profiles) == found


def test_a_removed_plugin_is_refused_at_every_point_but_multi_point() -> None:
    removed = PluginSet(enabled=(PluginRef(name="GCEPDLimits"),))
    at_filter = ProfileConfig(scheduler_name="a", plugins=Plugins(filter=removed))
    at_all = ProfileConfig(scheduler_name="a", plugins=Plugins(multi_point=removed))
    (error,) = errors(at_filter)
    assert error.startswith('profiles[0].plugins.filter.enabled[0]: Invalid value: "GCEPDLimits"')
    assert errors(at_all) == []


@pytest.mark.parametrize(
    ("extenders", "found"),
    [
        pytest.param([manages("example.com/a")], [], id="an extended resource"),
        pytest.param(
            [Extender(prioritize_verb="prioritize")],
            ["extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
            id="scores without a weight",
        ),
        pytest.param(
            [manages("cpu")],
            [
                'extenders[0].managedResources[0].name: Invalid value: "cpu": '
                "is an invalid extended resource name"
            ],
            id="a resource of Kubernetes itself",
        ),
        pytest.param(
            [manages("requests.example.com/a")],
            [
                "extenders[0].managedResources[0].name: Invalid value: "
                '"requests.example.com/a": is an invalid extended resource name'
            ],
            id="a resource of quotas",
        ),
        pytest.param(
            [manages("example.com/a"), manages("example.com/a")],
            [
                'extenders[1].managedResources[0].name: Invalid value: "example.com/a": '
                "duplicate extender managed resource name"
            ],
            id="a resource that two manage",
        ),
        pytest.param(
            [Extender(bind_verb="bind"), Extender(bind_verb="bind")],
            [
                'extenders: Invalid value: "found 2 extenders implementing bind": '
                "only one extender can implement bind"
            ],
            id="two that bind",
        ),
    ],
)
def test_extenders(extenders: list[Extender], found: list[str]) -> None:
    assert errors(extenders=tuple(extenders)) == found

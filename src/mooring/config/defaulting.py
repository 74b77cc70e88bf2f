"""Fill in what a configuration leaves out."""

# kube-scheduler: pkg/scheduler/apis/config/v1/defaults.go

from __future__ import annotations

import msgspec

from mooring.config import defaults
from mooring.config.plugin_sets import enabled_names, merge_plugins
from mooring.config.types import (
    ClientConnection,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginConfig,
    ProfileConfig,
)
from mooring.framework.features import FeatureGates
from mooring.plugins import ARGS_OF_PLUGIN
from mooring.plugins.args import InTreeArgs

_replace = msgspec.structs.replace


def complete(config: KubeSchedulerConfiguration, gates: FeatureGates) -> KubeSchedulerConfiguration:
    """Return the configuration with every default filled in; plugin args must be typed already."""
    profiles = config.profiles or (ProfileConfig(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        # If there are several profiles, each must be named; validation checks that.
        profiles = (_replace(profiles[0], scheduler_name=defaults.SCHEDULER_NAME),)
    contention = config.enable_contention_profiling
    return _replace(
        config,
        profiles=tuple(_complete_profile(profile, gates) for profile in profiles),
        leader_election=_complete_leader_election(config.leader_election),
        client_connection=_complete_client_connection(config.client_connection),
        enable_contention_profiling=config.enable_profiling if contention is None else contention,
    )


def _complete_profile(profile: ProfileConfig, gates: FeatureGates) -> ProfileConfig:
    plugins = merge_plugins(profile.plugins, gates)
    given = [
        _replace(one, args=one.args.with_defaults(gates))
        if isinstance(one.args, InTreeArgs)
        else one
        for one in profile.plugin_config
    ]
    named = {one.name for one in given}
    added = [
        PluginConfig(name=name, args=ARGS_OF_PLUGIN[name]().with_defaults(gates))
        for name in sorted(enabled_names(plugins))
        if name in ARGS_OF_PLUGIN and name not in named
    ]
    return _replace(profile, plugins=plugins, plugin_config=(*given, *added))


def _complete_leader_election(value: LeaderElection) -> LeaderElection:
    # Zero values count as unset, as in Go.
    return _replace(
        value,
        lease_duration=value.lease_duration or defaults.LEASE_DURATION,
        renew_deadline=value.renew_deadline or defaults.RENEW_DEADLINE,
        retry_period=value.retry_period or defaults.RETRY_PERIOD,
        resource_lock=value.resource_lock or defaults.RESOURCE_LOCK,
        resource_name=value.resource_name or defaults.RESOURCE_NAME,
        resource_namespace=value.resource_namespace or defaults.RESOURCE_NAMESPACE,
    )


def _complete_client_connection(value: ClientConnection) -> ClientConnection:
    return _replace(
        value,
        content_type=value.content_type or defaults.CONTENT_TYPE,
        qps=value.qps or defaults.QPS,
        burst=value.burst or defaults.BURST,
    )

"""Check a completed configuration, with the messages of kube-scheduler's own validation."""

# kube-scheduler: apis/config/validation/validation.go, component-base config/validation

from __future__ import annotations

from typing import Any

from mooring.api.field_errors import (
    FieldError,
    child,
    duplicate,
    each,
    invalid,
    required,
)
from mooring.api.names import is_extended_resource, label_key_problems
from mooring.config.decode import UnknownField
from mooring.config.defaults import API_VERSION
from mooring.config.types import (
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginSet,
    ProfileConfig,
)
from mooring.framework.features import FeatureGates
from mooring.plugins.args import InTreeArgs

#: Plugins that kube-scheduler removed; naming one at a point is a separate error.
REMOVED_PLUGINS = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})

_REMOVED = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'


def validate(config: KubeSchedulerConfiguration, gates: FeatureGates) -> list[FieldError]:
    """Return everything that is wrong with a completed configuration."""
    errors = _client_connection(config.client_connection)
    errors += _leader_election(config.leader_election)
    if config.parallelism <= 0:
        text = "should be an integer value greater than zero"
        errors.append(invalid("parallelism", config.parallelism, text))
    first: dict[str, int] = {}
    for index, profile in enumerate(config.profiles):
        path = f"profiles[{index}]"
        errors += _profile(path, profile, gates)
        name = profile.scheduler_name or ""
        if name in first:
            where = f"profiles[{first[name]}].schedulerName"
            errors.append(duplicate(child(path, "schedulerName"), where))
        first[name] = index
    errors += _common_queue_sort(config.profiles)
    errors += _percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        errors.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        text = "must be greater than or equal to PodInitialBackoffSeconds"
        errors.append(invalid("podMaxBackoffSeconds", longest, text))
    return errors + _extenders(config.extenders)


def _client_connection(value: ClientConnection) -> list[FieldError]:
    if value.burst >= 0:
        return []
    return [invalid("clientConnection.burst", value.burst, "must be non-negative")]


def _leader_election(value: LeaderElection) -> list[FieldError]:
    if not value.leader_elect:
        return []
    path = "leaderElection"
    errors = [
        invalid(child(path, name), duration, "must be greater than zero")
        for name, duration in (
            ("leaseDuration", value.lease_duration),
            ("renewDeadline", value.renew_deadline),
            ("retryPeriod", value.retry_period),
        )
        if duration <= 0
    ]
    if value.lease_duration <= value.renew_deadline:
        text = "must be greater than `RenewDeadline`"
        errors.append(invalid(child(path, "leaseDuration"), value.renew_deadline, text))
    if value.resource_lock != "leases":
        text = 'resourceLock value must be "leases"'
        errors.append(invalid(child(path, "resourceLock"), value.resource_lock, text))
    return errors


def _percentage(path: str, value: int | None) -> list[FieldError]:
    if value is None or 0 <= value <= 100:
        return []
    return [invalid(path, value, "not in valid range [0-100]")]


def _profile(path: str, profile: ProfileConfig, gates: FeatureGates) -> list[FieldError]:
    errors = []
    if not profile.scheduler_name:
        errors.append(required(child(path, "schedulerName")))
    where = child(path, "percentageOfNodesToScore")
    errors += _percentage(where, profile.percentage_of_nodes_to_score)
    if profile.plugins is not None:
        if profile.plugins.pod_group_post_filter is not None and not gates.release.pod_groups:
            where = child(path, "plugins", "podGroupPostFilter")
            errors.append(UnknownField(where, 'unknown field "podGroupPostFilter"'))
        for key, plugin_set in profile.plugins.sets():
            if key == "multiPoint":
                continue
            for index, plugin in enumerate(plugin_set.enabled):
                if plugin.name in REMOVED_PLUGINS:
                    where = f"{child(path, 'plugins', key)}.enabled[{index}]"
                    errors.append(invalid(where, plugin.name, _REMOVED))
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        where = f"{child(path, 'pluginConfig')}[{index}]"
        if config.name in seen:
            errors.append(duplicate(where, config.name))
        seen.add(config.name)
        if config.name in REMOVED_PLUGINS:
            errors.append(invalid(where, config.name, _REMOVED))
        elif isinstance(config.args, InTreeArgs):
            errors += config.args.validate(child(where, "args"), gates)
    return errors


def _common_queue_sort(profiles: tuple[ProfileConfig, ...]) -> list[FieldError]:
    errors = []
    canon = _queue_sort(profiles[0])
    name = canon.enabled[0].name if canon.enabled else ""
    if len(canon.enabled) > 1:
        text = "only one queue sort plugin can be enabled"
        where = "profiles[0].plugins.queueSort.enabled"
        errors.append(invalid(where, len(canon.enabled), text))
    args = _args_of(profiles[0], name)
    for index, profile in enumerate(profiles[1:], start=1):
        here = _queue_sort(profile)
        path = f"profiles[{index}]"
        if here != canon:
            text = "must be the same for all profiles"
            errors.append(invalid(child(path, "plugins.queueSort"), _internal(here), text))
        for place, config in enumerate(profile.plugin_config):
            if name and config.name == name and config.args != args:
                where = f"{child(path, 'pluginConfig')}[{place}].args"
                text = "queueSort must be the same for all profiles"
                errors.append(invalid(where, config.args, text))
    return errors


def _queue_sort(profile: ProfileConfig) -> PluginSet:
    return PluginSet() if profile.plugins is None else profile.plugins.queue_sort


def _args_of(profile: ProfileConfig, name: str) -> Any:
    return next((one.args for one in profile.plugin_config if one.name == name), None)


def _internal(plugin_set: PluginSet) -> dict[str, Any]:
    # kube-scheduler prints its internal type, which has no JSON field names.
    return {
        title: [{"Name": plugin.name, "Weight": plugin.weight or 0} for plugin in plugins] or None
        for title, plugins in (("Enabled", plugin_set.enabled), ("Disabled", plugin_set.disabled))
    }


def _extenders(extenders: tuple[Extender, ...]) -> list[FieldError]:
    errors = []
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            text = "must have a positive weight applied to it"
            errors.append(invalid(child(path, "weight"), extender.weight, text))
        for place, resource in enumerate(extender.managed_resources):
            where = f"{child(path, 'managedResources')}[{place}].name"
            errors += _extended_resource(where, resource.name)
            if resource.name in managed:
                text = "duplicate extender managed resource name"
                errors.append(invalid(where, resource.name, text))
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        errors.append(invalid("extenders", found, "only one extender can implement bind"))
    return errors


def _extended_resource(path: str, name: str) -> list[FieldError]:
    errors = each(path, name, label_key_problems(name))
    if errors:
        return errors
    if not is_extended_resource(name):
        return [invalid(path, name, "is an invalid extended resource name")]
    return []

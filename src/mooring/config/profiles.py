"""Resolve profiles against the registered plugins: which plugin runs at which point."""

# kube-scheduler: framework/runtime/framework.go (NewFramework), profile/profile.go (cfgValidator)

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mooring.api.field_errors import FieldError
from mooring.config.config_problems import Problems
from mooring.config.decode import Decoder, suggest
from mooring.config.plugin_args import args_type, build_args
from mooring.config.plugin_sets import (
    PointPlan,
    enabled_names,
    expand_profile,
    sorting_plugins,
)
from mooring.config.resolved_profile import ResolvedProfile
from mooring.config.types import KubeSchedulerConfiguration, Plugins, ProfileConfig
from mooring.config.validate import REMOVED_PLUGINS
from mooring.framework.points import Point
from mooring.framework.releases import Release
from mooring.registry import PointsByName, Registry

_HOW_TO_REGISTER = (
    "register it with --plugin FILE.py:Class, with a package that has the entry point group "
    "mooring.plugins, or with mooring.main(plugins=[...])"
)


def resolve_profiles(
    written: KubeSchedulerConfiguration,
    config: KubeSchedulerConfiguration,
    registry: Registry,
    release: Release,
    problems: Problems,
) -> tuple[ResolvedProfile, ...]:
    """Return what each profile runs. `written` is the file's own form, used to locate errors."""
    points_of = PointsByName(registry, release)
    profiles = []
    for index, profile in enumerate(config.profiles):
        path = f"profiles[{index}]"
        given = written.profiles[index].plugins if index < len(written.profiles) else None
        problems.add(_unusable(path, given or Plugins(), profile, points_of))
        plan, errors = expand_profile(profile, points_of)
        if errors:
            places = _Places(path, given or Plugins())
            problems.add(
                msgspec.structs.replace(error, path=places.of(error.path)) for error in errors
            )
        _warn_about_args(path, profile, points_of, problems)
        _warn_about_queue_sort(path, plan, points_of, problems)
        profiles.append(_resolved(path, profile, plan, registry, problems))
    problems.add(_different_queue_sort(profiles))
    return tuple(profiles)


def _unusable(
    path: str, given: Plugins, profile: ProfileConfig, points_of: Mapping[str, frozenset[Point]]
) -> list[FieldError]:
    errors = []
    for key, plugin_set in given.sets():
        for index, plugin in enumerate(plugin_set.enabled):
            where = f"{path}.plugins.{key}.enabled[{index}].name"
            if plugin.name not in points_of and plugin.name not in REMOVED_PLUGINS:
                hint = suggest(plugin.name, list(points_of))
                text = f'plugin "{plugin.name}" is not registered{hint or ";"} {_HOW_TO_REGISTER}'
                errors.append(FieldError(where, text))
    return errors


class _Places:
    """The places in a profile of the file at which each plugin is named."""

    def __init__(self, path: str, given: Plugins) -> None:
        self._path = path
        self._indexes = {
            key: {plugin.name: index for index, plugin in enumerate(plugin_set.enabled)}
            for key, plugin_set in given.sets()
        }

    def of(self, place: str) -> str:
        """Return the path at which the file names the plugin of an error, else that of the set."""
        key, _, name = place.partition("/")
        index = self._indexes[key].get(name) if name else None
        where = f"{self._path}.plugins.{key}"
        return where if index is None else f"{where}.enabled[{index}].name"


def _warn_about_args(
    path: str, profile: ProfileConfig, points_of: Mapping[str, frozenset[Point]], problems: Problems
) -> None:
    enabled = enabled_names(profile.plugins or Plugins())
    for index, config in enumerate(profile.plugin_config):
        if config.name not in points_of and config.name not in enabled:
            text = (
                f'plugin "{config.name}" is not registered and not enabled; its args are not used'
                f"{suggest(config.name, list(points_of))}"
            )
            problems.warn(f"{path}.pluginConfig[{index}].name", text)


def _warn_about_queue_sort(
    path: str, plan: PointPlan, points_of: Mapping[str, frozenset[Point]], problems: Problems
) -> None:
    """Warn about a plugin that is meant to order the queue, too, and does not."""
    sorting = [name for name, _ in plan[Point.QUEUE_SORT]]
    if len(sorting) != 1:
        return
    for name in sorting_plugins(plan, points_of):
        if name not in sorting:
            text = (
                f"{name} runs without ordering the queue, which {sorting[0]} does; to change that, "
                f"enable {name} and disable {sorting[0]} at queueSort"
            )
            problems.warn(f"{path}.plugins", text)


def _resolved(
    path: str, profile: ProfileConfig, plan: PointPlan, registry: Registry, problems: Problems
) -> ResolvedProfile:
    given = {config.name: config.args for config in profile.plugin_config}
    args = {}
    for name in sorted({name for plugins in plan.values() for name, _ in plugins}):
        kind = args_type(name, registry)
        args[name] = given.get(name)
        if name not in given and kind is not None:
            decoder = Decoder()
            args[name] = build_args(kind, {}, "", decoder)
            problems.add(
                FieldError(f"{path}.pluginConfig", f'plugin "{name}" needs args: {error}')
                for error in decoder.errors
            )
    return ResolvedProfile(
        scheduler_name=profile.scheduler_name or "",
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        points=plan,
        args=args,
    )


def _different_queue_sort(profiles: list[ResolvedProfile]) -> list[FieldError]:
    errors = []
    first = profiles[0].names(Point.QUEUE_SORT)
    for index, profile in enumerate(profiles[1:], start=1):
        here = profile.names(Point.QUEUE_SORT)
        if len(first) != 1 or len(here) != 1:
            continue
        path, name = f"profiles[{index}].plugins", profile.scheduler_name
        if here != first:
            text = (
                f'different queue sort plugins for profile "{name}": "{here[0]}", '
                f'first: "{first[0]}"'
            )
            errors.append(FieldError(path, text))
        elif profile.args[here[0]] != profiles[0].args[here[0]]:
            text = f'different queue sort plugin args for profile "{name}"'
            errors.append(FieldError(path, text))
    return errors

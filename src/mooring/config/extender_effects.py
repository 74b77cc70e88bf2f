"""The effect of a configuration's extenders on the rest of it."""

# kube-scheduler: scheduler.go (buildExtenders)

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mooring.config.defaults import EXTENDER_TIMEOUT
from mooring.config.load import LoadResult
from mooring.config.types import Extender, ProfileConfig
from mooring.errors import ConfigError
from mooring.plugins.args import NodeResourcesFitArgs

NO_FIT_ARGS = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"

_FIT = "NodeResourcesFit"


def ignored_resources(configs: Sequence[Extender]) -> tuple[str, ...]:
    """Return the resources that extenders manage and NodeResourcesFit ignores."""
    return tuple(
        resource.name
        for config in configs
        for resource in config.managed_resources
        if resource.ignored_by_scheduler
    )


def with_extenders(loaded: LoadResult) -> LoadResult:
    """Return the configuration with the extenders' default timeouts and ignored resources."""
    # kube-scheduler changes the configuration while it builds extenders, and shows the result.
    extenders = tuple(
        extender if extender.http_timeout else replace(extender, http_timeout=EXTENDER_TIMEOUT)
        for extender in loaded.config.extenders
    )
    if not extenders:
        return loaded
    config = replace(loaded.config, extenders=extenders)
    return with_ignored_resources(replace(loaded, config=config))


def with_ignored_resources(loaded: LoadResult) -> LoadResult:
    """Return a configuration whose NodeResourcesFit ignores what extenders manage.

    They replace `ignoredResources` as written. A profile without NodeResourcesFit's args is an
    error, as in kube-scheduler.
    """
    ignored = ignored_resources(loaded.config.extenders)
    if not ignored:
        return loaded
    profiles = tuple(_with_ignored(profile, ignored) for profile in loaded.config.profiles)
    resolved = tuple(
        replace(profile, args={**profile.args, _FIT: _ignoring(profile.args[_FIT], ignored)})
        if _FIT in profile.args
        else profile
        for profile in loaded.profiles
    )
    return replace(loaded, config=replace(loaded.config, profiles=profiles), profiles=resolved)


def _with_ignored(profile: ProfileConfig, ignored: tuple[str, ...]) -> ProfileConfig:
    if not any(one.name == _FIT for one in profile.plugin_config):
        raise ConfigError(NO_FIT_ARGS)
    plugin_config = tuple(
        replace(one, args=_ignoring(one.args, ignored)) if one.name == _FIT else one
        for one in profile.plugin_config
    )
    return replace(profile, plugin_config=plugin_config)


def _ignoring(args: NodeResourcesFitArgs, ignored: tuple[str, ...]) -> NodeResourcesFitArgs:
    return replace(args, ignored_resources=ignored)

"""The rules of a replay: those that a journal was recorded with, or others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mooring.config import LoadResult
from mooring.config.extender_effects import with_extenders
from mooring.config.load import load_config_data
from mooring.config.rules import Rules, resolve_config
from mooring.errors import ConfigError, JournalError
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.releases import parse_versions
from mooring.journal.entries import SegmentHead
from mooring.registry import Registry, default_registry, load_plugins
from mooring.replay.recorded_plugins import (
    Trust,
    is_recorded,
    missing_plugins,
    trust_none,
    usable_plugins,
)

RECORDED = "the recorded configuration"


class ReplayRules(Rules, frozen=True):
    """Rules that are applied to a journal."""

    #: Whether they are those that the journal was recorded with.
    is_recorded: bool = False


def recorded_gates(head: SegmentHead) -> FeatureGates:
    """Return the feature gates of a journal; raise JournalError if this version lacks one."""
    try:
        version = parse_versions(*([text] if text else [] for text in _versions(head)))
        return FeatureGates(head.gates, version)
    except ConfigError as error:
        raise JournalError(
            f"the journal's feature gates are not those of this version ({error}): replay it with "
            f"Mooring {head.mooring}, which wrote it"
        ) from error


def _versions(head: SegmentHead) -> tuple[str, str]:
    return head.release, head.min_compatibility


def recorded_rules(
    head: SegmentHead,
    plugins: Iterable[type[Plugin]] = (),
    *,
    references: Sequence[str] = (),
    trusts: Trust = trust_none,
) -> ReplayRules:
    """Return the rules that a journal was recorded with.

    `plugins` are those that the caller has, apart from the built-in ones. Of those that
    `references` name, the recorded ones are used. Files that only the journal names are loaded if
    `trusts` accepts them. Raise JournalError if a recorded plugin is missing.
    """
    gates = recorded_gates(head)
    named = [one for one in load_plugins(references) if is_recorded(head, one)]
    plugins = [*plugins, *named]
    registry = default_registry([*plugins, *missing_plugins(head.plugins, plugins, trusts)])
    return ReplayRules(
        _recorded_config(head, head.config, registry, gates),
        registry,
        gates,
        RECORDED,
        is_recorded=True,
    )


def other_rules(
    head: SegmentHead,
    config: str | None,
    references: Sequence[str],
    plugins: Iterable[type[Plugin]] = (),
    *,
    trusts: Trust = trust_none,
) -> ReplayRules:
    """Return the rules of another configuration, of other plugins, or of both.

    Without `config`, the plugins that `references` name are enabled in every recorded profile, or
    replace the recorded ones of their name; if all of them are recorded ones, the rules are the
    recorded rules. The gates are the recorded ones.
    """
    gates = recorded_gates(head)
    added = load_plugins(references)
    plugins = [*plugins, *added]
    if config is None and all(is_recorded(head, one) for one in added):
        return recorded_rules(head, plugins, trusts=trusts)
    names = {plugin.name for plugin in plugins}
    others = [one for one in head.plugins if one.name not in names]
    if config is None:
        registry = default_registry([*plugins, *missing_plugins(others, plugins, trusts)])
        data = _enabling(head.config, [plugin.name for plugin in added])
        loaded = _recorded_config(head, data, registry, gates)
    else:
        registry = default_registry([*plugins, *usable_plugins(others, plugins, trusts)])
        loaded = with_extenders(resolve_config(config, plugins, registry, gates))
    parts = [config or RECORDED]
    parts += [f"plugin {reference}" for reference in references]
    return ReplayRules(loaded, registry, gates, ", ".join(parts))


def _recorded_config(
    head: SegmentHead, data: Any, registry: Registry, gates: FeatureGates
) -> LoadResult:
    try:
        return printed_config(data, "journal", registry, gates)
    except ConfigError as error:
        raise JournalError(
            f"the journal's configuration cannot be used ({error}): name another one with "
            f"--config, or replay it with Mooring {head.mooring}, which wrote it"
        ) from error


def printed_config(data: Any, source: str, registry: Registry, gates: FeatureGates) -> LoadResult:
    """Load a configuration that a scheduler printed; `source` names it in messages.

    Raise ConfigError if it cannot be used.
    """
    # Extenders are not asked, and the keys of their connections are left out.
    extenders = [
        {name: value for name, value in one.items() if name != "tlsConfig"}
        for one in data.get("extenders", ())
    ]
    data = {**data, "extenders": extenders}
    loaded = load_config_data(data, file=source, registry=registry, feature_gates=gates)
    return with_extenders(loaded)


def _enabling(config: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return a configuration in which every profile enables plugins, at every point they have."""
    profiles = []
    for profile in config.get("profiles", ()):
        plugins = dict(profile.get("plugins", {}))
        multi = dict(plugins.get("multiPoint", {}))
        enabled = list(multi.get("enabled", ()))
        known = {one["name"] for one in enabled}
        enabled += [{"name": name} for name in names if name not in known]
        plugins["multiPoint"] = {**multi, "enabled": enabled}
        profiles.append({**profile, "plugins": plugins})
    return {**config, "profiles": profiles}

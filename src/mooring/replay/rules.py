"""The rules of a replay: those that a journal was recorded with, or others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mooring.config import LoadResult
from mooring.config.extender_effects import with_extenders
from mooring.config.load import load_config, load_config_data
from mooring.errors import ConfigError, JournalError, MooringError
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.releases import parse_versions
from mooring.journal.entries import RecordedPlugin, SegmentHead
from mooring.registry import Registry, default_registry, load_plugins

_OWN = "mooring."
_GONE = (
    "plugin {name} of the journal was loaded from {file}, which {problem}: restore the file, or "
    "name the plugin as it is now with --plugin FILE.py:Class"
)


class ReplayRules(msgspec.Struct, frozen=True):
    """A configuration with its plugins and gates."""

    config: LoadResult
    registry: Registry
    gates: FeatureGates
    #: What they are, in words.
    text: str


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


def recorded_rules(head: SegmentHead, plugins: Iterable[type[Plugin]] = ()) -> ReplayRules:
    """Return the rules that a journal was recorded with.

    `plugins` are those that the caller has, apart from the built-in ones. Raise JournalError if a
    recorded plugin is no longer there, or its file has changed.
    """
    gates = recorded_gates(head)
    registry = default_registry([*plugins, *_load(head.plugins, plugins)])
    return ReplayRules(
        _recorded_config(head, head.config, registry, gates),
        registry,
        gates,
        "the recorded configuration",
    )


def other_rules(
    head: SegmentHead,
    config: str | None,
    references: Sequence[str],
    plugins: Iterable[type[Plugin]] = (),
) -> ReplayRules:
    """Return the rules of another configuration, of other plugins, or of both.

    Without `config`, the plugins that `references` name are enabled in every recorded profile, or
    replace the recorded ones of their name. The gates are the recorded ones.
    """
    gates = recorded_gates(head)
    added = load_plugins(references)
    names = {plugin.name for plugin in (*plugins, *added)}
    others = [one for one in head.plugins if one.name not in names]
    if config is None:
        registry = default_registry([*plugins, *added, *_load(others, plugins)])
        data = _enabling(head.config, [plugin.name for plugin in added])
        loaded = _recorded_config(head, data, registry, gates)
    else:
        registry = default_registry([*plugins, *added, *_still_there(others, plugins)])
        loaded = with_extenders(load_config(config, registry=registry, feature_gates=gates))
    parts = [config or "the recorded configuration"]
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


def _load(
    recorded: Iterable[RecordedPlugin], plugins: Iterable[type[Plugin]]
) -> list[type[Plugin]]:
    """Load the recorded plugins that were neither built in nor passed in."""
    known = {plugin.name for plugin in plugins} | set(default_registry().names())
    wanted = [one for one in recorded if one.name not in known and not _is_own(one)]
    for one in recorded:
        if not _is_own(one):
            _check_file(one)
    try:
        return load_plugins([f"{one.file}:{one.reference.rpartition(':')[2]}" for one in wanted])
    except MooringError as error:
        raise JournalError(
            f"a plugin of the journal no longer loads: {error}; restore it, or name it as it is "
            "now with --plugin FILE.py:Class"
        ) from error


def _still_there(
    recorded: Iterable[RecordedPlugin], plugins: Iterable[type[Plugin]]
) -> list[type[Plugin]]:
    """Load the recorded plugins that can be loaded: another configuration may not need them."""
    found: list[type[Plugin]] = []
    for one in recorded:
        try:
            found += _load([one], plugins)
        except JournalError:
            continue
    return found


def _is_own(plugin: RecordedPlugin) -> bool:
    return plugin.reference.startswith(_OWN)


def _check_file(plugin: RecordedPlugin) -> None:
    """Raise JournalError if the file of a plugin is gone or has changed since."""
    if not plugin.file:
        return
    try:
        content = Path(plugin.file).read_bytes()
    except OSError:
        problem = "is no longer there"
    else:
        if not plugin.sha256 or hashlib.sha256(content).hexdigest() == plugin.sha256:
            return
        problem = "has changed since"
    raise JournalError(_GONE.format(name=plugin.name, file=plugin.file, problem=problem))

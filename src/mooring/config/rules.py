"""The rules of a scheduler: its configuration, with the plugins and gates that it needs.

Every command reads its rules here, so that each mistake has one wording.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from mooring.config.load import LoadResult, default_config, load_config
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.registry import Registry, default_registry

_UNUSED = "{}: no profile uses plugin {}: name it in `plugins`, or leave --config out"

#: Loads a file, as `load_config` does.
LoadConfig = Callable[..., LoadResult]


class Rules(msgspec.Struct, frozen=True):
    """A configuration with its plugins and gates."""

    config: LoadResult
    registry: Registry
    gates: FeatureGates
    #: A description for people.
    text: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about the gates and the configuration."""
        return (*self.gates.warnings, *self.config.warnings)


def make_rules(
    file: str | os.PathLike[str] | None,
    plugins: Sequence[type[Plugin]],
    gates: FeatureGates,
    load: LoadConfig = load_config,
) -> Rules:
    """Return the rules of a configuration file and plugins; raise ConfigError if they are invalid.

    See `resolve_config`.
    """
    registry = default_registry(plugins)
    return Rules(resolve_config(file, plugins, registry, gates, load), registry, gates)


def resolve_config(
    file: str | os.PathLike[str] | None,
    plugins: Sequence[type[Plugin]],
    registry: Registry,
    gates: FeatureGates,
    load: LoadConfig = load_config,
) -> LoadResult:
    """Return the configuration of a file, or the default one; raise ConfigError if it is invalid.

    `plugins` are those of --plugin and of the program. Without a file they run in addition to the
    defaults, at every point they have. With a file they run where it names them, and there is a
    warning for each one that no profile uses.
    """
    if file is None:
        names = dict.fromkeys(plugin.name for plugin in plugins)
        return default_config(registry=registry, feature_gates=gates, enabled=names)
    result = load(file, registry=registry, feature_gates=gates)
    return warn_unused(result, plugins, os.fspath(file))


def warn_unused(result: LoadResult, plugins: Sequence[type[Plugin]], file: str) -> LoadResult:
    """Return a configuration with a warning for each plugin that none of its profiles uses."""
    used = {name for profile in result.profiles for name in profile.plugins}
    unused = (_UNUSED.format(file, plugin.name) for plugin in plugins if plugin.name not in used)
    return replace(result, warnings=(*result.warnings, *unused))

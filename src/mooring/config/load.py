"""Load a configuration: from its text to a completed and checked configuration.

The steps: read the text with positions (positions.py), rewrite an older version as v1 (convert/),
build Structs (decode.py), type the plugins' arguments (plugin_args.py), fill in defaults
(completion.py), validate (validate.py) and, given a registry, decide which plugin runs at which
point (profiles.py). Every step adds its problems to one list, so the user sees all of them at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from mooring.config.config_problems import Problems
from mooring.config.decode import Decoder
from mooring.config.defaulting import complete
from mooring.config.plugin_args import type_plugin_args
from mooring.config.positions import Document, Positions, parse
from mooring.config.profiles import resolve_profiles
from mooring.config.resolved_profile import ResolvedProfile
from mooring.config.types import (
    KubeSchedulerConfiguration,
    PluginRef,
    Plugins,
    PluginSet,
    ProfileConfig,
)
from mooring.config.validate import validate
from mooring.config.versions import ReadConfigMap, to_current
from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates
from mooring.observe.files import locate
from mooring.registry import Registry


class LoadResult(msgspec.Struct, frozen=True):
    """A loaded configuration.

    `profiles` lists, per profile, the plugins of each point; it is empty without a registry. The
    warnings are meant for the user.
    """

    config: KubeSchedulerConfiguration
    profiles: tuple[ResolvedProfile, ...] = ()
    warnings: tuple[str, ...] = ()


def load_config(
    path: str | os.PathLike[str],
    *,
    registry: Registry | None = None,
    feature_gates: FeatureGates | None = None,
    read_config_map: ReadConfigMap | None = None,
    current_only: bool = False,
) -> LoadResult:
    """Load a configuration file (YAML or JSON) of any version, or a Policy file.

    Raise ConfigErrors with everything that is wrong. Without a registry, plugins are not looked up:
    the arguments of in-tree plugins are checked, others are kept as they are. With `current_only`,
    versions older than v1 are refused, as kube-scheduler refuses them.
    """
    try:
        text = locate(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(error.strerror or str(error), file=os.fspath(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error}", file=os.fspath(path)) from error
    return load_config_text(
        text,
        file=os.fspath(path),
        registry=registry,
        feature_gates=feature_gates,
        read_config_map=read_config_map,
        current_only=current_only,
    )


def load_config_text(
    text: str,
    *,
    file: str = "<config>",
    registry: Registry | None = None,
    feature_gates: FeatureGates | None = None,
    read_config_map: ReadConfigMap | None = None,
    current_only: bool = False,
) -> LoadResult:
    """Load a configuration from its text; `file` is the name shown in errors."""
    document = parse(text)
    return _load(document, file, registry, feature_gates, read_config_map, current_only)


def load_config_data(
    data: object,
    *,
    file: str = "<config>",
    registry: Registry | None = None,
    feature_gates: FeatureGates | None = None,
) -> LoadResult:
    """Load a configuration that is already parsed; its errors have paths but no line numbers."""
    return _load(Document(data, Positions(), [], []), file, registry, feature_gates, None)


def default_config(
    *,
    registry: Registry | None = None,
    feature_gates: FeatureGates | None = None,
    enabled: Iterable[str] = (),
) -> LoadResult:
    """Return the configuration of a scheduler that was given no file.

    The plugins named in `enabled` run in addition to the defaults, at every point they implement.
    """
    gates = feature_gates or FeatureGates()
    problems = Problems("<default>", Positions())
    more = PluginSet(enabled=tuple(PluginRef(name=name) for name in enabled))
    profile = ProfileConfig(plugins=Plugins(multi_point=more))
    written = KubeSchedulerConfiguration(profiles=(profile,))
    config = complete(written, gates)
    profiles: tuple[ResolvedProfile, ...] = ()
    if registry is not None:
        profiles = resolve_profiles(written, config, registry, gates.release, problems)
    problems.raise_if_any()
    return LoadResult(config, profiles, problems.warnings)


def _load(
    document: Document,
    file: str,
    registry: Registry | None,
    feature_gates: FeatureGates | None,
    read_config_map: ReadConfigMap | None,
    current_only: bool = False,
) -> LoadResult:
    gates = feature_gates or FeatureGates()
    problems = Problems(file, document.positions)
    for warning in document.warnings:
        problems.warn("", warning)
    problems.add_marked(document.errors)
    problems.raise_if_any()
    data = to_current(document.data, problems, read_config_map, current_only, gates.release)
    problems.raise_if_any()
    decoder = Decoder()
    written = decoder.struct(data, KubeSchedulerConfiguration, "") or KubeSchedulerConfiguration()
    typed = type_plugin_args(written, decoder, registry)
    problems.add(decoder.errors)
    config = complete(typed, gates)
    problems.add(validate(config, gates))
    profiles: tuple[ResolvedProfile, ...] = ()
    if registry is not None:
        profiles = resolve_profiles(written, config, registry, gates.release, problems)
    problems.raise_if_any()
    return LoadResult(config, profiles, problems.warnings)


__all__ = [
    "LoadResult",
    "ReadConfigMap",
    "default_config",
    "load_config",
    "load_config_data",
    "load_config_text",
]

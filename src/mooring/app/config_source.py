"""The effective configuration of a command line."""

# kube-scheduler: cmd/kube-scheduler/app/options/options.go (ApplyTo, ApplyDeprecated,
# ApplyLeaderElectionTo), app/options/configfile.go (LogOrWriteConfig)

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.app.flag_table import LEADER_ELECTION_FIELDS
from mooring.app.flags import FlagValues
from mooring.app.options import Options
from mooring.app.removed_flags import names_policy, old_document
from mooring.config import (
    KubeSchedulerConfiguration,
    LoadResult,
    load_config,
    load_config_text,
    to_v1,
    to_yaml,
)
from mooring.config.load import ReadConfigMap
from mooring.config.rules import resolve_config, warn_unused
from mooring.config.validate import validate
from mooring.errors import ConfigError
from mooring.framework.plugin import Plugin
from mooring.observe.files import locate
from mooring.registry import Registry

#: The text before the v1 document, in the warning about an older version.
V1_FORM = "; its v1 form is:"
#: Used in errors instead of a file name if the configuration comes from flags.
FLAGS = "<flags>"

_LOCK = {"lock-object-name": "resource_name", "lock-object-namespace": "resource_namespace"}
_CLIENT_CONNECTION = {
    "kubeconfig": "kubeconfig",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kube-api-burst": "burst",
}
_TOP = {
    "profiling": "enable_profiling",
    "contention-profiling": "enable_contention_profiling",
}


def effective_config(
    options: Options,
    registry: Registry,
    plugins: Iterable[type[Plugin]] = (),
    read_config_map: ReadConfigMap | None = None,
    *,
    current_only: bool = False,
) -> LoadResult:
    """Return the effective configuration; raise ConfigError with all errors.

    `plugins` are those of --plugin and of the program. Without --config they are enabled; with it,
    there is a warning for each one that no profile uses. With `current_only`, a file must be v1.
    """
    flags = options.flags
    plugins = tuple(plugins)
    if options.config:

        def load(file: str, **settings: Any) -> LoadResult:
            result = load_config(
                file, **settings, read_config_map=read_config_map, current_only=current_only
            )
            return _with_policy(result, options, registry, read_config_map)

        gates = options.feature_gates
        result = resolve_config(options.config, plugins, registry, gates, load)
    else:
        result = _from_flags(options, registry, plugins, read_config_map)
        result = replace(result, config=_apply_deprecated(flags, result.config))
    config = result.config
    election = _given(flags, LEADER_ELECTION_FIELDS)
    if election:
        config = replace(config, leader_election=replace(config.leader_election, **election))
        if options.config:
            _check_again(config, options)
    return replace(result, config=config)


def write_config(config: KubeSchedulerConfiguration, file: str) -> None:
    """Write a configuration with every default, for --write-config-to."""
    try:
        locate(file).write_text(to_yaml(to_v1(config)), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"open {file}: {(error.strerror or str(error)).lower()}") from None


def _with_policy(
    result: LoadResult,
    options: Options,
    registry: Registry,
    read_config_map: ReadConfigMap | None,
) -> LoadResult:
    """Return a file's configuration with the profiles of the Policy that the flags name, if any."""
    if not names_policy(options.flags):
        return result
    policy = _from_old_document(options, registry, read_config_map)
    assert policy is not None
    config = result.config
    return LoadResult(
        replace(
            config,
            profiles=policy.config.profiles,
            extenders=policy.config.extenders or config.extenders,
        ),
        policy.profiles,
        (*result.warnings, *policy.warnings),
    )


def _from_flags(
    options: Options,
    registry: Registry,
    plugins: tuple[type[Plugin], ...],
    read_config_map: ReadConfigMap | None,
) -> LoadResult:
    old = _from_old_document(options, registry, read_config_map)
    if old is not None:
        return warn_unused(old, plugins, FLAGS)
    result = resolve_config(None, plugins, registry, options.feature_gates)
    name = options.flags["scheduler-name"]
    if not name:
        return result
    config, profiles = result.config, result.profiles
    return replace(
        result,
        config=replace(config, profiles=(replace(config.profiles[0], scheduler_name=name),)),
        profiles=(replace(profiles[0], scheduler_name=name),),
    )


def _from_old_document(
    options: Options, registry: Registry, read_config_map: ReadConfigMap | None
) -> LoadResult | None:
    document = old_document(options.flags)
    if document is None:
        return None
    result = load_config_text(
        msgspec.json.encode(document).decode(),
        file=FLAGS,
        registry=registry,
        feature_gates=options.feature_gates,
        read_config_map=read_config_map,
    )
    return replace(result, warnings=tuple(_about_flags(one) for one in result.warnings))


def _about_flags(warning: str) -> str:
    """Reword the warning about a deprecated version for a user who wrote flags."""
    _, form, document = warning.partition(V1_FORM)
    return f"{FLAGS}: what they say is deprecated{form}{document}" if form else warning


def _apply_deprecated(
    flags: FlagValues, config: KubeSchedulerConfiguration
) -> KubeSchedulerConfiguration:
    return replace(
        config,
        **_given(flags, _TOP),
        client_connection=replace(config.client_connection, **_given(flags, _CLIENT_CONNECTION)),
        leader_election=replace(config.leader_election, **_given(flags, _LOCK)),
    )


def _given(flags: FlagValues, fields: dict[str, str]) -> dict[str, object]:
    return {field: flags[flag] for flag, field in fields.items() if flags.given(flag)}


def _check_again(config: KubeSchedulerConfiguration, options: Options) -> None:
    """Validate a file's configuration again after flags have changed it."""
    errors = validate(config, options.feature_gates)
    if errors:
        raise ConfigError("\n".join(f"{FLAGS}: {error.path}: {error.message}" for error in errors))

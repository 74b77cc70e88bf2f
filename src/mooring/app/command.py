"""The command: turns flags into the settings of a scheduler."""

# kube-scheduler: cmd/kube-scheduler/app/server.go (runCommand, Setup), component-base cli/run.go

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable

import msgspec

from mooring.api.go_format import go_quote
from mooring.app.config_maps import config_map_reader
from mooring.app.config_source import V1_FORM, effective_config, write_config
from mooring.app.flags import FlagValues
from mooring.app.options import Options, make_options, read_feature_gates, read_log_options
from mooring.config import LoadResult, to_v1, to_yaml
from mooring.config.extender_effects import with_extenders
from mooring.config.secret_values import without_secrets
from mooring.errors import ConfigError, MooringError
from mooring.framework.plugin import Plugin
from mooring.observe.confinement import refuse_if_confined
from mooring.observe.file_rights import warn_of_changeable
from mooring.observe.logs import Verbosity, configure, kv, log_error, verbose, vlog
from mooring.registry import Registry, default_registry, load_plugins, plugin_files

log = logging.getLogger(__name__)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a command line asks for, checked and complete."""

    options: Options
    registry: Registry
    config: LoadResult
    verbosity: Verbosity
    #: Whether it replaces kube-scheduler, and does exactly what kube-scheduler does.
    drop_in: bool = False


#: Runs a scheduler until it ends, and returns the exit status.
RunScheduler = Callable[[Command], int]


def run_flags(
    flags: FlagValues,
    run: RunScheduler,
    *,
    plugins: Iterable[type[Plugin]] = (),
    drop_in: bool = False,
) -> int:
    """Run a scheduler with the flags of a command line; return the exit status.

    `plugins` are registered like those of --plugin. Errors are logged. With `drop_in`, the
    configuration file must be v1, as for kube-scheduler.
    """
    verbosity = configure()
    try:
        gates = read_feature_gates(flags)
        try:
            how = read_log_options(flags, gates)
        except ConfigError as error:
            print(error, file=sys.stderr)
            return 1
        verbosity = configure(how.format, how.v, how.vmodule)
        _log_flags(flags)
        command = _prepare(make_options(flags, gates), plugins, verbosity, drop_in)
        if command.options.write_config_to:
            write_config(command.config.config, command.options.write_config_to)
            log.info("Wrote configuration", extra=kv(file=command.options.write_config_to))
            return 0
        return run(command)
    except MooringError as error:
        log_error(log, error, "command failed")
        return 1


def _prepare(
    options: Options, plugins: Iterable[type[Plugin]], verbosity: Verbosity, drop_in: bool
) -> Command:
    _check_confined(options)
    for warning in options.warnings:
        log.warning(warning)
    warn_of_changeable((*plugin_files(options.plugin), *filter(None, (options.config,))))
    more = [*plugins, *load_plugins(options.plugin)]
    registry = default_registry(more)
    # Plugins have created their own loggers.
    verbosity.apply()
    config = with_extenders(
        effective_config(
            options,
            registry,
            more,
            config_map_reader(options, drop_in=drop_in),
            current_only=drop_in,
        )
    )
    for warning in config.warnings:
        _warn(warning)
    if verbose(log, 2):
        shown = without_secrets(to_v1(config.config))
        vlog(log, 2, "Using component config", config=to_yaml(shown))
    return Command(
        options=options, registry=registry, config=config, verbosity=verbosity, drop_in=drop_in
    )


def _check_confined(options: Options) -> None:
    """Refuse the flags that load code or write files if this process runs one plugin alone."""
    for flag, value in (
        ("plugin", options.plugin),
        # A journal's questions are answered by a process that loads what the journal names.
        ("journal", options.journal),
        ("write-config-to", options.write_config_to),
    ):
        if value:
            refuse_if_confined(f"--{flag}")


def _warn(warning: str) -> None:
    text, form, document = warning.partition(V1_FORM)
    if form:
        log.warning(text, extra=kv(v1=document.strip("\n") + "\n"))
    else:
        log.warning(text)


def _log_flags(flags: FlagValues) -> None:
    if verbose(log, 1):
        for name, value in flags.shown().items():
            vlog(log, 1, f"FLAG: --{name}={go_quote(value)}")

"""`mooring config`: check a configuration file, or print it as v1 with every default."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from mooring.cli.commands import COMMANDS
from mooring.cli.gate_flags import add_gate_flags, read_gates
from mooring.cli.messages import warn
from mooring.errors import ConfigError

if TYPE_CHECKING:
    from mooring.config import LoadResult
    from mooring.registry import Registry


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `config` with `validate` and `convert`."""
    parser = subparsers.add_parser("config", help=COMMANDS["config"].help)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    validate = actions.add_parser(
        "validate",
        help="print every error in a file",
        description="Check a KubeSchedulerConfiguration (any version) or a Policy file.",
    )
    validate.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="register a plugin; may be repeated",
    )
    validate.set_defaults(run=_validate)
    convert = actions.add_parser(
        "convert",
        help="print a file as v1, with every default",
        description="Print a KubeSchedulerConfiguration (any version) or a Policy file as v1, "
        "with every default, as kube-scheduler --write-config-to does.",
    )
    convert.set_defaults(run=_convert)
    for action in (validate, convert):
        action.add_argument("file", metavar="FILE", help='the file; "-" reads standard input')
        add_gate_flags(action)


def _validate(args: argparse.Namespace) -> int:
    from mooring.app.signals import ended_by_interrupt
    from mooring.config.rules import warn_unused
    from mooring.registry import default_registry, load_plugins

    with ended_by_interrupt():
        plugins = [*args.plugins, *load_plugins(args.plugin)]
        result = _load(args, default_registry(plugins))
        warn(warn_unused(result, plugins, _name(args)).warnings)
    print(f"{_name(args)}: valid")
    return 0


def _convert(args: argparse.Namespace) -> int:
    from mooring.config import to_v1, to_yaml

    result = _load(args, None)
    # A deprecation warning also contains the v1 form, which this command prints to stdout.
    warn(tuple(warning.partition("; its v1 form is:")[0] for warning in result.warnings))
    sys.stdout.write(to_yaml(to_v1(result.config)))
    return 0


def _load(args: argparse.Namespace, registry: Registry | None) -> LoadResult:
    from mooring.config import load_config, load_config_text

    gates = read_gates(args)
    warn(gates.warnings)
    if args.file != "-":
        return load_config(args.file, registry=registry, feature_gates=gates)
    try:
        text = sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error}", file=_name(args)) from error
    return load_config_text(text, file=_name(args), registry=registry, feature_gates=gates)


def _name(args: argparse.Namespace) -> str:
    return "<stdin>" if args.file == "-" else str(args.file)

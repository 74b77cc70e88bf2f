"""The flags of commands that apply a scheduler's rules to a cluster which another one serves."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mooring.cli.gate_flags import add_gate_flags, read_gates
from mooring.cli.messages import warn

if TYPE_CHECKING:
    from mooring.config.rules import Rules


def add_rule_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the cluster and the rules."""
    parser.add_argument("--kubeconfig", default="", metavar="PATH", help="a kubeconfig")
    parser.add_argument("--context", default="", metavar="NAME", help="a context of the kubeconfig")
    parser.add_argument("--config", metavar="FILE", help="a KubeSchedulerConfiguration")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="register a plugin, and without --config enable it; may be repeated",
    )
    add_gate_flags(parser)


def gives_rules(args: argparse.Namespace) -> str:
    """Return the first flag that names rules; empty if the command line leaves them to others."""
    for flag in ("config", "plugin", "feature_gates", "emulated_version"):
        if getattr(args, flag):
            return f"--{flag.replace('_', '-')}"
    return "a plugin of this program" if args.plugins else ""


def gives_configuration(args: argparse.Namespace) -> bool:
    """Return whether the command line names rules other than plugins."""
    return bool(args.config or args.feature_gates or args.emulated_version)


def read_rules(args: argparse.Namespace) -> Rules:
    """Load the configuration and the plugins; raise ConfigError if they cannot be used."""
    from msgspec.structs import replace

    from mooring.config.rules import make_rules
    from mooring.registry import load_plugins

    gates = read_gates(args)
    rules = make_rules(args.config, [*args.plugins, *load_plugins(args.plugin)], gates)
    warn(rules.warnings)
    parts = [args.config or "the default configuration"]
    parts += [f"plugin {reference}" for reference in args.plugin]
    if rules.config.config.extenders:
        parts.append("without its extenders, which are not asked")
    return replace(rules, text=", ".join(parts))

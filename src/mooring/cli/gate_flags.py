"""The flags of commands that emulate a release: `--emulated-version` and `--feature-gates`."""

from __future__ import annotations

import argparse

from mooring.framework.features import FeatureGates
from mooring.framework.releases import NEWEST, RELEASES, parse_versions


def add_gate_flags(parser: argparse._ActionsContainer) -> None:
    """Add both flags."""
    parser.add_argument(
        "--feature-gates", default="", metavar="A=true,B=false", help="feature gates to set"
    )
    parser.add_argument(
        "--emulated-version",
        action="append",
        default=[],
        metavar="VERSION",
        help="the release of kube-scheduler to behave like: "
        f"{' or '.join(release.version for release in RELEASES)} (default: {NEWEST.version})",
    )


def read_gates(args: argparse.Namespace) -> FeatureGates:
    """Return the gates that the flags ask for; raise ConfigError if they are wrong."""
    return FeatureGates.from_text(args.feature_gates, parse_versions(args.emulated_version))

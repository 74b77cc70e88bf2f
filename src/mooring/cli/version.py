"""`mooring version`: print the versions of Mooring, Kubernetes and Python."""

from __future__ import annotations

import argparse

from mooring import __version__
from mooring.cli.commands import COMMANDS


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser(
        "version",
        help=COMMANDS["version"].help,
        description="Print the version of Mooring, of the Kubernetes release whose behaviour it "
        "implements, and of Python.",
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    import json
    import platform

    from mooring.api.kubernetes_version import KUBERNETES_VERSION

    versions = {
        "mooring": __version__,
        "kubernetes": f"v{KUBERNETES_VERSION}",
        "python": platform.python_version(),
    }
    if args.output == "json":
        print(json.dumps(versions, indent=2))
    else:
        for name, found in versions.items():
            print(f"{name.capitalize():11} {found}")
    return 0

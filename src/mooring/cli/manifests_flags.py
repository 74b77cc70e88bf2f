"""The flags of `mooring manifests`."""

from __future__ import annotations

import argparse

from mooring import __version__
from mooring.cli.commands import COMMANDS
from mooring.cli.extender_flags import add_section_options

_DESCRIPTION = """Print the Kubernetes objects that run a scheduler: its account and rights, its
configuration, the code of small plugins, and the Deployment. With --extender they run an extender
for a stock kube-scheduler. Pipe them into kubectl apply -f -"""

DEFAULT_NAME = "mooring"

EXTENDER_NAME = "mooring-extender"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `manifests`."""
    parser = subparsers.add_parser(
        "manifests",
        help=COMMANDS["manifests"].help,
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "--name",
        default="",
        help=f"of the scheduler, its Lease and every object (default: {DEFAULT_NAME}, with "
        f"--extender {EXTENDER_NAME})",
    )
    image = f"mooring:{__version__}"
    parser.add_argument("--image", default=image, help=f"to run (default: {image})")
    parser.add_argument("--namespace", default="kube-system", help="(default: kube-system)")
    parser.add_argument(
        "--config", metavar="FILE", help="a scheduler configuration, of any version"
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py[:Class]",
        help="put a plugin's file into a ConfigMap and load it; may be repeated",
    )
    parser.add_argument(
        "--replicas", type=int, metavar="N", help="(default: 2, without leader election 1)"
    )
    parser.add_argument(
        "--controllers",
        action="store_true",
        help="also run `mooring controllers`, which write the status of PodGroups and "
        "ElasticQuotas",
    )
    parser.add_argument(
        "--extender",
        action="store_true",
        help="run `mooring extender`, with a Service and a certificate; the last lines, which are "
        "comments, say what to add to kube-scheduler's configuration",
    )
    parser.add_argument(
        "--tls-secret",
        default="",
        metavar="NAME",
        help="with --extender: a Secret with a certificate, instead of a self-signed one",
    )
    add_section_options(parser.add_argument_group("with --extender"))
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.manifests import run

    return run(args)

"""The flags of `mooring extender`."""

from __future__ import annotations

import argparse

from mooring.cli.commands import COMMANDS
from mooring.config.defaults import EXTENDER_TIMEOUT
from mooring.extender.extender_defaults import PAIR_NAME, PORT

_DESCRIPTION = """Serve plugins to a stock kube-scheduler as an HTTP extender: Filter answers filter
and preempt, Score answers prioritize, Bind answers bind. --print-config prints what to add to
kube-scheduler's configuration."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `extender`."""
    parser = subparsers.add_parser(
        "extender",
        help=COMMANDS["extender"].help,
        description=_DESCRIPTION,
    )
    add_plugin_options(parser)
    parser.add_argument(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="the cluster (default: that of the pod, of $KUBECONFIG or of ~/.kube/config; if there "
        "is none, requests must carry whole nodes)",
    )
    parser.add_argument(
        "--feature-gates", default="", metavar="A=true,B=false", help="feature gates to set"
    )
    parser.add_argument(
        "--bind-address", default="0.0.0.0", metavar="IP", help="(default: all addresses)"
    )
    parser.add_argument("--port", type=int, default=PORT, metavar="P", help=f"(default: {PORT})")
    parser.add_argument("--http", action="store_true", help="serve plain HTTP, without TLS")
    parser.add_argument(
        "--tls-cert-file",
        default="",
        metavar="FILE",
        help="the certificate to serve with; without it a self-signed one is made",
    )
    parser.add_argument("--tls-private-key-file", default="", metavar="FILE", help="its key")
    parser.add_argument(
        "--cert-dir",
        default="",
        metavar="FOLDER",
        help=f"where the self-signed certificate is kept, as {PAIR_NAME}.crt and .key",
    )
    parser.add_argument(
        "--client-ca-file",
        default="",
        metavar="FILE",
        help="answer only clients with a certificate of these authorities",
    )
    parser.add_argument(
        "--max-request-size",
        default="16Mi",
        metavar="SIZE",
        help="the largest request, at most 1Gi (default: 16Mi)",
    )
    add_section_options(parser)
    parser.add_argument(
        "--url", default="", metavar="URL", help="how kube-scheduler reaches this extender"
    )
    parser.add_argument(
        "--print-config",
        action="store_true",
        help="print the extenders section for kube-scheduler's configuration, and end",
    )
    parser.add_argument("-v", "--v", type=int, default=0, metavar="N", help="how much to log")
    parser.set_defaults(run=_run)


def add_plugin_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which plugins are served."""
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="serve a plugin; with --config, at the points that the file names; may be repeated",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a KubeSchedulerConfiguration: the plugins that it adds to the defaults are served",
    )


def add_section_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that only change what kube-scheduler's configuration says."""
    parser.add_argument(
        "--managed-resource",
        action="append",
        default=[],
        metavar="NAME[:ignored]",
        help="answer only for pods that request this resource; with :ignored, kube-scheduler does "
        "not check it itself; may be repeated",
    )
    parser.add_argument(
        "--ignorable",
        action="store_true",
        help="let kube-scheduler go on without this extender if it fails",
    )
    parser.add_argument(
        "--node-cache-capable",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether requests carry names of nodes (default) or whole nodes",
    )
    parser.add_argument(
        "--http-timeout",
        default=str(EXTENDER_TIMEOUT),
        metavar="DURATION",
        help=f"how long kube-scheduler waits for an answer (default: {EXTENDER_TIMEOUT})",
    )


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.extender import run

    return run(args)

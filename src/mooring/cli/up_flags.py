"""The flags of `mooring up`."""

from __future__ import annotations

import argparse
from pathlib import Path

from mooring.cli.commands import COMMANDS
from mooring.cli.gate_flags import add_gate_flags
from mooring.cli.journal_flags import add_journal_flags
from mooring.cli.pid_file import KUBECONFIG

#: The default number of fake nodes.
NODES = 3

_LAST_PORT = 65535

_DESCRIPTION = """Run a local Kubernetes cluster in this process, without Docker, etcd or Go: an API
server that kubectl and other clients can use, controllers, fake nodes that run pods, and the
scheduler. Ctrl-C ends it."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser("up", help=COMMANDS["up"].help, description=_DESCRIPTION)
    _add_contents(parser.add_argument_group("what is in it"))
    _add_scheduling(parser.add_argument_group("how it schedules"))
    _add_running(parser.add_argument_group("how it runs"))
    parser.set_defaults(run=_run)


def _add_contents(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--nodes",
        type=_count,
        metavar="N",
        help=f"the number of fake nodes to create (default: {NODES}; none with -f, with "
        "--from-kubeconfig, or if --data-dir already holds a cluster)",
    )
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        default=[],
        metavar="FILE",
        help="manifests to start with, whose nodes become fake nodes: a file, a folder, or "
        '"-" for standard input; may be repeated',
    )
    parser.add_argument(
        "--from-kubeconfig",
        nargs="?",
        const="",
        metavar="PATH",
        help="copy the nodes, pods, workloads and policies of the cluster that a kubeconfig names, "
        "which is only read; without PATH, the cluster that kubectl would use",
    )
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="keep the objects in a folder, across restarts"
    )
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        metavar="NAME[=FILE.py:Class]",
        help="run containers of this image as processes of this user, which can read your files. "
        "With a plugin: as schedulers with that plugin alone. Without one: as any `mooring` "
        "command, with any plugin that a container's arguments name, so whoever may create pods "
        "may run code as you. May be repeated. Other images are simulated",
    )
    parser.add_argument(
        "--run-loaded-images",
        action="store_true",
        help="run such containers also for pods and workloads of -f and --from-kubeconfig, which "
        "are otherwise simulated",
    )
    parser.add_argument(
        "--runtime-config",
        default="",
        metavar="VERSIONS",
        help="group versions to serve beyond the default ones, such as "
        "resource.k8s.io/v1beta2=true, separated by commas",
    )
    parser.add_argument(
        "--crds",
        default="",
        metavar="SETS",
        help="sets of custom resources to serve: scheduling, topology, appgroup, networktopology, "
        "seccomp, separated by commas, or all; a plugin that needs one turns it on",
    )
    parser.add_argument(
        "--event-ttl",
        default="1h",
        metavar="DURATION",
        help="how long an Event is kept after its last change (default: %(default)s)",
    )


def _add_scheduling(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a KubeSchedulerConfiguration; if it has no profile default-scheduler, one is added",
    )
    parser.add_argument(
        "--no-scheduler",
        action="store_true",
        help="start no scheduler; pods wait for one that you start, such as `mooring run`",
    )
    parser.add_argument(
        "--no-default-scheduler",
        action="store_true",
        help="add no profile default-scheduler to those of --config: another process serves it",
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="register a plugin, and without --config enable it; may be repeated",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="reload the plugins and the configuration when their files change",
    )
    parser.add_argument(
        "--explain-memory",
        default="16Mi",
        metavar="SIZE",
        help="how much memory the last scheduling attempts of the pods may take; 0 keeps none "
        "(default: %(default)s)",
    )
    add_gate_flags(parser)
    add_journal_flags(parser)
    parser.add_argument(
        "-v", "--v", type=_count, default=0, metavar="N", help="the log verbosity (default: 0)"
    )


def _add_running(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--port", type=_port, default=0, metavar="P", help="the port; 0 chooses a free one"
    )
    parser.add_argument(
        "--bind-address",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on (default: 127.0.0.1)",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        default=KUBECONFIG,
        metavar="PATH",
        help="where to write the kubeconfig (default: %(default)s)",
    )
    parser.add_argument(
        "--detach",
        action="store_true",
        help="return when the cluster is ready; it runs in the background until `mooring down`",
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a non-negative integer, got {text}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"must be a port from 0 to {_LAST_PORT}, got {text}")
    return int(text)


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.up import run

    return run(args)

"""`mooring down`: stop a local cluster that runs in the background."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from pathlib import Path

from mooring.cli.pid_file import KUBECONFIG, PidFile
from mooring.errors import ConfigError

#: How many seconds a cluster has to end.
PATIENCE = 30.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser(
        "down",
        help="end a local cluster that `mooring up` runs",
        description="End a local cluster that `mooring up` runs, in the background or elsewhere, "
        "and wait until it has ended.",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        default=KUBECONFIG,
        metavar="PATH",
        help="the kubeconfig of the cluster (default: %(default)s)",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    file = PidFile(args.kubeconfig)
    pid = file.owner()
    if not pid:
        raise ConfigError(f"no local cluster runs with the kubeconfig {args.kubeconfig}")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if not file.wait_released(PATIENCE):
        raise ConfigError(f"process {pid} was told to end {PATIENCE:.0f} s ago and still runs")
    print("The local cluster has ended.")
    return 0

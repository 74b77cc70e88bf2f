"""`mooring down`: stop a local cluster that runs in the background."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from pathlib import Path

from mooring.cli.commands import COMMANDS
from mooring.cli.pid_file import PidFile
from mooring.errors import ConfigError

#: How many seconds a cluster has to end.
PATIENCE = 30.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser(
        "down",
        help=COMMANDS["down"].help,
        description="End a local cluster that `mooring up` runs, and wait until it has ended. "
        "Without --kubeconfig, it is the cluster of $KUBECONFIG, or if that is not set, of the "
        "current folder.",
    )
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="PATH", help="the kubeconfig of the cluster"
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    pid, file = _find(args.kubeconfig)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if not file.wait_released(PATIENCE):
        raise ConfigError(f"process {pid} was told to end {PATIENCE:.0f} s ago and still runs")
    print("The local cluster has ended.")
    return 0


def _find(kubeconfig: Path | None) -> tuple[int, PidFile]:
    """Return the process to end, and its file."""
    # Imported here, because help and completion do not need it.
    from mooring.cli.cluster_state import find_cluster, meant_kubeconfigs

    for meant in meant_kubeconfigs(kubeconfig):
        file = PidFile(meant)
        # The cluster may have no record, if its folder cannot be written.
        if pid := file.owner():
            return pid, file
    # A cluster that was started in another folder is not ended by accident.
    record = find_cluster(kubeconfig, "down", elsewhere=False)
    return record.pid, PidFile(Path(record.kubeconfig))

"""What a forked process does: run a container's command. Imports little, as it is preloaded."""

from __future__ import annotations

import os
import sys

#: Imported once, before anything is forked.
PRELOAD = [
    "tests.deploy.child",
    "mooring.app.command",
    "mooring.app.scheduler_process",
    "mooring.plugins",
]


def run(argv: list[str], environment: dict[str, str], log: str) -> None:
    """Run `mooring-kube-scheduler` or `mooring` with a command line; write its output to a file."""
    if argv[0] == "mooring":
        from mooring.cli.main import main
    else:
        from mooring.cli.run import main

    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(output, number)
    os.environ.update(environment)
    sys.exit(main(argv[1:]))

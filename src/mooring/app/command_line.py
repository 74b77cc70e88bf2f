"""The command line of a scheduler: prints what it only asks for, or runs the scheduler.

What a scheduler needs is imported when one runs, so that help, version and mistakes are printed
without it.
"""

# kube-scheduler: cmd/kube-scheduler/app/server.go (NewSchedulerCommand), component-base cli/run.go

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mooring import __version__
from mooring.api.go_format import go_quote
from mooring.api.kubernetes_version import KUBERNETES_VERSION
from mooring.app.flag_table import ALL
from mooring.app.flags import FlagValues, parse_flags, usage
from mooring.errors import ConfigError

if TYPE_CHECKING:
    from mooring.app.command import RunScheduler
    from mooring.framework.plugin import Plugin


#: The program that is named if no other one is.
_PROGRAM = "kube-scheduler"


def read_flags(argv: Sequence[str], *, program: str = _PROGRAM) -> FlagValues:
    """Parse a command line; raise ConfigError for syntax errors."""
    return parse_flags(ALL, argv, program=program)


def run_command(
    argv: Sequence[str],
    run: RunScheduler,
    *,
    plugins: Iterable[type[Plugin]] = (),
    program: str,
    drop_in: bool = False,
) -> int:
    """Process a command line; return the exit status.

    `plugins` are registered like those of --plugin. Syntax errors of the command line are printed,
    all other errors are logged. With `drop_in`, the configuration file must be v1, as for
    kube-scheduler.
    """
    try:
        flags = read_flags(argv, program=program)
    except ConfigError as error:
        usage_line = f"Usage:\n  {program} [flags]\n"
        print(f'Error: {error}\n{usage_line}Run "{program} --help" for the flags.', file=sys.stderr)
        return 1
    if flags["help"]:
        print(usage(ALL, program=program, width=shutil.get_terminal_size().columns), end="")
        return 0
    if flags["version"] != "false":
        return _print_version(flags["version"])
    from mooring.app.command import run_flags

    return run_flags(flags, run, plugins=plugins, drop_in=drop_in)


def _print_version(asked: str) -> int:
    if asked == "raw":
        major, minor, _ = KUBERNETES_VERSION.split(".")
        parts = {
            "Major": major,
            "Minor": minor,
            "GitVersion": f"v{KUBERNETES_VERSION}",
            "MooringVersion": __version__,
            "PythonVersion": platform.python_version(),
            "Platform": f"{sys.platform}/{platform.machine()}",
        }
        print(f"version.Info{{{', '.join(f'{k}:{go_quote(v)}' for k, v in parts.items())}}}")
    else:
        print(f"Kubernetes v{KUBERNETES_VERSION} (Mooring {__version__})")
    return 0

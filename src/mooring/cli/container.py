"""The first process of a container that the local cluster runs; not a command for users."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping

from mooring.api.go_format import go_quote
from mooring.cli.main import main
from mooring.cli.messages import print_error
from mooring.errors import ConfigError, MooringError
from mooring.kubelet.container_start import read_start
from mooring.registry import load_installed

#: How many seconds the process has to end after the local cluster is gone.
_GRACE = 5.0


def follow_parent(grace: float = _GRACE) -> None:
    """End this process when its parent ends, for whatever reason; kill it after `grace` seconds.

    Standard input is a pipe from the parent; the kernel closes it even if the parent is killed.
    """
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(grace)
    os.kill(os.getpid(), signal.SIGKILL)


def _set_variables(environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise ConfigError(f"a process cannot have the environment variable {go_quote(name)}")
    os.environ.update(environment)


def run() -> int:
    """Run the command line that the parent sends, and return the exit status."""
    start = read_start(0)
    threading.Thread(target=follow_parent, name="parent", daemon=True).start()
    try:
        _set_variables(start.environment)
        os.chdir(start.folder)
        plugins = load_installed(start.plugins or ())
    except MooringError as error:
        print_error(error)
        return 1
    return main(start.words, plugins=plugins)

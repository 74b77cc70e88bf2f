"""The name of the machine, as this process is to see it."""

from __future__ import annotations

import os
import socket

from mooring.observe.files import ROOT


def hostname() -> str:
    """Return the host's name; in a container of the local cluster that is the pod's."""
    if os.environ.get(ROOT):
        return os.environ.get("HOSTNAME") or socket.gethostname()
    return socket.gethostname()

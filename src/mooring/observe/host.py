"""The host name of this process."""

from __future__ import annotations

import os
import socket

from mooring.observe.files import ROOT


def hostname() -> str:
    """Return the host name; in a container of the local cluster, the pod's."""
    if os.environ.get(ROOT):
        return os.environ.get("HOSTNAME") or socket.gethostname()
    return socket.gethostname()

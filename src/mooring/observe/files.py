"""Where files are: at their paths, or in the folder that stands for a container's root."""

from __future__ import annotations

import os
from pathlib import Path

#: The environment variable that names the folder. The local cluster sets it for the schedulers
#: that it runs as pods: it cannot give a process a file system of its own.
ROOT = "MOORING_ROOT"


def locate(path: str | os.PathLike[str]) -> Path:
    """Return where the file of a path is: an absolute one under $MOORING_ROOT, where that is set.

    Every file that a configuration, a kubeconfig or a flag names is read through this; messages go
    on to show the path as it was written.
    """
    found = Path(path)
    root = os.environ.get(ROOT, "")
    if not root or not found.is_absolute():
        return found
    inside = os.path.normpath(found).lstrip("/")
    return Path(root, inside)

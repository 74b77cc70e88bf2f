"""Where files are: at their paths, or in the folder that stands for a container's root."""

from __future__ import annotations

import errno
import os
from pathlib import Path

#: Bytes that a file may have which is read whole: a kubeconfig, a token, certificates.
MAX_FILE = 2**24

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


def read_file(path: str | os.PathLike[str], limit: int = MAX_FILE) -> bytes:
    """Return what a file holds, found as `locate` does.

    Raises OSError if it cannot be read, also if it is larger than `limit` or has no end.
    """
    with locate(path).open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
    return data

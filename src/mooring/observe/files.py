"""Where files are: at their paths, or under the directory that acts as a container's root."""

from __future__ import annotations

import errno
import os
from pathlib import Path

#: The largest file, in bytes, that is read whole: a kubeconfig, a token, certificates.
MAX_FILE = 2**24

#: The environment variable that names the directory. The local cluster sets it for the schedulers
#: that it runs as pods, because it cannot give a process its own file system.
ROOT = "MOORING_ROOT"


def locate(path: str | os.PathLike[str]) -> Path:
    """Return where a file is: if $MOORING_ROOT is set, absolute paths are below it.

    Every file that a configuration, a kubeconfig or a flag names is read through this; messages
    still show the path as it was written.
    """
    found = Path(path)
    root = os.environ.get(ROOT, "")
    if not root or not found.is_absolute():
        return found
    inside = os.path.normpath(found).lstrip("/")
    return Path(root, inside)


def read_file(path: str | os.PathLike[str], limit: int = MAX_FILE) -> bytes:
    """Return the content of a file, located by `locate`.

    Raises OSError if it cannot be read, or is larger than `limit` or endless.
    """
    with locate(path).open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
    return data

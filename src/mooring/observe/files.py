"""Where files are: at their paths, or under the directory that acts as a container's root."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from pathlib import Path

#: The largest file, in bytes, that is read whole: a kubeconfig, a token, certificates.
MAX_FILE = 2**24

#: The environment variable that names the directory. The local cluster sets it for the schedulers
#: that it runs as pods, because it cannot give a process its own file system.
ROOT = "MOORING_ROOT"
#: The container's working directory, as an absolute path in the container.
WORKING = "MOORING_WORKING_FOLDER"

_PLAIN = re.compile(r"[0-9A-Za-z][-0-9A-Za-z]{0,99}")


def locate(path: str | os.PathLike[str]) -> Path:
    """Return where a file is: if $MOORING_ROOT is set, below that directory.

    Relative paths start at $MOORING_WORKING_FOLDER if that is set too, and no path leads out of the
    root. Every file that a configuration, a kubeconfig or a flag names is read through this;
    messages still show the path as it was written.
    """
    found = Path(path)
    root = os.environ.get(ROOT, "")
    working = os.environ.get(WORKING, "")
    if not root or not (working or found.is_absolute()):
        return found
    inside = os.path.normpath(os.path.join(working, found))
    if Path(inside).is_relative_to(root):
        return Path(inside)
    return Path(root, inside.lstrip("/"))


def read_file(path: str | os.PathLike[str], limit: int = MAX_FILE) -> bytes:
    """Return the content of a file, located by `locate`.

    Raises OSError if it cannot be read, or is larger than `limit` or endless.
    """
    with locate(path).open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
    return data


def file_name(text: str) -> str:
    """Return a file's name for any text: the text itself if it is plain, else its digest.

    >>> file_name("scheduler-1"), len(file_name("../etc"))
    ('scheduler-1', 64)
    """
    return text if _PLAIN.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()

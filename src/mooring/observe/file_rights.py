"""Whether other users can change a file, which deserves a warning.

A file that this process runs or obeys is only as safe as the file itself and each directory above
it, including the target of a symbolic link. Each must belong to this user or to root. Nobody else
may have write access: neither all users nor any group except root's and the owner's private one,
which many systems create for each user. A directory with the sticky bit, such as /tmp, may be
writable by all users, because they cannot replace files that others own in it. A read-only file
system, as ConfigMaps are mounted, is always safe.
"""

# OpenSSH: misc.c, safe_path; sudo: plugins/sudoers/sudoers.c; the private group as in Debian's
# OpenSSH (secure_permissions).

from __future__ import annotations

import grp
import logging
import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path

from mooring.observe.files import locate
from mooring.observe.logs import kv

log = logging.getLogger(__name__)

CHANGEABLE = "Others can change a file that this process runs or obeys"

_ROOT = 0


def warn_of_changeable(files: Iterable[str]) -> None:
    """Log a warning for each file that others can change."""
    for file in files:
        if why := who_can_change(locate(file)):
            log.warning(CHANGEABLE, extra=kv(file=file, why=why))


def who_can_change(path: Path, user: int | None = None) -> str:
    """Return who except this user and root can change a file, and how; "" if nobody can.

    `user` is the uid of this process unless another is given. A file that does not exist is safe.
    """
    trusted = {_ROOT, os.geteuid() if user is None else user}
    for place in _places(path):
        found = _look(place)
        if found is not None and (why := _fault(found, trusted)):
            return f"{place} {why}"
    return ""


def _look(place: Path) -> os.stat_result | None:
    """Return the stat of a path; None if it does not exist or is on a read-only file system."""
    try:
        read_only = os.statvfs(place).f_flag & os.ST_RDONLY
        return None if read_only else os.stat(place)
    except OSError:
        return None


def _places(path: Path) -> dict[Path, None]:
    """Return the file and the directories above it, before and after resolving links."""
    named, real = path.absolute(), path.resolve()
    return dict.fromkeys((named, *named.parents, real, *real.parents))


def _fault(found: os.stat_result, trusted: set[int]) -> str:
    mode = stat.filemode(found.st_mode)
    if found.st_uid not in trusted:
        return f"belongs to {_user(found.st_uid)}"
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return ""
    if found.st_mode & stat.S_IWOTH:
        return f"can be written to by everybody ({mode})"
    if found.st_mode & stat.S_IWGRP and not _is_private(found.st_gid, found.st_uid):
        return f"can be written to by the group {_group(found.st_gid)} ({mode})"
    return ""


def _is_private(group: int, owner: int) -> bool:
    """Return whether only the owner is in a group: root's group, or one with the owner's name."""
    if group == _ROOT:
        return True
    try:
        found, name = grp.getgrgid(group), pwd.getpwuid(owner).pw_name
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)

"""The local clusters of this user that run now, wherever they were started.

Each cluster has a file in a folder that only the user can read, `mooring` in $XDG_STATE_HOME. The
lock of its PidFile says whether it still runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mooring.cli.pid_file import KUBECONFIG, PidFile
from mooring.errors import ConfigError

_FOLDER_MODE = 0o700
_SUFFIX = ".json"


class ProfileRecord(msgspec.Struct, frozen=True):
    """A profile of a cluster's scheduler, and the plugins that are not built in."""

    name: str
    plugins: tuple[str, ...] = ()


class ClusterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A local cluster that runs."""

    #: Absolute paths; the log is "" if the cluster writes to its terminal.
    kubeconfig: str
    log: str = ""
    pid: int
    address: str
    version: str
    kubernetes: str
    #: Seconds since the epoch.
    started: float
    profiles: tuple[ProfileRecord, ...] = ()


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the records; raise OSError if the user has no home folder."""
    # XDG Base Directory Specification: a relative path is ignored.
    base = Path(environment.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path("~/.local/state").expanduser()
        except RuntimeError:
            raise OSError("there is no home folder; set XDG_STATE_HOME") from None
    return base / "mooring"


def save(record: ClusterRecord, folder: Path | None = None) -> None:
    """Write the record of a cluster; raise OSError if that is impossible."""
    folder = state_folder() if folder is None else folder
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    os.chmod(folder, _FOLDER_MODE)
    path = _path(folder, record.kubeconfig)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(msgspec.json.encode(record))
    os.replace(fresh, path)


def forget(kubeconfig: str, folder: Path | None = None) -> None:
    """Remove the record of a cluster that has ended, if there is one."""
    with contextlib.suppress(OSError):
        _path(state_folder() if folder is None else folder, kubeconfig).unlink()


def running_clusters(folder: Path | None = None) -> list[ClusterRecord]:
    """Return the clusters that run, oldest first; the records of others are removed."""
    try:
        folder = state_folder() if folder is None else folder
        paths = [path for path in folder.iterdir() if path.suffix == _SUFFIX]
    except OSError:
        return []
    found = []
    for path in paths:
        try:
            record = msgspec.json.decode(path.read_bytes(), type=ClusterRecord)
        except (OSError, msgspec.MsgspecError):
            continue
        if PidFile(Path(record.kubeconfig)).owner() is None:
            forget(record.kubeconfig, folder)
        else:
            found.append(record)
    return sorted(found, key=lambda record: record.started)


def meant_kubeconfigs(kubeconfig: Path | None) -> list[Path]:
    """Return the given kubeconfig, or those of $KUBECONFIG, or the current folder's."""
    if kubeconfig is not None:
        return [kubeconfig]
    listed = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    return [Path(one) for one in listed if one] or [KUBECONFIG]


def find_cluster(kubeconfig: Path | None, command: str, *, elsewhere: bool = True) -> ClusterRecord:
    """Return the running cluster of a kubeconfig.

    Without one, it is a cluster that $KUBECONFIG names. If that is not set either, it is the
    cluster of the current folder, or else, unless `elsewhere` is False, the only one that runs.
    Raise ConfigError if there is none, or if there are several elsewhere; it lists how `command` is
    used with each of them.
    """
    named = meant_kubeconfigs(kubeconfig)
    is_default = named == [KUBECONFIG] and kubeconfig is None
    wanted = {os.path.abspath(one) for one in named}
    running = running_clusters()
    for record in running:
        if record.kubeconfig in wanted:
            return record
    if is_default and elsewhere and len(running) == 1:
        return running[0]
    origin = "" if is_default or kubeconfig is not None else " of $KUBECONFIG"
    message = f"no local cluster runs with the kubeconfig {', '.join(map(str, named))}{origin}"
    if running:
        message += "; for those that run:" + "".join(
            f"\n  mooring {command} --kubeconfig {shlex.quote(one.kubeconfig)}" for one in running
        )
    raise ConfigError(message)


def _path(folder: Path, kubeconfig: str) -> Path:
    return folder / f"{hashlib.sha256(kubeconfig.encode()).hexdigest()[:16]}{_SUFFIX}"

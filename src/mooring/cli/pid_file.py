"""PidFile: records which process runs the cluster of a kubeconfig."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from mooring.errors import ConfigError

#: The default path of a local cluster's kubeconfig.
KUBECONFIG = Path(".mooring/kubeconfig")

#: Seconds between two checks whether a process has ended.
_LOOK = 0.05


def beside(kubeconfig: Path, suffix: str) -> Path:
    """Return the path next to a kubeconfig, with this suffix added to its name."""
    return kubeconfig.with_name(kubeconfig.name + suffix)


class PidFile:
    """A file with the pid of a running process, which holds the file's lock.

    The kernel releases the lock when the process ends, so a stale file is recognized.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self._path = beside(kubeconfig, ".pid")
        self._file = -1
        self._made_folder = False

    def take(self) -> None:
        """Lock the file for this process; raise ConfigError if another process holds it."""
        while True:
            try:
                self._made_folder = not self._path.parent.exists()
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise ConfigError(error.strerror or str(error), file=str(self._path)) from None
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._file)
                raise ConfigError(
                    f"a local cluster with this kubeconfig runs already (process {self._pid()}): "
                    "end it with `mooring down`, or choose another --kubeconfig"
                ) from None
            # The previous owner may have removed the file between opening and locking it.
            if _is_at(self._file, self._path):
                os.truncate(self._file, 0)
                os.write(self._file, f"{os.getpid()}\n".encode())
                return
            os.close(self._file)

    def release(self) -> None:
        """Remove the file, and its directory if `take` created it and it is empty."""
        self._path.unlink(missing_ok=True)
        os.close(self._file)
        if self._made_folder:
            with contextlib.suppress(OSError):
                self._path.parent.rmdir()

    def owner(self) -> int | None:
        """Return the pid of the running process; without one, remove the file and return None."""
        try:
            file = os.open(self._path, os.O_RDWR)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(error.strerror or str(error), file=str(self._path)) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # 0: the process has locked the file but not written its pid yet.
            return self._pid() or 0
        else:
            self._path.unlink(missing_ok=True)
            return None
        finally:
            os.close(file)

    def wait_released(self, seconds: float) -> bool:
        """Wait until the process has ended; return False if it has not after `seconds`."""
        deadline = time.monotonic() + seconds
        while self.owner() is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK)
        return True

    def _pid(self) -> int | None:
        try:
            return int(self._path.read_text())
        except (OSError, ValueError):
            return None


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False

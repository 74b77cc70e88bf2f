"""PidFile: which process runs the cluster of a kubeconfig."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from mooring.errors import ConfigError

#: Where a local cluster's kubeconfig is unless it is said otherwise.
KUBECONFIG = Path(".mooring/kubeconfig")

#: Seconds between two looks whether a process has ended.
_LOOK = 0.05


def beside(kubeconfig: Path, suffix: str) -> Path:
    """Return the file of a suffix that belongs to a kubeconfig."""
    return kubeconfig.with_name(kubeconfig.name + suffix)


class PidFile:
    """Hold the number of a process that is alive: whoever holds the file's lock.

    The lock goes with the process, however that ends, so a file that was left behind is told apart.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self._path = beside(kubeconfig, ".pid")
        self._file = -1
        self._made_folder = False

    def take(self) -> None:
        """Make this process the one; raise ConfigError where another is."""
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
            # The one before may have removed the file between our two steps.
            if _is_at(self._file, self._path):
                os.truncate(self._file, 0)
                os.write(self._file, f"{os.getpid()}\n".encode())
                return
            os.close(self._file)

    def release(self) -> None:
        """Remove the file, and its folder where that was made for nothing."""
        self._path.unlink(missing_ok=True)
        os.close(self._file)
        if self._made_folder:
            with contextlib.suppress(OSError):
                self._path.parent.rmdir()

    def owner(self) -> int | None:
        """Return the process that runs, None where there is none; its file is removed then."""
        try:
            file = os.open(self._path, os.O_RDWR)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(error.strerror or str(error), file=str(self._path)) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # 0: it has only just begun, and has not said who it is.
            return self._pid() or 0
        else:
            self._path.unlink(missing_ok=True)
            return None
        finally:
            os.close(file)

    def wait_released(self, seconds: float) -> bool:
        """Wait until the process has ended; False where it has not in that time."""
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

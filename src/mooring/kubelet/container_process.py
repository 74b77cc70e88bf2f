"""A process on this machine that takes the place of a container."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mooring.kubelet.container_log import ContainerLog
from mooring.observe.files import ROOT

#: The module that runs the command line; its process ends when this one does.
_FIRST = "mooring.cli.container"
_PATHS = ("PATH", "PYTHONPATH")
_SIGNALLED = 128
_CHUNK = 64 * 1024


class ContainerProcess:
    """A `mooring` process with a container's arguments, variables and files, and its log."""

    def __init__(self, log: ContainerLog, ended: Callable[[], None]) -> None:
        self.log = log
        self._ended = ended
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None
        #: The exit code as a container runtime reports it; None while the process runs.
        self.exit_code: int | None = None

    async def start(
        self, words: Sequence[str], environment: Mapping[str, str], root: Path, folder: Path
    ) -> None:
        """Start the process in `folder`; it sees the directory `root` as its file system root."""
        # The process starts in another directory, so relative search paths must become absolute.
        kept = {
            name: os.pathsep.join(map(os.path.abspath, os.environ[name].split(os.pathsep)))
            for name in _PATHS
            if os.environ.get(name)
        }
        fixed = {ROOT: str(root), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        self._process = await asyncio.create_subprocess_exec(
            # -P: do not import modules from the container's working directory.
            *(sys.executable, "-P", "-m", _FIRST, *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env={**kept, **environment, **fixed},
            # Ctrl-C at the terminal must not reach the containers: `close` stops them.
            start_new_session=True,
        )
        self._watching = asyncio.get_running_loop().create_task(self._watch(self._process))

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while data := await process.stdout.read(_CHUNK):
            self.log.append(data)
        code = await process.wait()
        self.log.close()
        self.exit_code = code if code >= 0 else _SIGNALLED - code
        self._ended()

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def close(self, grace: float) -> None:
        """Stop the process and wait for its end; kill it after `grace` seconds."""
        if self._watching is None:
            return
        self.terminate()
        done, _ = await asyncio.wait((self._watching,), timeout=grace)
        if not done:
            self.kill()
            await asyncio.wait((self._watching,))

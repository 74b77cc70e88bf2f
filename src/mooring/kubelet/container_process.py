"""A process of this machine in the place of a container."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mooring.kubelet.container_log import ContainerLog
from mooring.observe.files import ROOT

#: What runs the command line; it ends when we do.
_FIRST = "mooring.cli.container"
_PATHS = ("PATH", "PYTHONPATH")
_SIGNALLED = 128
_CHUNK = 64 * 1024


class ContainerProcess:
    """Run `mooring` with a container's arguments, variables and files; keep its log."""

    def __init__(self, log: ContainerLog, ended: Callable[[], None]) -> None:
        self.log = log
        self._ended = ended
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None
        #: As a container runtime reports it; None while it runs.
        self.exit_code: int | None = None

    async def start(
        self, words: Sequence[str], environment: Mapping[str, str], root: Path, folder: Path
    ) -> None:
        """Begin in a folder; `root` is what the process sees as the root of its files."""
        # The process begins in another folder: what is named from here must not be.
        kept = {
            name: os.pathsep.join(map(os.path.abspath, os.environ[name].split(os.pathsep)))
            for name in _PATHS
            if os.environ.get(name)
        }
        fixed = {ROOT: str(root), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        self._process = await asyncio.create_subprocess_exec(
            # -P: nothing in the container's folder is taken for a module of ours.
            *(sys.executable, "-P", "-m", _FIRST, *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env={**kept, **environment, **fixed},
            # Ctrl-C at the terminal is ours; we end the containers in good order.
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
        """Ask the process to end."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()

    def kill(self) -> None:
        """End the process."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def close(self, grace: float) -> None:
        """End the process and wait for that; it has so many seconds of its own."""
        if self._watching is None:
            return
        self.terminate()
        done, _ = await asyncio.wait((self._watching,), timeout=grace)
        if not done:
            self.kill()
            await asyncio.wait((self._watching,))

"""A process on this machine that takes the place of a container."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from mooring.kubelet.container_log import ContainerLog
from mooring.kubelet.container_start import ContainerStart, without_obeyed
from mooring.kubelet.image_contents import Image
from mooring.observe.confinement import CONFINED
from mooring.observe.files import ROOT, WORKING

#: Runs the command line in a process that ends when this one does. The search path is this
#: process's own: nothing of the pod may change where modules are found.
_FIRST = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "from mooring.cli.container import run; sys.exit(run())"
)
_TEMPORARY = "tmp"
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
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        root: Path,
        working: str,
        image: Image,
    ) -> None:
        """Start the process; it sees the directory `root` as its file system root.

        `working` is its working directory as the container names it.
        """
        folder = root / working.lstrip("/")
        temporary = root / _TEMPORARY
        for one in (folder, temporary):
            one.mkdir(mode=0o700, parents=True, exist_ok=True)
        fixed = {ROOT: str(root), WORKING: working, "TMPDIR": str(temporary)}
        if image.is_confined:
            environment = without_obeyed(environment)
            fixed[CONFINED] = "1"
        start = ContainerStart(
            words=tuple(words),
            # The owner's home folder has credentials.
            environment={"HOME": str(root), **environment, **fixed},
            folder=str(folder),
            plugins=image.plugins if image.is_confined else None,
        )
        path = [os.path.abspath(one) for one in sys.path if one]
        self._process = await asyncio.create_subprocess_exec(
            # -I: neither variables nor the user's or the working directory change the interpreter.
            *(sys.executable, "-I", "-u", "-X", "utf8", "-c", _FIRST),
            msgspec.json.encode(path).decode(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=root,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            # Ctrl-C at the terminal must not reach the containers: `close` stops them.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(start.encode())
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

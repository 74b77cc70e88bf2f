"""A port of a pod, forwarded to this machine by kubectl."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator

from mooring.errors import MooringError

#: Seconds for kubectl to begin.
PATIENCE = 30.0

NO_KUBECTL = (
    "kubectl is not on the PATH, and is needed to reach the scheduler: install it, or name the "
    "scheduler's port with --scheduler"
)
_BEGUN = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d+) ")


class PortForwardError(MooringError):
    """kubectl cannot forward a port, for lack of rights or because the pod is gone."""


@contextlib.asynccontextmanager
async def forwarded_port(
    namespace: str, pod: str, port: int, *, kubeconfig: str = "", context: str = ""
) -> AsyncIterator[int]:
    """Forward a port of a pod for as long as this lasts; yield the port on 127.0.0.1.

    Raise MooringError if kubectl is missing, PortForwardError if it cannot forward the port.
    """
    program = shutil.which("kubectl")
    if program is None:
        raise MooringError(NO_KUBECTL)
    flags = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    flags += [f"--context={context}"] if context else []
    process = await asyncio.create_subprocess_exec(
        program,
        *flags,
        "port-forward",
        f"--namespace={namespace}",
        "--address=127.0.0.1",
        f"pod/{pod}",
        f":{port}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    # kubectl writes a line for every connection, and must not wait for a reader.
    errors = asyncio.create_task(_read_all(process.stderr))
    reading: asyncio.Task[bytes] | None = None
    try:
        found = await _begin(process.stdout)
        if found is None:
            _kill(process)
            reason = (await errors).decode(errors="replace").strip() or "it said nothing"
            raise PortForwardError(
                f"kubectl cannot forward port {port} of pod {namespace}/{pod}: {reason}"
            )
        reading = asyncio.create_task(_read_all(process.stdout))
        yield found
    finally:
        _kill(process)
        await process.wait()
        await asyncio.gather(errors, *([] if reading is None else [reading]))


def _kill(process: asyncio.subprocess.Process) -> None:
    # Not process.kill(): it looks whether the process has ended, and then asyncio never learns how.
    with contextlib.suppress(ProcessLookupError):
        if process.returncode is None:
            os.kill(process.pid, signal.SIGKILL)


async def _begin(output: asyncio.StreamReader) -> int | None:
    """Return the port that kubectl listens on; None if it ends or takes too long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            async for line in output:
                if begun := _BEGUN.match(line):
                    return int(begun[1])
    return None


async def _read_all(output: asyncio.StreamReader) -> bytes:
    """Read until the end; return the first kilobytes."""
    kept = b""
    while piece := await output.read(2**12):
        kept += piece[: 2**12 - len(kept)]
    return kept

"""Processes that take the place of containers."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from mooring.kubelet.container_log import ContainerLog
from mooring.kubelet.container_process import ContainerProcess
from mooring.kubelet.image_contents import Image
from mooring.observe.clock import SystemClock
from tests.support.waiting import PATIENCE

# Starts a container that would run forever, prints its pid, and kills itself without cleanup.
CARELESS = """
import asyncio, os, sys
from pathlib import Path
from mooring.kubelet.container_log import ContainerLog
from mooring.kubelet.container_process import ContainerProcess
from mooring.kubelet.image_contents import Image
from mooring.observe.clock import SystemClock

async def main():
    folder = Path(sys.argv[1])
    process = ContainerProcess(ContainerLog(folder / "log", SystemClock()), lambda: None)
    words = ["run", "--leader-elect=false", "--secure-port=0", "--master=https://127.0.0.1:1"]
    await process.start(words, {}, folder, "/", Image())
    while "Failed to watch" not in (folder / "log").read_text():
        await asyncio.sleep(0.02)
    (child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    print(child, flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        pytest.param(["--version"], 0, "mooring ", id="it works"),
        pytest.param(["run", "--config=/a.yaml"], 1, "/a.yaml: no such file", id="it fails"),
    ],
)
async def test_a_process_that_ends(tmp_path: Path, words: list[str], code: int, told: str) -> None:
    ended = asyncio.Event()
    log = ContainerLog(tmp_path / "log", SystemClock())
    process = ContainerProcess(log, ended.set)
    await process.start(words, {}, tmp_path, "/", Image())
    async with asyncio.timeout(PATIENCE):
        await ended.wait()
    assert process.exit_code == code
    assert told in log.tail_text(100, 10_000).lower()
    await process.close(0.0)


async def test_a_process_that_is_killed(tmp_path: Path) -> None:
    process = ContainerProcess(ContainerLog(tmp_path / "log", SystemClock()), lambda: None)
    await process.start(["--version"], {}, tmp_path, "/", Image())
    await process.close(0.0)
    assert process.exit_code in (143, 137, 0)


async def test_a_process_ends_with_its_parent(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CARELESS, str(tmp_path)), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE):
        said, _ = await parent.communicate()
        pid = int(said)
        while _runs(pid):
            await asyncio.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # A zombie still has a pid but no longer runs.
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False

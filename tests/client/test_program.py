"""Programs that are run for their output; those that misbehave are in test_exec_plugin.py."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from mooring.client.program import ProgramError, run_program


async def run(script: str, **more: Any) -> tuple[int, bytes]:
    chosen = {"seconds": 30.0, "max_bytes": 1000, **more}
    return await run_program(("/bin/sh", "-c", script), {"PATH": os.environ["PATH"]}, **chosen)


async def test_a_program_says_what_it_has_to_say() -> None:
    assert await run("echo hello; exit 3") == (3, b"hello\n")
    assert await run("printf '%01000d' 7") == (0, b"7".zfill(1000))


async def test_too_much_or_too_long_is_an_error() -> None:
    with pytest.raises(ProgramError, match="printed more than 1000 bytes"):
        await run("printf '%01001d' 7")
    with pytest.raises(ProgramError, match=r"did not finish within 0\.1 seconds"):
        await run("sleep 1000", seconds=0.1)
    with pytest.raises(ProgramError, match=r"did not finish within 0\.1 seconds"):
        await run("exec >&-; sleep 1000", seconds=0.1)


async def test_a_program_at_the_terminal_stays_in_this_session() -> None:
    own = str(os.getsid(0)).encode()
    script = "cut -d' ' -f6 /proc/$$/stat"
    assert (await run(script, terminal=True))[1].strip() == own
    assert (await run(script))[1].strip() != own
    with pytest.raises(ProgramError, match="did not finish"):
        await run("exec sleep 1000", seconds=0.1, terminal=True)


async def test_no_pipe_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await run("true")
        with pytest.raises(FileNotFoundError):
            await run_program(("/no/such",), {}, seconds=1.0, max_bytes=1)
    await asyncio.sleep(0)
    assert len(os.listdir("/proc/self/fd")) <= before + 1

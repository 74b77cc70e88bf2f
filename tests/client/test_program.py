"""Programs run for their output; those that misbehave are in test_exec_plugin.py."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from typing import Any

import pytest

from mooring.client.program import ProgramError, ProgramOutput, run_program


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


async def test_what_was_printed_right_before_the_end_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop may learn of the end before it learns of the output."""
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "add_reader", lambda *args: None)
    assert await run("echo hello") == (0, b"hello\n")
    with pytest.raises(ProgramError, match="printed more than 1000 bytes"):
        await run("printf '%01001d' 7")


async def test_no_task_is_left() -> None:
    before = asyncio.all_tasks()
    await run("true")
    with pytest.raises(ProgramError):
        await run("yes")
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_pipe_that_stays_open_is_read_and_left() -> None:
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    output = ProgramOutput(loop, reading, 1000)
    os.write(writing, b"a" * 900)
    output.drain()
    assert output.data == b"a" * 900 and not output.overflow.is_set()
    os.write(writing, b"b" * 101)
    output.drain()
    assert output.overflow.is_set()
    # Nothing is read after too much.
    os.write(writing, b"c")
    output.drain()
    assert len(output.data) == 1001
    output.close()
    assert not loop.remove_reader(reading)
    os.close(writing)


async def test_a_pipe_that_was_never_at_its_end_is_left_too() -> None:
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    ProgramOutput(loop, reading, 1000).close()
    assert not loop.remove_reader(reading)
    os.close(writing)


@pytest.mark.parametrize(("seconds", "text"), [(0.25, "0.25"), (1e-3, "0.001")])
async def test_the_time_that_was_allowed_is_said(seconds: float, text: str) -> None:
    with pytest.raises(ProgramError, match=f"^did not finish within {text} seconds$"):
        await run("sleep 1000", seconds=seconds)


async def test_a_child_in_a_session_of_its_own_that_keeps_the_pipe_is_not_waited_for() -> None:
    code = (
        "import subprocess; "
        "print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid, flush=True)"
    )
    status, output = await run_program(
        (sys.executable, "-c", code),
        {"PATH": os.environ["PATH"]},
        seconds=30.0,
        max_bytes=1000,
    )
    os.kill(int(output), signal.SIGKILL)
    assert status == 0


async def test_a_pipe_is_read_in_pieces_of_64_kibibytes() -> None:
    """What is kept exceeds the limit by less than a piece."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 2**19)
    os.set_blocking(reading, False)
    output = ProgramOutput(asyncio.get_running_loop(), reading, 2**20)
    assert os.write(writing, b"x" * 2**18) == 2**18
    assert output.read()
    assert len(output.data) == 2**16
    output.drain()
    assert len(output.data) == 2**18
    output.close()
    os.close(writing)

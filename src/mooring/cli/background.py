"""Running a command in the background, and waiting until it reports that it is ready."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mooring.cli.progress import ProgressLine
from mooring.errors import ConfigError

#: The variable with the pipe on which the background process reports that it is ready.
_PIPE = "MOORING_READY_PIPE"
#: Begins the lines on the pipe that only tell how far the start is.
_PROGRESS = "\0"


def is_background() -> bool:
    """Return whether this is the background process."""
    return _PIPE in os.environ


def say_progress(text: str) -> None:
    """Let the waiting process show how far the start is."""
    os.write(int(os.environ[_PIPE]), f"{_PROGRESS}{text}\n".encode())


def say_ready(text: str) -> None:
    """Send the text to print to the waiting process; call it once."""
    pipe = int(os.environ.pop(_PIPE))
    os.write(pipe, text.encode())
    os.close(pipe)


def start(command_line: Sequence[str], log: Path, *, reads: bool) -> int:
    """Start this interpreter in the background and wait until it is ready; return an exit status.

    Its output goes to `log`, which is printed if the process ends before it is ready. With
    `reads`, it inherits standard input.
    """
    ready, says = os.pipe()
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        file = os.open(log, flags, 0o600)
    except OSError as error:
        raise ConfigError(error.strerror or str(error), file=str(log)) from None
    process = subprocess.Popen(
        [sys.executable, *command_line],
        stdin=None if reads else subprocess.DEVNULL,
        stdout=file,
        stderr=file,
        start_new_session=True,
        pass_fds=(says,),
        env={**os.environ, _PIPE: str(says)},
    )
    os.close(says)
    os.close(file)
    try:
        with os.fdopen(ready) as pipe, ProgressLine() as progress:
            text = _read(pipe, progress)
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    if text:
        # The process keeps running; do not wait for it.
        process.returncode = 0
        sys.stdout.write(text)
        return 0
    status = process.wait()
    sys.stderr.write(log.read_text(errors="replace"))
    return status or 1


def _read(lines: Iterable[str], progress: ProgressLine) -> str:
    """Return what the background process says when it is ready; show its progress until then."""
    text = ""
    for line in lines:
        if line.startswith(_PROGRESS):
            progress.show(line.removeprefix(_PROGRESS).rstrip("\n"))
        else:
            text += line
    return text

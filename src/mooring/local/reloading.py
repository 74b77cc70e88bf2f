"""Reloader: reloads the plugins of a running scheduler when their files change."""

from __future__ import annotations

import asyncio
import os
import re
import traceback
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from mooring.errors import ConfigError, MooringError, PluginError

#: Seconds between two checks of the files.
LOOK = 0.2

_Stamp = tuple[int, int, int] | None


class Reloader:
    """A watcher that calls `reload` after a file has changed, and reports the result in a line.

    It waits until the file stops changing. If `reload` raises, it must have changed nothing.
    `files` is called again after each attempt, because the files may import others by then.
    """

    def __init__(
        self,
        files: Callable[[], Iterable[Path]],
        reload: Callable[[], Awaitable[None]],
        say: Callable[[str], None],
        *,
        look: float = LOOK,
    ) -> None:
        self._files = files
        self._loaded = {file: _stamp(file) for file in files()}
        self._seen = dict(self._loaded)
        self._reload = reload
        self._say = say
        self._look = look

    async def run(self) -> None:
        """Check the files until cancelled."""
        while True:
            await asyncio.sleep(self._look)
            await self.look()

    async def look(self) -> None:
        """Check once; a file that is still being written is left for the next check."""
        before, self._seen = self._seen, {file: _stamp(file) for file in self._loaded}
        changed = [file for file, stamp in self._seen.items() if stamp != self._loaded[file]]
        if not changed or self._seen != before:
            return
        self._loaded = dict(self._seen)
        names = ", ".join(map(str, changed))
        try:
            await self._reload()
        except (Exception, SystemExit) as error:
            self._say(f"{describe(error, self._files())}; the old one stays in use")
        else:
            self._say(f"{names}: reloaded")
        for file in self._files():
            if file not in self._loaded:
                self._loaded[file] = self._seen[file] = _stamp(file)


def _stamp(file: Path) -> _Stamp:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def describe(error: BaseException, files: Iterable[Path]) -> str:
    """Return an error in one line, with the file and line it comes from if known."""
    cause = error.__cause__ if isinstance(error, MooringError) else error
    if isinstance(error, ConfigError) and isinstance(cause, SyntaxError):
        return str(error)
    known = {str(file) for file in files}
    for frame in reversed(traceback.extract_tb(cause.__traceback__) if cause else ()):
        if frame.filename in known:
            what = f"{type(cause).__name__}: {cause}".partition("\n")[0]
            return f"{frame.filename}:{frame.lineno}: {what}"
    text = str(error).replace("\n", "; ")
    if isinstance(error, PluginError):
        for file in files:
            line = _class_line(file, error.message)
            if line is not None:
                return f"{file}:{line}: {text}"
    return text


def _class_line(file: Path, message: str) -> int | None:
    """Return the line number of the class that a message names."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for number, line in enumerate(lines, 1):
        match = re.match(r"class (\w+)", line)
        if match and re.search(rf"\b{match[1]}\b", message):
            return number
    return None

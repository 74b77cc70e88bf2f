"""What reading a journal warns about, shown to the user of a command."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mooring.cli.messages import warn

_READER = "mooring.journal.journal_reading"


class _Shown(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        #: A journal may be read several times.
        self._shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        pairs = getattr(record, "kv", {})
        details = ", ".join(f"{name} {value}" for name, value in pairs.items())
        text = f"{record.getMessage()} ({details})" if details else record.getMessage()
        if text not in self._shown:
            self._shown.add(text)
            warn([text])


@contextmanager
def showing_warnings() -> Iterator[None]:
    """Print to standard error what the reader of journals warns about, such as a torn end."""
    log, handler = logging.getLogger(_READER), _Shown()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)

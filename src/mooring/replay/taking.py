"""Taking in the entries of a journal, whose content may be anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mooring.api.timestamps import format_time
from mooring.errors import JournalError, MooringError


@contextmanager
def taking(entry: Any) -> Iterator[None]:
    """Take in an entry or a step; raise JournalError if its content has another form than expected.

    The reader checks the form of entries. What they hold, such as objects, names of kinds and
    numbers of nodes, shows only when it is used.
    """
    try:
        yield
    except MooringError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        time = getattr(entry, "time", None)
        when = "" if time is None else f" of {format_time(time)}"
        raise JournalError(
            f"an entry of the journal{when} cannot be used ({text}): it is damaged, or this "
            "version of Mooring does not know it; restore the journal from a copy"
        ) from error

"""The moments of a journal that the page shows, one at a time."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec

from mooring.errors import ObjectError
from mooring.ui.journal_moment import (
    Folder,
    JournalMoment,
    RulesOf,
    journal_span,
    read_moment_of,
)
from mooring.ui.page_data import PageData


class MomentQuestion(msgspec.Struct, frozen=True):
    """A moment that the user wants to see, in seconds since the epoch."""

    time: float


class PagePast:
    """The past of a cluster. Owned by the event loop of the server.

    The constructor reads when the journal begins and ends; raise JournalError if it cannot be read.
    """

    def __init__(self, folder: Folder, rules_of: RulesOf) -> None:
        self._folder = folder
        self._rules_of = rules_of
        self.begin, self.end = journal_span(folder)
        self.time = self.end
        self._moment: JournalMoment | None = None

    async def move(self, time: float) -> PageData:
        """Return the data of a moment; those of the one before must not be used any more.

        Raise ObjectError if the journal does not cover it.
        """
        if not self.begin <= time <= math.ceil(self.end):
            raise ObjectError(f"the journal covers {self.begin} to {self.end}, not {time}")
        moment = await asyncio.to_thread(read_moment_of, self._folder, time, self._rules_of)
        self.close()
        self._moment, self.time = moment, time
        return PageData(moment, rules=moment.rules, server=str(self._folder), past=self.about)

    def about(self) -> dict[str, Any]:
        """Return what the journal covers, the moment that is shown, and whether of a shadow."""
        is_shadow = self._moment is not None and self._moment.is_shadow
        return {"begin": self.begin, "end": self.end, "time": self.time, "shadow": is_shadow}

    def close(self) -> None:
        """Close the plugins of the present moment."""
        if self._moment is not None:
            self._moment.close()

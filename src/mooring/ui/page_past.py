"""The moments of a journal that pages show: each page has its own."""

from __future__ import annotations

import asyncio
import math
from functools import partial
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

#: So many moments are kept, those that were shown last: each holds all objects of its time.
MOST_MOMENTS = 4


class _Kept(msgspec.Struct, frozen=True):
    """A moment that has been read."""

    moment: JournalMoment
    data: PageData


class PagePast:
    """The past of a cluster. Owned by the event loop of the server.

    The constructor reads when the journal begins and ends; raise JournalError if it cannot be read.
    """

    def __init__(self, folder: Folder, rules_of: RulesOf) -> None:
        self._folder = folder
        self._rules_of = rules_of
        self.begin, self.end = journal_span(folder)
        #: By time; the one that was used last is the last.
        self._kept: dict[float, _Kept] = {}

    def check(self, time: float) -> None:
        """Raise ObjectError if the journal does not cover a time."""
        if not self.begin <= time <= math.ceil(self.end):
            raise ObjectError(f"the journal covers {self.begin} to {self.end}, not {time}")

    def kept(self, time: float) -> PageData | None:
        """Return the data of a moment; None if they must be read."""
        found = self._kept.pop(time, None)
        if found is None:
            return None
        self._kept[time] = found
        return found.data

    async def read(self, time: float) -> PageData:
        """Return the data of a moment, which are read if they are not kept.

        Nothing may be examined meanwhile: the plugins of the moment that was unused for longest are
        closed. Raise ObjectError if the journal does not cover the moment.
        """
        self.check(time)
        found = self.kept(time)
        if found is not None:
            return found
        moment = await asyncio.to_thread(read_moment_of, self._folder, time, self._rules_of)
        about = partial(self._about, moment, time)
        data = PageData(moment, rules=moment.rules, server=str(self._folder), past=about)
        while len(self._kept) >= MOST_MOMENTS:
            self._kept.pop(next(iter(self._kept))).moment.close()
        self._kept[time] = _Kept(moment, data)
        return data

    def _about(self, moment: JournalMoment, time: float) -> dict[str, Any]:
        """Return what the journal covers, the moment that is shown, and whether of a shadow."""
        return {"begin": self.begin, "end": self.end, "time": time, "shadow": moment.is_shadow}

    def close(self) -> None:
        """Close the plugins of all moments."""
        for kept in self._kept.values():
            kept.moment.close()
        self._kept.clear()

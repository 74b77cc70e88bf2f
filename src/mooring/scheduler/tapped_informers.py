"""TappedInformers: informers whose object changes the taps hear of."""

from __future__ import annotations

from functools import partial
from typing import Any

from mooring.scheduler.event_handlers import Informers
from mooring.scheduler.inbox import Inbox
from mooring.scheduler.taps import Taps


class TappedInformers:
    """Informers whose object changes the taps hear of: each once, before any other handler."""

    def __init__(self, informers: Informers, inbox: Inbox, taps: Taps) -> None:
        self._informers = informers
        self._inbox = inbox
        self._taps = taps
        self._tapped: list[Any] = []

    def informer(self, kind: Any) -> Any:
        """Return the informer of a kind."""
        informer = self._informers.informer(kind)
        # A kind can be named in two ways, and has one informer.
        if not any(informer is other for other in self._tapped):
            self._tapped.append(informer)
            informer.store.subscribe(partial(self._inbox.post, self._taps.changed, kind))
        return informer

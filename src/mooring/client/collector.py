"""CollectorPause: turns the garbage collector off while large responses are decoded.

Decoded objects stay alive, so a collection finds nothing to free; for a large list, collections
cost several times as much as the decoding itself.
"""

from __future__ import annotations

import gc
from types import TracebackType


class CollectorPause:
    """A context manager that turns the collector off, across awaits and nested as needed.

    When the last block ends, the collector is on again if it was on when the first began.
    """

    #: Whether the collector was on when the first block began.
    _was_on: bool

    def __init__(self) -> None:
        self._depth = 0

    def __enter__(self) -> None:
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()

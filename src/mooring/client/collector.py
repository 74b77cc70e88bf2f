"""CollectorPause: the garbage collector left off while much is decoded.

What is decoded stays, so every pass over it finds nothing; on a large list those passes cost
several times the decoding itself.
"""

from __future__ import annotations

import gc
from types import TracebackType


class CollectorPause:
    """Turn the collector off within `with`, across awaits and nested as one likes.

    It is on again when the last block ends, if it was on when the first began.
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

"""Stack space for deeply nested expressions.

cel-go allows 250 levels of nesting. Each level takes several Python frames, so the deepest
expressions exceed Python's default limit of 1,000 frames.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Expressions with at most this many levels fit into Python's default limit; nearly all do.
SHALLOW = 30

# The recursion limit is global to the process, so only one thread at a time may raise it.
_raising = threading.RLock()


@contextmanager
def room_for(levels: int, frames: int) -> Iterator[None]:
    """Allow a recursion of `levels` levels, each of which takes `frames` Python frames."""
    if levels <= SHALLOW:
        yield
        return
    with _raising:
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(usual + levels * frames)
        try:
            yield
        finally:
            sys.setrecursionlimit(usual)

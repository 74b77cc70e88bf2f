"""Room on the stack for deeply nested expressions.

cel-go allows 250 levels of nesting. Each costs several Python frames, so the deepest expressions do
not fit into Python's usual limit of 1,000 frames.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Expressions of fewer levels fit into Python's usual limit; nearly all do.
SHALLOW = 30

# The limit is one number for the process, so only one thread at a time may raise it.
_raising = threading.RLock()


@contextmanager
def room_for(levels: int, frames: int) -> Iterator[None]:
    """Allow a recursion through that many levels, each of which takes that many frames."""
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

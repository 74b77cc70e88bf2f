"""How large a journal may become."""

from __future__ import annotations

from mooring.api.quantity import Quantity

#: A segment is closed when it has this many bytes.
SEGMENT_BYTES = 64 * 2**20
#: The most bytes of all segments, unless another number is given.
MAX_BYTES = 2**30
#: The least value of `--journal-max-bytes`: a few segments must have room.
MIN_MAX_BYTES = 2**20


def check_max_bytes(given: Quantity) -> str:
    """Return what is wrong with a value of `--journal-max-bytes`; "" if nothing is.

    >>> check_max_bytes(Quantity("1Ki"))
    '--journal-max-bytes must be at least 1Mi, got 1Ki'
    """
    if given.value() < MIN_MAX_BYTES:
        return f"--journal-max-bytes must be at least 1Mi, got {given}"
    return ""

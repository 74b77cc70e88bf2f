"""How large a journal may become."""

from __future__ import annotations

from mooring.api.quantity import Quantity
from mooring.journal.journal_limits import MAX_BYTES, check_max_bytes


def test_limits_of_a_mebibyte_and_more_are_accepted() -> None:
    assert [check_max_bytes(Quantity(given)) for given in ("1Mi", "1Gi", str(MAX_BYTES))] == [
        ""
    ] * 3
    assert "must be at least 1Mi, got 100k" in check_max_bytes(Quantity("100k"))

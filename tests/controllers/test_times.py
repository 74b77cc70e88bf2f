from __future__ import annotations

import pytest

from mooring.controllers.times import timestamp


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_700_000_000.99, "2023-11-14T22:13:20Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
    ],
    ids=["the epoch", "fractions are cut", "a leap day"],
)
def test_times_are_in_utc(seconds: float, text: str) -> None:
    assert timestamp(seconds) == text

"""The HTTP client of a scheduler in memory."""

from __future__ import annotations

import pytest

from mooring.errors import NoAnswerError
from mooring.virtual.driving import drive
from mooring.virtual.no_network import NoNetwork


def test_nothing_is_reached() -> None:
    with pytest.raises(NoAnswerError, match="a scheduler in memory has no network"):
        drive(NoNetwork().get("http://example.com"))

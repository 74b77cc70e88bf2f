"""Scalars with a special format."""

from __future__ import annotations

import pytest

from mooring.apiserver.schema import scalars


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90s", "1m30s"), ("1h", "1h0m0s"), ("1.5s", "1.5s"), ("100ms", "100ms"), ("0", "0s")],
)
def test_durations_are_printed_as_go_does(text: str, expected: str) -> None:
    assert scalars.duration_text(text) == expected


@pytest.mark.parametrize(("text", "at"), [("$$", 0), ("YWI", 0), ("YWJj$", 4)])
def test_bytes_say_where_they_are_wrong(text: str, at: int) -> None:
    with pytest.raises(ValueError, match=f"illegal base64 data at input byte {at}"):
        scalars.bytes_text(text)

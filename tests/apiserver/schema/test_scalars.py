"""Scalars with a special format."""

from __future__ import annotations

import pytest

from mooring.apiserver.schema import scalars


@pytest.mark.parametrize(("text", "at"), [("$$", 0), ("YWI", 0), ("YWJj$", 4)])
def test_bytes_say_where_they_are_wrong(text: str, at: int) -> None:
    with pytest.raises(ValueError, match=f"illegal base64 data at input byte {at}"):
        scalars.bytes_text(text)

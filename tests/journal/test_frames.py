"""Frames of a segment file."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import JournalError
from mooring.journal.frames import TornFrameError, make_frame, read_frames


def read_until_torn(data: bytes) -> tuple[list[bytes], int | None]:
    """Return the frames of a file, and where an incomplete one begins."""
    found: list[bytes] = []
    try:
        found.extend(read_frames(io.BytesIO(data), "file"))
    except TornFrameError as torn:
        return found, torn.offset
    return found, None


@given(st.lists(st.binary(max_size=200), max_size=6), st.data())
def test_every_prefix_of_a_file_is_a_clean_prefix_of_its_frames(
    contents: list[bytes], data: st.DataObject
) -> None:
    frames = [make_frame(content) for content in contents]
    whole = b"".join(frames)
    cut = data.draw(st.integers(0, len(whole)))
    found, torn_at = read_until_torn(whole[:cut])
    assert found == contents[: len(found)]
    ends = [sum(map(len, frames[: count + 1])) for count in range(len(frames))]
    assert len(found) == sum(end <= cut for end in ends)
    begins = ([0, *ends])[len(found)]
    assert torn_at == (None if begins == cut else begins)


@pytest.mark.parametrize("place", [0, 5, 9, 20], ids=["mark", "length", "crc", "data"])
def test_damage_before_other_frames_is_an_error(place: int) -> None:
    data = bytearray(make_frame(b"first" * 20) + make_frame(b"second"))
    data[place] ^= 0xFF
    with pytest.raises(JournalError, match=r"file is damaged at byte 0 .*restore the file"):
        list(read_frames(io.BytesIO(bytes(data)), "file"))


def test_damage_of_the_last_frame_is_a_torn_end() -> None:
    first = make_frame(b"first")
    data = bytearray(first + make_frame(b"second"))
    data[-1] ^= 0xFF
    assert read_until_torn(bytes(data)) == ([b"first"], len(first))


def test_zeros_at_the_end_are_a_torn_end() -> None:
    first = make_frame(b"first")
    assert read_until_torn(first + bytes(100)) == ([b"first"], len(first))


def test_a_mark_in_the_rest_is_not_a_frame() -> None:
    first = make_frame(b"first")
    torn = make_frame(b"second")[:-3] + first[:4]
    assert read_until_torn(first + torn) == ([b"first"], len(first))

"""The messages of a failed attempt."""

from __future__ import annotations

import pytest

from mooring.cycle.message import event_note, refused_on_node


@pytest.mark.parametrize(
    ("message", "note"),
    [
        pytest.param("x" * 1024, "x" * 1024, id="1024 bytes fit"),
        pytest.param("x" * 1025, "x" * 1020 + " ...", id="one more is cut to 1020"),
        pytest.param("é" * 600, "é" * 510 + " ...", id="bytes are counted, not letters"),
        pytest.param("x" + "é" * 600, "x" + "é" * 509 + " ...", id="no letter is cut in half"),
    ],
)
def test_an_events_note_is_cut(message: str, note: str) -> None:
    assert event_note(message) == note


def test_the_chosen_node_can_be_lost_again() -> None:
    assert refused_on_node(("b", "a", "b")) == "0/1 nodes are available: 1 a, 2 b."
    assert refused_on_node(()) == "0/1 nodes are available:"

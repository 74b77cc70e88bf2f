"""What plugins keep for one attempt."""

from __future__ import annotations

import pytest

from mooring.framework.state import CycleState, StateNotFoundError


class Counted:
    def __init__(self, number):
        self.number = number

    def clone(self):
        return Counted(self.number)


class Passing:
    cycle_only = True


def test_what_is_written_is_read():
    state = CycleState()
    state.write("a", 1)
    assert (state.read("a"), state.get("a"), state.get("b"), state.get("b", 7)) == (1, 1, None, 7)
    state.delete("a")
    state.delete("a")
    assert state.get("a", "gone") == "gone"


def test_what_was_never_written_is_not_found():
    with pytest.raises(StateNotFoundError) as caught:
        CycleState().read("a")
    assert str(caught.value) == "not found"
    assert isinstance(caught.value, KeyError)


def test_a_clone_has_its_own_copies():
    state = CycleState()
    shared = [1]
    state.write("counted", Counted(1))
    state.write("plain", shared)
    state.skip_filter_plugins = frozenset({"A"})
    state.skip_score_plugins = frozenset({"B"})
    state.record_plugin_metrics = state.examines = True
    copy = state.clone()
    copy.read("counted").number = 2
    copy.write("new", 3)
    assert state.read("counted").number == 1
    assert state.get("new") is None
    assert copy.read("plain") is shared
    assert (copy.skip_filter_plugins, copy.skip_score_plugins) == ({"A"}, {"B"})
    assert copy.record_plugin_metrics and copy.examines


def test_what_only_the_cycle_reads_is_dropped_at_its_end():
    state = CycleState()
    state.write("passing", Passing())
    state.write("kept", 1)
    state.write("class", Passing)
    state.end_cycle()
    assert state.get("passing") is None
    assert (state.read("kept"), state.read("class")) == (1, Passing)

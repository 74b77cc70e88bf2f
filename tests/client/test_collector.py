"""Pauses of the garbage collector."""

from __future__ import annotations

import gc

from mooring.client.collector import CollectorPause


def test_the_last_one_out_turns_it_on_again() -> None:
    pause = CollectorPause()
    assert gc.isenabled()
    with pause:
        assert not gc.isenabled()
        with pause:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with CollectorPause():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

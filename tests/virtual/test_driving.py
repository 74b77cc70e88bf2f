"""Coroutines that are run without an event loop."""

from __future__ import annotations

import types
from collections.abc import Generator

import pytest

from mooring.virtual.driving import drive


async def answer() -> int:
    return 42


@types.coroutine
def suspend() -> Generator[None, None, None]:
    yield


async def wait() -> None:
    await suspend()


def test_a_coroutine_that_never_suspends_gives_its_result() -> None:
    assert drive(answer()) == 42


def test_what_a_coroutine_raises_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        drive(fail())


def test_a_coroutine_that_waits_is_refused_and_closed() -> None:
    work = wait()
    with pytest.raises(RuntimeError, match="waits for the outside"):
        drive(work)
    assert work.cr_frame is None

"""Restoring the settings of `logging` after each test."""

from __future__ import annotations

import io
import logging

import pytest

from mooring.observe.logs import configure
from tests.support.log_state import unchanged_logging


def test_handlers_and_levels_are_restored() -> None:
    root, own = logging.getLogger(), logging.getLogger("mooring")
    known = logging.getLogger("mooring.observe.logs")
    before = root.handlers[:], own.handlers[:], root.level, known.level
    stream = io.StringIO()
    with unchanged_logging():
        configure(v=4, vmodule="logs=9,later=9", stream=stream)
        own.addHandler(logging.NullHandler())
        logging.getLogger("mooring.later").setLevel(1)
        assert root.handlers != before[0]
    assert (root.handlers, own.handlers, root.level, known.level) == before
    assert logging.getLogger("mooring.later").level == logging.NOTSET
    logging.getLogger("mooring").error("heard")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("turn", [1, 2])
def test_no_test_sees_what_another_one_configured(
    turn: int, capsys: pytest.CaptureFixture[str]
) -> None:
    handlers = logging.getLogger().handlers
    assert not any(type(handler) is logging.StreamHandler for handler in handlers)
    configure()
    logging.getLogger("mooring").error("turn %d", turn)
    assert f"turn {turn}" in capsys.readouterr().err

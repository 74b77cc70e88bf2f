"""Entries whose content is not what was expected."""

from __future__ import annotations

import pytest

from mooring.errors import JournalError, ObjectError
from mooring.journal.entries import Forgot
from mooring.replay.taking import taking

ENTRY = Forgot(1_800_000_000.0, "uid")


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        (ENTRY, KeyError("a"), r"of 2027-01-15T08:00:00Z .*\(KeyError: 'a'\)"),
        (object(), RecursionError(), r"an entry of the journal cannot .*\(RecursionError\)"),
    ],
)
def test_an_unexpected_exception_is_an_error_of_the_journal(
    entry: object, error: Exception, words: str
) -> None:
    with pytest.raises(JournalError, match=words), taking(entry):
        raise error


def test_errors_of_mooring_and_interrupts_are_raised_as_they_are() -> None:
    for error in (ObjectError("no such kind"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised, taking(ENTRY):
            raise error
        assert raised.value is error

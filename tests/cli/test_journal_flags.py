"""The flags of the journal."""

from __future__ import annotations

import argparse

import pytest

from mooring.cli.journal_flags import add_journal_flags


def parse(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_journal_flags(parser)
    return parser.parse_args(argv)


def test_without_flags_there_is_no_journal() -> None:
    args = parse()
    assert (args.journal, args.journal_max_bytes) == (None, 2**30)


def test_sizes_are_quantities() -> None:
    args = parse("--journal", "folder", "--journal-max-bytes", "200Mi")
    assert (args.journal, args.journal_max_bytes) == ("folder", 200 * 2**20)


@pytest.mark.parametrize(
    ("given", "text"),
    [("much", "much"), ("1Ki", "must be at least 1Mi, got 1Ki")],
    ids=["no quantity", "too small"],
)
def test_a_wrong_size_is_refused(given: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("--journal-max-bytes", given)
    assert text in capsys.readouterr().err

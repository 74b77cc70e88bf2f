"""`mooring replay`: decide the attempts of a journal again."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
from typing import TYPE_CHECKING

from mooring.cli.journal_rules import JournalRules
from mooring.cli.journal_warnings import showing_warnings
from mooring.cli.messages import printable_json, printable_lines, warn
from mooring.cli.progress import ProgressLine
from mooring.errors import JournalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mooring.journal.entries import Entry, SegmentHead
    from mooring.replay.replaying import RunRules
    from mooring.replay.report import ReplayReport

#: Allocations between two runs of the garbage collector: nearly all objects are freed without it.
_COLLECTOR = (50_000, 10, 10)
#: The exit status if a decision did not come out as recorded.
DEVIATES = 3


def run(args: argparse.Namespace) -> int:
    """Replay the journal that a command line names; return the exit status."""
    # What plugins log is not part of the report.
    logging.getLogger("mooring").addHandler(logging.NullHandler())
    gc.set_threshold(*_COLLECTOR)
    gc.freeze()
    with showing_warnings():
        return _replay(args)


def _replay(args: argparse.Namespace) -> int:
    from mooring.replay.journal_span import first_entry, read_moment

    first_entry(args.folder)
    since = read_moment(args.folder, "--from", args.since)
    until = read_moment(args.folder, "--to", args.until)
    if args.history == "own":
        return _run_own(args, since, until)
    return _run_recorded(args, since, until)


def _run_recorded(args: argparse.Namespace, since: float | None, until: float | None) -> int:
    from mooring.replay.replaying import Replay
    from mooring.replay.report_data import replay_data
    from mooring.replay.report_page import replay_page
    from mooring.replay.report_text import replay_lines

    rules = JournalRules(args)
    replay = Replay(lambda head: _rules(rules, head), since=since)
    with ProgressLine() as line:
        report = replay.run(_entries(args.folder, since, until, line))
    if args.output == "json":
        print(printable_json(replay_data(report)))
    elif args.output == "html":
        print(printable_lines(replay_page(report).splitlines()))
    else:
        print(printable_lines(replay_lines(report)))
    return _status(report)


def _entries(
    folder: str, since: float | None, until: float | None, line: ProgressLine
) -> Iterable[Entry]:
    """Return the entries to replay, which show on a line how far the replay is."""
    from mooring.cli.replay_progress import showing_progress
    from mooring.journal.journal_reading import read_journal
    from mooring.replay.journal_span import journal_end

    def end() -> float:
        last = journal_end(folder)
        return last if until is None else min(last, until)

    return showing_progress(read_journal(folder, since=since, until=until), line, end)


def _status(report: ReplayReport) -> int:
    if report.other_rules or report.reproduced:
        return 0
    return DEVIATES


def _run_own(args: argparse.Namespace, since: float | None, until: float | None) -> int:
    from mooring.replay.own_history import OwnHistory
    from mooring.replay.report_data import own_history_data
    from mooring.replay.report_page import own_history_page
    from mooring.replay.report_text import own_history_lines

    history = OwnHistory(JournalRules(args).applied)
    with ProgressLine() as line:
        report = asyncio.run(history.run(_entries(args.folder, since, until, line), since))
    if args.output == "json":
        print(printable_json(own_history_data(report)))
    elif args.output == "html":
        print(printable_lines(own_history_page(report).splitlines()))
    else:
        print(printable_lines(own_history_lines(report)))
    return 0


def _rules(rules: JournalRules, head: SegmentHead) -> RunRules:
    from mooring.replay.replaying import RunRules

    applied = rules.applied(head)
    if applied.is_recorded:
        return RunRules(applied)
    try:
        recorded = rules.recorded(head)
    except JournalError as error:
        # Without them, a difference is attributed by the new scores alone.
        warn([f"the recorded rules cannot be applied: {error}"])
        return RunRules(None, applied)
    return RunRules(recorded, applied)

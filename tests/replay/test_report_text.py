"""Reports as text."""

from __future__ import annotations

from mooring.replay.report import ReplayReport
from mooring.replay.report_text import own_history_lines, replay_lines
from tests.replay.reports import HOSTILE, compared_report, deviating_report, own_report


def test_a_deviation_names_the_plugin() -> None:
    assert list(replay_lines(deviating_report())) == [
        "2 attempts of 2 pods, 2027-01-15T08:00:00Z to 2027-01-15T08:01:00Z, decided again by the "
        "recorded configuration",
        "1 of 2 decisions came out differently:",
        f'  shop/web, attempt 2, 2027-01-15T08:00:00Z: message was {HOSTILE}, is "" '
        "(NodeResourcesFit)",
    ]


def test_all_well() -> None:
    report = ReplayReport(rules="the recorded configuration", runs=1)
    assert list(replay_lines(report)) == ["no attempt in this time"]
    report.add_attempt("shop/web", 0.0, scheduled=True)
    assert list(replay_lines(report))[1:] == [
        "every decision came out the same: node, message and totals"
    ]


def test_a_journal_that_lacks_changes() -> None:
    report = ReplayReport(rules="r", runs=1, contradictions=1, undecided=2)
    report.add_attempt("shop/web", 0.0, scheduled=True)
    lines = list(replay_lines(report))[1:]
    assert lines == [
        "  2 attempts without a recorded decision: it ended there",
        "  1 entry contradict the state before: the journal lacks changes",
    ]


def test_differences_by_verdict_and_plugin() -> None:
    lines = list(replay_lines(compared_report()))
    assert lines[0].endswith("2 runs of the scheduler, decided again by other.yaml")
    assert lines[1:5] == [
        "1  same",
        "1  tied",
        "     1  Fit",
        f"        shop/1, attempt 1: node-1 → node-2, +12 points, {HOSTILE}",
    ]


def test_two_histories_side_by_side() -> None:
    lines = list(own_history_lines(own_report()))
    assert lines[2].split() == ["RECORDED", "OWN"]
    rows = {line[:24].strip(): line[24:].split() for line in lines[3:]}
    assert rows["got a node"] == ["1", "2"]
    assert rows["pending, longest"] == ["100.0", "s", "10.0", "s"]
    assert rows["preemptions"] == ["3", "0"]

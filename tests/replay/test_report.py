"""The report of a replay."""

from __future__ import annotations

from mooring.replay.attempt_comparison import (
    AttemptComparison,
    AttemptVerdict,
    Deviation,
)
from mooring.replay.report import EXAMPLES, MOST_DEVIATIONS, ReplayReport


def test_examples_and_deviations_are_bounded() -> None:
    report = ReplayReport()
    for number in range(MOST_DEVIATIONS + 5):
        report.add_attempt(f"default/{number}", float(number), scheduled=number % 2 == 0)
        report.add_deviation(Deviation("default/web", 1, 0.0, "node", "a", "b", "Fit"))
        moved = AttemptComparison(
            "default/web", 1, 0.0, AttemptVerdict.ANOTHER_NODE, "a", "b", "Fit", 7
        )
        report.add(moved)
    assert (report.first, report.last) == (0.0, MOST_DEVIATIONS + 4.0)
    assert report.scheduled == (MOST_DEVIATIONS + 6) // 2
    assert len(report.deviations) == MOST_DEVIATIONS
    assert report.deviating == report.plugins[AttemptVerdict.ANOTHER_NODE, "Fit"]
    assert len(report.examples[AttemptVerdict.ANOTHER_NODE, "Fit"]) == EXAMPLES
    assert not report.reproduced


def test_an_attempt_that_stays_the_same_is_no_example() -> None:
    report = ReplayReport()
    report.add(AttemptComparison("default/web", 1, 0.0, AttemptVerdict.SAME, "a", "a"))
    assert report.counts[AttemptVerdict.SAME] == 1
    assert not report.examples
    assert report.reproduced


def test_a_contradiction_is_not_reproduced() -> None:
    assert not ReplayReport(contradictions=1).reproduced

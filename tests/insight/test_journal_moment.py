"""The state of a cluster at a moment of its past."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.errors import JournalError
from mooring.explain.journal.entries import SegmentHead
from mooring.insight.journal_moment import journal_span, read_moment_of
from mooring.insight.replay.rules import ReplayRules, recorded_rules
from tests.support.journals import record_two_pods


def rules_of(head: SegmentHead) -> ReplayRules:
    return recorded_rules(head)


async def test_moments_before_between_and_after_two_pods(tmp_path: Path) -> None:
    moments = await record_two_pods(tmp_path)
    begin, end = journal_span(tmp_path / "journal")
    assert begin <= moments.before < moments.between < moments.after <= end
    placed = {}
    for name in ("before", "between", "after"):
        found = read_moment_of(tmp_path / "journal", getattr(moments, name), rules_of)
        pods = sorted(one.pod.metadata.name for one in found.scheduler.cache.pods)
        placed[name] = (pods, [one.name for one in found.decisions.after(0, 10)])
        assert len(found.scheduler.cache.nodes) == 2
        assert (found.failure, found.unread) == ("", ())
        assert found.rules == "the recorded configuration"
        found.close()
    assert placed == {
        "before": ([], []),
        "between": (["one"], ["one"]),
        "after": (["one", "two"], ["one", "two"]),
    }


async def test_pods_without_a_node_and_why(tmp_path: Path) -> None:
    moments = await record_two_pods(tmp_path, huge=True)
    found = read_moment_of(tmp_path / "journal", moments.after, rules_of)
    assert found.pods.get("two", "default") is not None
    assert [(one.name, one.outcome) for one in found.decisions.after(0, 10)] == [
        ("one", "bound"),
        ("two", "unschedulable"),
    ]
    assert found.decisions.after(1, 10)[0].message.startswith("0/2 nodes are available: ")
    found.close()


def test_a_folder_without_a_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="holds no journal"):
        journal_span(tmp_path)
    with pytest.raises(JournalError, match="holds no journal"):
        read_moment_of(tmp_path, 0.0, rules_of)

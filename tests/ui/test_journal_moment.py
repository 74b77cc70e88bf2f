"""The state of a cluster at a moment of its past."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mooring.config import default_config
from mooring.config.rules import Rules
from mooring.errors import JournalError
from mooring.framework.features import FeatureGates
from mooring.journal.entries import (
    Bound,
    Change,
    CheckpointBegins,
    CheckpointEnds,
    CheckpointObject,
    SegmentHead,
)
from mooring.journal.head import make_head
from mooring.registry import default_registry
from mooring.replay.replay_rules import recorded_rules
from mooring.ui.journal_moment import journal_span, read_moment_of
from tests.journal.journals import read
from tests.journal.test_journal_reading import write
from tests.replay.recordings import TREES, journaled, refuse_tree, schedule_tree
from tests.support.journals import record_two_pods


def rules_of(head: SegmentHead) -> Rules:
    return recorded_rules(head)


def test_moments_before_between_and_after_two_pods(tmp_path: Path) -> None:
    moments = record_two_pods(tmp_path)
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


def test_a_checkpoint_counts_as_a_whole(tmp_path: Path) -> None:
    registry, gates = default_registry(), FeatureGates()
    config = default_config(registry=registry, feature_gates=gates)
    head = make_head(config, registry=registry, features=gates, now=1.0)
    there = CheckpointObject(2.0, "nodes.v1.", msgspec.Raw(b'{"metadata":{"name":"a"}}'))
    later = Change(4.0, "nodes.v1.", "", "b", msgspec.Raw(b'{"metadata":{"name":"b"}}'))
    whole = [CheckpointBegins(1.0, 0, 7, ("a",)), there, CheckpointEnds(3.0, 1)]
    write(tmp_path, 1, [head, *whole, later])
    for time, names in ((1.0, ["a"]), (3.5, ["a"]), (4.0, ["a", "b"])):
        found = read_moment_of(tmp_path, time, rules_of)
        assert sorted(found.scheduler.cache.nodes.names) == names
        found.close()


def test_pods_without_a_node_and_why(tmp_path: Path) -> None:
    moments = record_two_pods(tmp_path, huge=True)
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


def decisions(folder: Path) -> list[tuple[str, str, str]]:
    """Return the decisions at the end of a journal: pod, outcome, node."""
    found = read_moment_of(folder, journal_span(folder)[1], rules_of)
    found.close()
    return [(one.name, one.outcome, one.node) for one in found.decisions.after(0, 10)]


def test_of_the_cycles_of_a_group_only_the_results_are_decisions(tmp_path: Path) -> None:
    journaled(tmp_path / "fits", schedule_tree, gates=TREES)
    nodes = sorted(entry.node for entry in read(tmp_path / "fits", Bound))
    found = decisions(tmp_path / "fits")
    assert [(name, outcome) for name, outcome, _ in found] == [
        (name, "bound") for name in ("leader-0", "workers-0", "workers-1")
    ]
    assert sorted(node for _, _, node in found) == nodes
    journaled(tmp_path / "refused", refuse_tree, gates=TREES)
    # In the second rack the leader has found a node, and lost it with its tree.
    assert decisions(tmp_path / "refused") == [
        (name, "unschedulable", "") for name in ("leader-0", "workers-0", "workers-1")
    ]

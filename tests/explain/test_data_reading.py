"""Explanations read from their data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from mooring.api import KubeObject
from mooring.errors import ObjectError
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.data_reading import read_live_explanation
from mooring.explain.live_explanation import LiveExplanation
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup, TriedPlacement
from mooring.queue.queue_places import QueuePlace, Whereabouts
from mooring.testing import make_composite_pod_group, make_pod_group
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain


class Named(Plugin):
    """A plugin whose reason has the node's name."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable(f"not on {node.name}") if node.name == "n3" else None


def record(attempt: int, group: str = "") -> AttemptRecord:
    return AttemptRecord(
        sequence=7,
        time=90.0,
        namespace="default",
        name="pod",
        uid="u",
        profile="default-scheduler",
        attempt=attempt,
        outcome="unschedulable",
        victims=("default/low",),
        pod_group=group,
    )


def live(objects: list[KubeObject], **more: Any) -> LiveExplanation:
    found = explain(objects, plugins=[Named])[-1]
    place = QueuePlace(
        namespace="default",
        name="pod",
        uid="u",
        place=Whereabouts.UNSCHEDULABLE,
        since=88.0,
        events=["Node Add"],
        latest=390.0,
    )
    return LiveExplanation(
        time=100.0, found=found, record=record(2), others=[record(1)], queue=place, **more
    )


def of_group(objects: list[KubeObject]) -> LiveExplanation:
    """Return the explanation of a pod of a group that was asked about its node only."""
    explained = live(objects)
    found, explained.record = explained.found, record(2, "default/gang")
    found.decision.pod, found.recorded = make_pod(group="gang"), True
    found.verdicts.asked = np.array([name == found.chosen for name in found.verdicts.names])
    return explained


TREE = TriedGroup(
    make_composite_pod_group("job"),
    None,
    [TriedPlacement("", 3, (), None, parts=[TriedGroup(make_pod_group("part"), None)])],
).lines()
NODES = [make_node("n1", cpu="1", taints=["a=b:NoSchedule"]), make_node("n2"), make_node("n3")]


@pytest.mark.parametrize(
    "explained",
    [
        pytest.param(live([*NODES, make_pod(cpu="900")]), id="it fits nowhere"),
        pytest.param(live([*NODES, make_pod()], current_node="n2"), id="one node is left"),
        pytest.param(live([*NODES, make_node("n4"), make_pod()]), id="nodes are scored"),
        pytest.param(
            live(
                [
                    make_node("n1", cpu="1"),
                    make_pod("low", cpu="1", node="n1"),
                    make_pod(cpu="1", priority=9),
                ],
                extenders=["other"],
            ),
            id="others are preempted",
        ),
        pytest.param(live([*NODES, make_pod(gates=["wait"])]), id="it is gated"),
        pytest.param(live([*NODES, make_pod()], exists=False), id="it is gone"),
        pytest.param(live([*NODES, make_pod()], tree=TREE), id="it is part of a tree"),
        pytest.param(of_group([*NODES, make_pod()]), id="it is one of a group"),
    ],
)
def test_what_is_read_says_the_same(explained: LiveExplanation) -> None:
    data = json.loads(json.dumps(explained.data()))
    found = read_live_explanation(data)
    assert json.loads(json.dumps(found.data())) == data
    for width, nodes in ((None, None), (60, 4)):
        assert found.lines(width, nodes=nodes) == explained.lines(width, nodes=nodes)


@pytest.mark.parametrize("change", [{"outcome": "strange"}, {"nodes": 3}, {"record": "x"}])
def test_data_of_another_shape(change: dict[str, Any]) -> None:
    data = live([*NODES, make_pod()]).data()
    with pytest.raises(ObjectError, match=r"^the explanation cannot be read: .* another version"):
        read_live_explanation({**data, **change})
    del data["tree"]
    assert read_live_explanation(data).tree == []
    del data["queue"]
    with pytest.raises(ObjectError, match="KeyError: 'queue'"):
        read_live_explanation(data)


def test_what_comes_from_a_journal_stays_marked() -> None:
    explained = live([*NODES, make_pod("pod")], from_journal=True, journal_problem="another node")
    data = json.loads(json.dumps(explained.data()))
    read = read_live_explanation(data)
    assert (read.from_journal, read.journal_problem) == (True, "another node")
    assert read.lines() == explained.lines()
    # A scheduler of an earlier version does not write these fields.
    for field in ("fromJournal", "journalProblem"):
        del data[field]
    assert not read_live_explanation(data).from_journal

"""What an observer of a simulation keeps of decisions."""

from __future__ import annotations

from typing import Any

from mooring.framework.decision import Outcome
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.outcomes import OutcomeRecorder
from mooring.virtual.simulation import schedule_all
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler


def test_decision_shows_what_happened_to_the_pod_after_it() -> None:
    class FailsToBind(Plugin):
        def pre_bind(self, state: Any, pod: Any, node_name: str) -> Status:
            return Status.error("no disk")

    scheduler = make_scheduler([FailsToBind], [*make_nodes("n1"), make_pod("a")])
    decision = drive(schedule_all(scheduler)).decisions["a"]
    assert (decision.outcome, decision.node_name) == (Outcome.ERROR, "")
    assert [status.plugin for status in decision.errors] == ["FailsToBind"]


def test_faults_of_post_bind_are_kept() -> None:
    class Raises(Plugin):
        def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
            raise ValueError("boom")

    scheduler = make_scheduler([Raises], [*make_nodes("n1"), make_pod("a")])
    decision = drive(schedule_all(scheduler)).decisions["a"]
    assert decision.outcome is Outcome.SCHEDULED
    assert [status.plugin for status in decision.errors] == ["Raises"]


def test_details_are_dropped_on_request() -> None:
    for with_details in (True, False):
        objects = [*make_nodes("n1", "n2"), make_pod("a")]
        scheduler = MemoryScheduler(objects, recorder=OutcomeRecorder(with_details=with_details))
        decision = drive(schedule_all(scheduler)).decisions["a"]
        assert (decision.feasible is not None) is with_details
        assert decision.node_name

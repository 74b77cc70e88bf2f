"""A running scheduler answers questions from its journal after it has dropped its records."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.examination import Examination
from mooring.explain.explainer import Explainer
from mooring.explain.journal_questions import (
    JournalAnswer,
    JournalAnswers,
    JournalQuestion,
)
from mooring.explain.questions import (
    QUESTIONS,
    AnswerLimitError,
    TooManyQuestions,
    UnknownPodError,
)
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.framework.decision import Decision
from mooring.framework.tried_groups import GroupLine
from tests.app.world import make_pod
from tests.explain.histories import RecordedWorld
from tests.scheduler.groups import GroupWorld

TREES = {"TopologyAwareWorkloadScheduling": True, "CompositePodGroup": True}


def record(attempt: int, composite_pod_group: str = "") -> AttemptRecord:
    return AttemptRecord(
        sequence=0,
        time=1.0,
        namespace="default",
        name="p",
        uid="u",
        profile="default-scheduler",
        attempt=attempt,
        outcome="unschedulable",
        composite_pod_group=composite_pod_group,
    )


class JournaledWorld(RecordedWorld):
    """A world with a journal that holds the attempts that a test adds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[JournalQuestion] = []
        self.flushed = 0
        self.held: dict[int | None, JournalAnswer] = {}
        self.failure: Exception | None = None
        self.explainer = Explainer(
            self.scheduler, self.history, JournalAnswers("folder", self.flush, self)
        )

    def flush(self, seconds: float) -> bool:
        self.flushed += 1
        return True

    async def replay(
        self, folder: Path, question: JournalQuestion, plugins: Collection[RecordedPlugin]
    ) -> JournalAnswer | None:
        self.asked.append(question)
        if self.failure is not None:
            raise self.failure
        return self.held.get(question.attempt)

    def hold(self, attempt: int, composite_pod_group: str = "", **more: Any) -> Examination:
        """Let the journal hold an attempt; return its explanation."""
        found = Examination(Decision(make_pod("p"), "default-scheduler"), attempt)
        held = record(attempt, composite_pod_group)
        self.held[attempt] = JournalAnswer(found=found, record=held, **more)
        return found

    async def explain(self, attempt: int | None = None) -> Any:
        """Explain the pod "p"; let other threads run for the replay."""
        asked = asyncio.ensure_future(self.explainer.explain_pod("default", "p", attempt))
        while not asked.done():
            await asyncio.sleep(0)
            await self.settle()
        return await asked


class JournaledGroups(JournaledWorld, GroupWorld):  # type: ignore[misc]
    """A world with a journal and pod groups."""


async def test_answers_that_are_kept_are_given_without_the_journal() -> None:
    world = JournaledWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    found = await world.explain(1)
    assert (found.from_journal, found.asked_now, world.asked) == (False, False, [])
    assert (await world.explain(0)).asked_now
    assert not world.asked


@pytest.mark.parametrize("attempt", [None, 1])
async def test_answers_that_were_dropped_come_from_the_journal(attempt: int | None) -> None:
    world = JournaledWorld()
    world.add_nodes(1)
    await world.try_pod("p")
    kept = world.history.find("default", "p")
    assert kept is not None
    world.history.limit = 3000
    await world.try_pod("q")
    replayed = world.hold(1)
    found = await world.explain(attempt)
    assert found.found is replayed
    assert (found.from_journal, found.asked_now) == (True, False)
    assert found.record is kept.record, "it knows more: whether the pod was bound"
    (question,) = world.asked
    assert question == JournalQuestion(
        namespace="default", name="p", attempt=1, uid=kept.record.uid, since=kept.record.time
    )
    assert world.flushed == 1
    heading = found.lines()[0]
    assert heading.startswith("default/p is on n0: attempt 1, ")
    assert heading.endswith("; from the journal")
    assert found.data()["fromJournal"]


async def test_the_tree_of_an_attempt_comes_from_the_journal_too() -> None:
    world = JournaledWorld(limit=1)
    world.add_nodes(1)
    await world.try_pod("p")
    top = GroupLine(
        depth=0,
        kind="CompositePodGroup",
        name="job",
        needs=2,
        fits=True,
        placed="2 of 2 groups",
        placement="rack-1",
        result="fits",
    )
    world.hold(1, tree=[top])
    found = await world.explain(1)
    assert found.tree == [top]
    assert [one["placement"] for one in found.data()["tree"]] == ["rack-1"]
    lines = found.lines()
    assert lines[lines.index("This attempt of composite pod group default/job:") + 2 :] == [
        "job    2      2 of 2 groups  rack-1     fits"
    ]


async def test_the_tree_of_the_last_attempt_is_not_shown_for_a_replayed_one() -> None:
    world = JournaledGroups(limit=1, gates=TREES)
    world.add_nodes(1)
    world.add_composite("job", min_group_count=1)
    world.add_group("left", parent="job", min_count=1)
    world.add_pod("p", group="left")
    await world.settle()
    assert world.history.tree("default/job")
    world.hold(1, composite_pod_group="default/job")
    found = await world.explain(1)
    assert found.record.composite_pod_group == "default/job"
    assert (found.from_journal, found.tree) == (True, ())


async def test_a_trial_that_is_replayed_does_not_hide_why_the_attempt_failed() -> None:
    world = JournaledWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    kept = world.history.find("default", "p")
    assert kept is not None
    world.history.limit = 3000
    await world.try_pod("q")
    world.hold(1, problem="this is a trial")
    found = await world.explain(1)
    assert found.from_journal and found.found.decision.message == ""
    assert found.lines()[1:3] == [
        "  the journal: this is a trial",
        f"  attempt 1: {kept.record.message}",
    ]


async def test_a_record_that_is_gone_comes_from_the_journal() -> None:
    world = JournaledWorld(limit=1)
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    world.hold(4)
    found = await world.explain(4)
    assert (found.record.attempt, found.from_journal) == (4, True)
    with pytest.raises(UnknownPodError, match="attempt 5"):
        await world.explain(5)
    world.pods.delete("p", "default")
    await world.settle()
    found = await world.explain(4)
    assert not found.exists and found.from_journal


async def test_the_last_attempt_of_a_pod_without_records_is_looked_for() -> None:
    world = JournaledWorld(limit=1)
    world.add_nodes(1)
    await world.try_pod("p")
    found = await world.explain()
    assert found.asked_now and not found.from_journal
    (question,) = world.asked
    assert (question.attempt, question.uid) == (None, found.found.decision.pod.metadata.uid)


async def test_a_pod_that_was_never_tried_is_not_looked_for() -> None:
    world = JournaledWorld()
    world.pods.add(make_pod("p", gates=["a/b"]))
    await world.settle()
    assert (await world.explain()).asked_now
    assert not world.asked


async def test_plugins_are_asked_now_if_an_attempt_cannot_be_replayed() -> None:
    world = JournaledWorld(limit=1)
    world.add_nodes(1)
    await world.try_pod("p")
    world.held[None] = JournalAnswer(record=record(1), problem="the plugin is gone")
    found = await world.explain()
    assert (found.asked_now, found.from_journal) == (True, False)
    assert found.data()["journalProblem"] == "the plugin is gone"
    assert found.lines()[1] == "  the journal: the plugin is gone"


async def test_a_replay_that_takes_too_long_is_an_error_or_asked_now() -> None:
    world = JournaledWorld(limit=1)
    world.add_nodes(1)
    await world.try_pod("p")
    world.failure = AnswerLimitError("not within 40 s")
    with pytest.raises(AnswerLimitError):
        await world.explain(1)
    found = await world.explain()
    assert found.asked_now
    assert found.journal_problem == "not within 40 s"
    world.pods.delete("p", "default")
    await world.settle()
    with pytest.raises(AnswerLimitError):
        await world.explain()


async def test_replays_count_as_examinations() -> None:
    world = JournaledWorld(limit=1)
    world.add_nodes(1)
    await world.try_pod("p")
    world.hold(1)
    for _ in range(QUESTIONS):
        await world.explain(1)
    with pytest.raises(TooManyQuestions):
        await world.explain(1)
    assert len(world.asked) == QUESTIONS

"""A scheduler asks its own journal one question at a time, with a timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

import pytest

from mooring.explain import journal_questions
from mooring.explain.journal_questions import (
    BUSY_SECONDS,
    JournalAnswer,
    JournalAnswers,
    JournalQuestion,
)
from mooring.explain.questions import AnswerLimitError, TooManyQuestions
from mooring.explain.scheduler_rules import RecordedPlugin

QUESTION = JournalQuestion(namespace="default", name="web", attempt=1)
ANSWER = JournalAnswer(problem="a plugin is gone")


class Replayer:
    """A replayer that answers when a test lets it."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.told: list[object] = []

    def flush(self, seconds: float) -> bool:
        self.told.append("flush")
        return True

    async def replay(
        self, folder: Path, question: JournalQuestion, plugins: Collection[RecordedPlugin]
    ) -> JournalAnswer | None:
        self.told.append((folder, question, plugins))
        await self.may_answer.wait()
        return ANSWER


async def test_the_journal_is_written_before_it_is_read() -> None:
    replayer = Replayer()
    replayer.may_answer.set()
    plugins = {RecordedPlugin("Mine", "mine:Mine", "/mine.py", "0")}
    answers = JournalAnswers("folder", replayer.flush, replayer, plugins)
    assert await answers.explain(QUESTION) is ANSWER
    assert replayer.told == ["flush", (Path("folder"), QUESTION, plugins)]


async def test_one_question_is_answered_at_a_time() -> None:
    replayer = Replayer()
    answers = JournalAnswers("folder", replayer.flush, replayer)
    first = asyncio.create_task(answers.explain(QUESTION))
    await asyncio.sleep(0)
    with pytest.raises(TooManyQuestions) as refused:
        await answers.explain(QUESTION)
    assert refused.value.seconds == BUSY_SECONDS
    replayer.may_answer.set()
    assert await first is ANSWER
    assert await answers.explain(QUESTION) is ANSWER


async def test_a_replay_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_questions, "REPLAY_SECONDS", 0.001)
    replayer = Replayer()
    answers = JournalAnswers("folder", replayer.flush, replayer)
    with pytest.raises(AnswerLimitError, match=r"could not be replayed .* --journal DIR"):
        await answers.explain(QUESTION)
    replayer.may_answer.set()
    assert await answers.explain(QUESTION) is ANSWER

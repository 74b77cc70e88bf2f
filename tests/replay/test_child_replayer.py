"""Attempts of a journal are replayed in a child process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mooring.explain.journal_questions import JournalQuestion
from mooring.explain.questions import AnswerLimitError
from mooring.replay.child_replayer import ChildReplayer
from tests.replay.recordings import TREES, journaled, schedule_some, schedule_tree
from tests.support.waiting import PATIENCE

SLEEPS = """\
import os, pathlib, time
pathlib.Path("pid").write_text(str(os.getpid()))
time.sleep(600)
"""


def asked(name: str, attempt: int | None = None) -> JournalQuestion:
    return JournalQuestion(namespace="default", name=name, attempt=attempt)


def test_an_attempt_is_explained_by_another_process(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)

    async def ask() -> None:
        found = await ChildReplayer().replay(tmp_path, asked("huge", 1))
        assert found is not None and found.found is not None and found.record is not None
        assert found.problem == ""
        assert (found.found.attempt, found.record.attempt) == (1, 1)
        assert found.found.decision.message == found.record.message
        assert found.found.verdicts.names == ["small", "big"]
        assert found.tree == []
        assert await ChildReplayer().replay(tmp_path, asked("huge", 7)) is None

    asyncio.run(ask())


def test_the_tree_of_a_pod_comes_with_its_explanation(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_tree, gates=TREES)
    found = asyncio.run(ChildReplayer().replay(tmp_path, asked("leader-0")))
    assert found is not None and found.found is not None
    assert found.found.chosen in ("a-1", "a-2")
    assert [(one.name, one.placement, one.placed) for one in found.tree] == [
        ("job", "a", "2 of 2 groups"),
        ("leader", "all nodes", "1 of 1 pods"),
        ("workers", "all nodes", "2 of 2 pods"),
    ]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a module that a child process can run."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "replaced.py"


async def test_a_process_that_fails_is_an_error_with_its_last_line(module: Path) -> None:
    module.write_text("raise MemoryError('too many pods')")
    with pytest.raises(
        AnswerLimitError, match=r"exit status 1: MemoryError: too many pods; replay"
    ):
        await ChildReplayer("replaced").replay(module.parent, asked("web"))


async def test_a_process_that_is_ended_is_an_error(module: Path) -> None:
    module.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)")
    with pytest.raises(AnswerLimitError, match=r"ended with signal \d+; replay"):
        await ChildReplayer("replaced").replay(module.parent, asked("web"))


async def test_the_process_ends_with_the_question(module: Path) -> None:
    module.write_text(SLEEPS)
    asking = asyncio.create_task(ChildReplayer("replaced").replay(module.parent, asked("web")))
    pid = module.with_name("pid")
    async with asyncio.timeout(PATIENCE):
        while not (pid.exists() and pid.read_text()):
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not Path(f"/proc/{pid.read_text()}").exists()

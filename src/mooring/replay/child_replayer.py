"""ChildReplayer: replays attempts of a journal in a process of their own (`answering_process`)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.data_reading import read_examination
from mooring.explain.journal_questions import JournalAnswer, JournalQuestion
from mooring.explain.questions import AnswerLimitError
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.framework.tried_groups import GroupLine

_MODULE = "mooring.replay.answering_process"
#: By default, numerical libraries start a thread for each processor.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: How many characters of a failed process's error output are shown.
_SHOWN = 300


class AnsweringRequest(msgspec.Struct, frozen=True):
    """The request to the process."""

    folder: str
    question: JournalQuestion
    #: The plugins whose files may be loaded.
    plugins: frozenset[RecordedPlugin] = frozenset()


class AnsweringResult(msgspec.Struct, frozen=True):
    """The answer of the process."""

    #: Whether the journal holds the attempt.
    known: bool = False
    #: The explanation (`explain.data`); None if the attempt could not be replayed.
    explanation: dict[str, Any] | None = None
    record: AttemptRecord | None = None
    problem: str = ""
    #: The groups of the tree that the pod's group is part of, in this attempt.
    tree: list[GroupLine] = []


class ChildReplayer:
    """An `AttemptReplayer` that starts a process for each question."""

    def __init__(self, module: str = _MODULE) -> None:
        self._module = module

    async def replay(
        self, folder: Path, question: JournalQuestion, plugins: Collection[RecordedPlugin] = ()
    ) -> JournalAnswer | None:
        """Replay an attempt in a child process, which is killed if this is cancelled."""
        asked = AnsweringRequest(str(folder.absolute()), question, frozenset(plugins))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            # Do not import modules from the current folder.
            "-P",
            "-m",
            self._module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
        )
        try:
            output, errors = await process.communicate(msgspec.json.encode(asked))
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise AnswerLimitError(_failure(process.returncode or 0, errors))
        # Decoding takes long for thousands of nodes, so it runs in a thread.
        return await asyncio.to_thread(_read, output)


def _failure(status: int, errors: bytes) -> str:
    last = errors.decode(errors="replace").strip().rpartition("\n")[2][:_SHOWN]
    ended = f"signal {-status}" if status < 0 else f"exit status {status}"
    return (
        f"the process that replays the journal ended with {ended}{': ' if last else ''}{last}; "
        "replay it with `mooring explain POD --journal DIR --attempt N`, where the journal is"
    )


def _read(output: bytes) -> JournalAnswer | None:
    result = msgspec.json.decode(output, type=AnsweringResult)
    if not result.known:
        return None
    found = None
    if result.explanation is not None:
        more = {"recorded": False, "record": msgspec.to_builtins(result.record)}
        found = read_examination({**more, **result.explanation})
    return JournalAnswer(
        found=found, record=result.record, problem=result.problem, tree=result.tree
    )

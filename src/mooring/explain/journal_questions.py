"""Answers about attempts whose details a running scheduler no longer has, from its own journal.

The recorded attempt is replayed. The code for that is in a later room, so it is passed in as an
`AttemptReplayer`. A replay takes long and must not block the scheduling loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.examination import Examination
from mooring.explain.questions import AnswerLimitError, TooManyQuestions
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.framework.tried_groups import GroupLine

#: The timeout of a replay, in seconds.
REPLAY_SECONDS = 40.0
#: After how many seconds a client should retry while another attempt is being replayed.
BUSY_SECONDS = 5.0
#: The timeout of writing the waiting entries, in seconds.
_FLUSH_SECONDS = 5.0


class JournalQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt to replay."""

    namespace: str
    name: str
    #: The number of the attempt; None for the last one.
    attempt: int | None = None
    #: The uid of the pod; "" for any pod that had the name.
    uid: str = ""
    #: The earliest time at which the attempt may have begun, in seconds since the epoch.
    since: float = 0.0


class JournalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of replaying an attempt."""

    #: The results of the plugins; None if the attempt could not be replayed.
    found: Examination | None = None
    #: The record in the journal; None if the scheduler ended before it decided.
    record: AttemptRecord | None = None
    #: Why the attempt could not be replayed, or how the replay differs; "" if neither.
    problem: str = ""
    #: The groups of the tree that the pod's group is part of, in this attempt.
    tree: Sequence[GroupLine] = ()


class AttemptReplayer(Protocol):
    """An object that replays attempts of a journal."""

    async def replay(
        self, folder: Path, question: JournalQuestion, plugins: Collection[RecordedPlugin]
    ) -> JournalAnswer | None:
        """Replay an attempt without blocking the scheduling loop; None if it is not recorded.

        Only the files of `plugins` are loaded, whatever the journal names. Raise AnswerLimitError
        if the replay exceeds a limit of time or memory.
        """
        ...


#: Writes the waiting entries, blocking for up to some seconds; returns whether it was done.
Flush = Callable[[float], bool]


class JournalAnswers:
    """The answers of the journal that this process writes, one at a time."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        flush: Flush,
        replayer: AttemptReplayer,
        plugins: Collection[RecordedPlugin] = (),
    ) -> None:
        """Answer from a folder; `plugins` are those that this process has run."""
        self._folder = Path(folder)
        self._flush = flush
        self._replayer = replayer
        self._plugins = plugins
        self._is_busy = False

    async def explain(self, question: JournalQuestion) -> JournalAnswer | None:
        """Replay an attempt; None if the journal does not hold it.

        Raise TooManyQuestions while another attempt is being replayed, and AnswerLimitError if the
        replay takes too long.
        """
        if self._is_busy:
            raise TooManyQuestions(BUSY_SECONDS)
        self._is_busy = True
        try:
            # Decisions of the last second may not be in the file yet.
            await asyncio.to_thread(self._flush, _FLUSH_SECONDS)
            async with asyncio.timeout(REPLAY_SECONDS):
                return await self._replayer.replay(self._folder, question, self._plugins)
        except TimeoutError:
            raise AnswerLimitError(
                f"the attempt could not be replayed from the journal within {REPLAY_SECONDS:.0f} s:"
                " replay it with `mooring explain POD --journal DIR --attempt N`, where the journal"
                " is"
            ) from None
        finally:
            self._is_busy = False

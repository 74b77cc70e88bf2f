"""Questions of a running scheduler to its own journal: attempts whose details it no longer has.

A recorded attempt is replayed. Replaying belongs to a later room and takes long, so it is plugged
in as an `AttemptReplayer`, which must not hold the scheduling loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.examination import Examination
from mooring.explain.questions import AnswerLimitError, TooManyQuestions
from mooring.framework.tried_groups import GroupLine

#: Seconds that a replay has.
REPLAY_SECONDS = 40.0
#: After how many seconds to ask again while another attempt is being replayed.
BUSY_SECONDS = 5.0
#: Seconds that the journal has to write what waits.
_FLUSH_SECONDS = 5.0


class JournalQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Which attempt is to be replayed."""

    namespace: str
    name: str
    #: The number of the attempt; None for the last one.
    attempt: int | None = None
    #: The uid of the pod; "" for any pod that had the name.
    uid: str = ""
    #: The attempt began at this time or later, in seconds since the epoch.
    since: float = 0.0


class JournalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal says of an attempt."""

    #: What the plugins said; None if the attempt could not be repeated.
    found: Examination | None = None
    #: What was recorded of it; None if the scheduler ended before it decided.
    record: AttemptRecord | None = None
    #: Why the attempt could not be repeated, or how the repetition differs; "" if all is well.
    problem: str = ""
    #: The groups of the tree that the pod's group is part of, in this attempt.
    tree: Sequence[GroupLine] = ()


class AttemptReplayer(Protocol):
    """What replays attempts of a journal."""

    async def replay(self, folder: Path, question: JournalQuestion) -> JournalAnswer | None:
        """Replay an attempt beside the scheduling loop; None if the journal does not hold it.

        Raise AnswerLimitError if that takes too long, or more than it may use.
        """
        ...


#: Writes what waits to the journal within some seconds; returns whether it did. May block.
Flush = Callable[[float], bool]


class JournalAnswers:
    """The answers of the journal that this process writes, one at a time."""

    def __init__(
        self, folder: str | os.PathLike[str], flush: Flush, replayer: AttemptReplayer
    ) -> None:
        self._folder = Path(folder)
        self._flush = flush
        self._replayer = replayer
        self._is_busy = False

    async def explain(self, question: JournalQuestion) -> JournalAnswer | None:
        """Replay an attempt; None if the journal does not hold it.

        Raise TooManyQuestions while another attempt is being replayed, and AnswerLimitError if it
        takes too long.
        """
        if self._is_busy:
            raise TooManyQuestions(BUSY_SECONDS)
        self._is_busy = True
        try:
            # What was decided within the last second may not be in the file yet.
            await asyncio.to_thread(self._flush, _FLUSH_SECONDS)
            async with asyncio.timeout(REPLAY_SECONDS):
                return await self._replayer.replay(self._folder, question)
        except TimeoutError:
            raise AnswerLimitError(
                f"the attempt could not be replayed from the journal within {REPLAY_SECONDS:.0f} s:"
                " replay it with `mooring explain POD --journal DIR --attempt N`, where the journal"
                " is"
            ) from None
        finally:
            self._is_busy = False

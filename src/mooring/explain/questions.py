"""Questions to a scheduler from outside: how many it answers, and how it refuses more."""

from __future__ import annotations

from collections import deque

from mooring.errors import MooringError

#: At most this many questions are answered within `SECONDS`.
QUESTIONS = 5
SECONDS = 1.0


class TooManyQuestions(MooringError):
    """A question that the scheduler has no time for now."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many questions; ask again in {seconds:.1f} s")
        #: After how many seconds the question may be asked again.
        self.seconds = seconds


class UnknownPodError(MooringError):
    """A question about a pod, or an attempt, that the scheduler does not know."""


class AnswerLimitError(MooringError):
    """The answer to a question exceeds a limit of time or memory."""


class QuestionLimit:
    """The limit of questions per time."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=QUESTIONS)

    def admit(self, now: float) -> None:
        """Count a question; raise TooManyQuestions if there have been too many."""
        times = self._times
        if len(times) == QUESTIONS and 0.0 <= now - times[0] < SECONDS:
            raise TooManyQuestions(times[0] + SECONDS - now)
        times.append(now)

"""OwnPace: when a simulated scheduler goes on.

The simulation decides in no virtual time. Without a pace, an attempt after each of thousands of
events would be simulated where the recorded scheduler, which was busy, took several events at
once. And two gangs that refuse each other would alternate forever at one moment.
"""

from __future__ import annotations

from collections import deque
from statistics import fmean

#: The recorded attempts whose time tells how long an attempt takes.
_RECENT = 99
#: The longest time of a recorded attempt that counts: the machine may have slept meanwhile.
_LONGEST = 1.0
#: After so many attempts at one moment each further one takes time, whatever is recorded.
_AT_ONCE = 10_000
_LEAST_SECONDS = 0.001
#: After so many seconds without a change, the scheduler wakes up more and more rarely.
STILL_SECONDS = 600.0


class OwnPace:
    """How long attempts take, and when it is useful to wake up. Owned by the simulation of a run.

    An attempt takes as long as the last recorded ones on average, so the scheduler tries no more
    pods than one that really runs could.
    """

    def __init__(self, now: float) -> None:
        #: When the next attempt can begin.
        self.free_at = now
        self._changed_at = now
        #: When the recorded attempt that is open began, and its pod.
        self._begun: tuple[str, float] = ("", now)
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._usual: float | None = 0.0
        #: The attempts at one moment.
        self._moment = now
        self._attempts = 0

    # What the journal tells.

    def recorded_begin(self, uid: str, time: float) -> None:
        """Note when a recorded attempt began."""
        self._begun = uid, time

    def recorded_end(self, uid: str, time: float) -> None:
        """Note when a recorded attempt ended."""
        begun, since = self._begun
        if begun == uid:
            self._recent.append(min(max(0.0, time - since), _LONGEST))
            self._usual = None

    # What the simulation does.

    def attempted(self, now: float) -> None:
        """Note that an attempt begins now."""
        if now != self._moment:
            self._moment, self._attempts = now, 0
        self._attempts += 1
        if self._usual is None:
            self._usual = fmean(self._recent)
        seconds = self._usual
        if self._attempts > _AT_ONCE:
            seconds = max(seconds, _LEAST_SECONDS)
        self.free_at = max(self.free_at, now) + seconds

    def changed(self, time: float) -> None:
        """Note that an object has changed, so that another attempt may have another outcome."""
        self._changed_at = max(self._changed_at, time)

    def wakeup(self, moment: float, now: float) -> float:
        """Return when to wake up for what is due at a moment.

        If nothing has changed for long, each wait doubles that time: a pod that is tried again
        every few minutes because of a timeout costs little, even if nothing happens for years.
        """
        still = now - self._changed_at
        if still <= STILL_SECONDS:
            return moment
        return max(moment, self._changed_at + 2 * still)

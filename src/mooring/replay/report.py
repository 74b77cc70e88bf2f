"""ReplayReport: what a replay of a journal found."""

from __future__ import annotations

from collections import Counter
from enum import Enum

import msgspec

from mooring.replay.attempt_comparison import (
    AttemptComparison,
    AttemptVerdict,
    Deviation,
)
from mooring.replay.shadow_comparison import ShadowComparisons

#: Examples that are kept for each verdict and plugin.
EXAMPLES = 3
#: Deviations that are kept.
MOST_DEVIATIONS = 100


class History(Enum):
    """Which placements a replay under other rules goes on from."""

    #: The recorded ones: every attempt is decided on the recorded state.
    RECORDED = "recorded"
    #: Its own, with the recorded arrivals and departures.
    OWN = "own"


class ReplayReport(msgspec.Struct):
    """The result of a replay on the recorded state."""

    #: The rules that were applied, in words.
    rules: str = ""
    #: Whether the rules are others than the recorded ones.
    other_rules: bool = False
    #: When the first and the last attempt began; None if there was none.
    first: float | None = None
    last: float | None = None
    #: Attempts that were decided again, and those of them that were recorded as scheduled.
    attempts: int = 0
    scheduled: int = 0
    pods: set[str] = msgspec.field(default_factory=set)
    #: Starts of a scheduler.
    runs: int = 0
    #: Attempts whose decision was not recorded: the scheduler was stopped, or failed.
    undecided: int = 0
    #: Changes that contradict the state: the journal lacks entries.
    contradictions: int = 0
    #: How many decisions under the recorded rules are not the recorded ones, and the first of them.
    deviating: int = 0
    deviations: list[Deviation] = msgspec.field(default_factory=list)
    #: How many differ while a plugin lacks answers that the journal leaves out, and the names of
    #: all such plugins; "" if a name is not known.
    not_comparable: int = 0
    lacking: set[str] = msgspec.field(default_factory=set)
    #: The comparisons of a shadow; None if the journal is not a shadow's.
    shadow: ShadowComparisons | None = None
    counts: Counter[AttemptVerdict] = msgspec.field(default_factory=Counter)
    #: By verdict and plugin.
    plugins: Counter[tuple[AttemptVerdict, str]] = msgspec.field(default_factory=Counter)
    examples: dict[tuple[AttemptVerdict, str], list[AttemptComparison]] = msgspec.field(
        default_factory=dict
    )

    def shadow_comparisons(self) -> ShadowComparisons:
        """Return the comparisons of a shadow; the first call creates them."""
        if self.shadow is None:
            self.shadow = ShadowComparisons()
        return self.shadow

    @property
    def reproduced(self) -> bool:
        """Return whether every decision under the recorded rules came out as recorded."""
        return not self.deviating and not self.contradictions

    def add_attempt(self, pod: str, time: float, *, scheduled: bool) -> None:
        """Count an attempt that was decided again."""
        self.first = time if self.first is None else self.first
        self.last = time
        self.attempts += 1
        self.scheduled += scheduled
        self.pods.add(pod)

    def add_deviation(self, found: Deviation) -> None:
        """Count a decision that did not come out as recorded."""
        self.deviating += 1
        if len(self.deviations) < MOST_DEVIATIONS:
            self.deviations.append(found)

    def add(self, found: AttemptComparison) -> None:
        """Count a comparison with other rules."""
        self.counts[found.verdict] += 1
        if found.verdict is AttemptVerdict.SAME:
            return
        key = (found.verdict, found.plugin)
        self.plugins[key] += 1
        kept = self.examples.setdefault(key, [])
        if len(kept) < EXAMPLES:
            kept.append(found)

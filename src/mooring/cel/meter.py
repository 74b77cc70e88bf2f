"""The cost of an evaluation so far, and its limits."""

# cel-go: interpreter/runtimecost.go

from __future__ import annotations

from typing import Any

import msgspec

from mooring.cel.values import EvaluationError

#: The most that one evaluation may cost.
PER_CALL_LIMIT = 1_000_000
COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"
#: The most elements and characters that functions may process without cost: cel-go charges nothing
#: for comparing or joining values that share their parts, however many parts there are.
_MAX_WORK = 10_000_000
#: How many elements or characters take about as long as one unit of cost.
_WORK_PER_COST = 5


class CostExceeded(EvaluationError):
    """An evaluation that was stopped because it cost too much."""

    def __init__(self) -> None:
        super().__init__(COST_EXCEEDED)


class Frame:
    """The state of one evaluation: its variables, and the cost so far."""

    __slots__ = ("cost", "fixed", "limit", "locals", "variables", "work")

    def __init__(self, variables: Any, slots: int, limit: int) -> None:
        self.variables = variables
        self.locals: list[Any] = [None] * slots
        self.cost = 0
        self.limit = limit
        self.work = 0
        #: By number of a part that was evaluated before: its cost and work, which are included in
        #: `cost` and `work`, and how often it was used. None if there is no such part.
        self.fixed: dict[int, tuple[int, int, int]] | None = None

    def spend(self, cost: int) -> None:
        """Add a cost, or raise CostExceeded."""
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded

    def labour(self, amount: int) -> None:
        """Count elements or characters that a function processes, or raise CostExceeded."""
        self.work += amount
        if self.work > _MAX_WORK:
            raise CostExceeded

    def alone(self) -> Frame:
        """Return a frame that begins without cost, for a part of the expression."""
        frame = Frame(self.variables, 0, self.limit)
        frame.locals = self.locals
        return frame

    def repeats(self, number: int, cost: int, work: int) -> bool:
        """Count a part as if it were evaluated again; return False if a limit ends within it."""
        if self.cost + cost > self.limit or self.work + work > _MAX_WORK:
            return False
        self.cost += cost
        self.work += work
        if self.fixed is None:
            self.fixed = {}
        times = self.fixed[number][2] if number in self.fixed else 0
        self.fixed[number] = (cost, work, times + 1)
        return True


class Bill(msgspec.Struct):
    """What an evaluation took: cost, and work that cel-go does not count, in units of cost."""

    #: What this evaluation took by itself.
    own: int = 0
    #: By number of a part that is evaluated only once per program: what it took.
    fixed: dict[int, int] = {}
    #: The elements and characters that functions processed.
    work: int = 0

    def take(self, frame: Frame) -> None:
        """Record what the evaluation in a frame took."""
        # What exceeds a limit is counted before it is done, and then it is not done.
        cost, work = min(frame.cost, frame.limit), min(frame.work, _MAX_WORK)
        self.work = work
        self.fixed = {}
        for number, (part, labour, times) in (frame.fixed or {}).items():
            cost -= part * times
            work -= labour * times
            self.fixed[number] = units(part, labour)
        self.own = units(cost, work)


def units(cost: int, work: int) -> int:
    """Return a cost and the work that it does not include, in units of cost."""
    return cost + work // _WORK_PER_COST

"""The cost of an evaluation so far, and its limits."""

# cel-go: interpreter/runtimecost.go

from __future__ import annotations

from typing import Any

from mooring.cel.values import EvaluationError

#: The most that one evaluation may cost.
PER_CALL_LIMIT = 1_000_000
COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"
#: The most elements and characters that functions may process without cost: cel-go charges nothing
#: for comparing or joining values that share their parts, however many parts there are.
_MAX_WORK = 10_000_000


class CostExceeded(EvaluationError):
    """An evaluation that was stopped because it cost too much."""

    def __init__(self) -> None:
        super().__init__(COST_EXCEEDED)


class Frame:
    """The state of one evaluation: its variables, and the cost so far."""

    __slots__ = ("cost", "limit", "locals", "variables", "work")

    def __init__(self, variables: Any, slots: int, limit: int) -> None:
        self.variables = variables
        self.locals: list[Any] = [None] * slots
        self.cost = 0
        self.limit = limit
        self.work = 0

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

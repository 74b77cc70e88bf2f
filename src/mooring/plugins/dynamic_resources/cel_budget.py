"""CelBudget: how much the claims of one scheduling attempt may cost together.

kube-scheduler limits each evaluation, but not their number: one claim can take minutes of every
attempt. The budget is counted in units of CEL cost and never in seconds, and an expression is
charged as if nothing were cached, so that an attempt that is replayed ends as the recorded one.
"""

from __future__ import annotations

from collections.abc import Callable

from mooring.cel.meter import units
from mooring.cel.parser import MAX_CODE_POINTS
from mooring.plugins.args import CEL_COST_BUDGET

#: What reading and checking an expression takes, for any expression and for each character.
_COMPILING, _COMPILING_CHARACTER = 5_000, 20


class BudgetExceededError(Exception):
    """The end of an attempt whose expressions cost more than its budget."""

    def __init__(self, claim: str = "") -> None:
        super().__init__(claim)
        #: The claim whose expressions came last, as "namespace/name".
        self.claim = claim


class CelBudget:
    """The budget of one attempt for a pod or a pod group. Owned by the attempt."""

    def __init__(self, limit: int = CEL_COST_BUDGET) -> None:
        self.limit = limit
        #: What is not spent.
        self.left = limit
        self._charged: set[object] = set()

    def is_charged(self, key: object) -> bool:
        """Return whether something has been charged before; it is charged once per attempt."""
        return key in self._charged

    def spend(self, cost: int) -> None:
        """Charge a cost, or raise BudgetExceededError."""
        if cost > self.left:
            raise BudgetExceededError
        self.left -= cost

    def charge(self, key: object, cost: int) -> None:
        """Charge a cost that `is_charged` shall know, or raise BudgetExceededError."""
        self.spend(cost)
        self._charged.add(key)

    def charge_compiling(self, claim: str, expression: str, work: Callable[[], int]) -> None:
        """Charge what compiling an expression of a claim takes, or raise BudgetExceededError.

        `work` compiles it, and returns the work that its length does not show.
        """
        key = ("compile", expression)
        if key in self._charged:
            return
        try:
            # A longer expression is refused unread.
            characters = min(len(expression), MAX_CODE_POINTS)
            self.charge(key, _COMPILING + _COMPILING_CHARACTER * characters)
            self.spend(units(0, work()))
        except BudgetExceededError:
            raise self.exceeded(claim) from None

    def exceeded(self, claim: str) -> BudgetExceededError:
        """Spend what is left, so that further charges fail, and return the error."""
        self.left = 0
        return BudgetExceededError(claim)

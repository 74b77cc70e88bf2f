"""The budget of the expressions of one attempt."""

from __future__ import annotations

import pytest

from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError, CelBudget


def _nothing() -> int:
    return 0


def test_charges_add_up_to_the_limit() -> None:
    budget = CelBudget(10)
    budget.charge("a", 4)
    budget.charge("b", 6)
    assert budget.left == 0
    assert budget.is_charged("a") and not budget.is_charged("c")
    with pytest.raises(BudgetExceededError):
        budget.charge("c", 1)
    assert not budget.is_charged("c")


def test_nothing_is_left_after_a_claim_that_costs_too_much() -> None:
    budget = CelBudget(10)
    assert budget.exceeded("ns/c").claim == "ns/c"
    with pytest.raises(BudgetExceededError):
        budget.charge("a", 1)


def test_compiling_is_charged_by_length_and_once_per_expression() -> None:
    budget = CelBudget()
    budget.charge_compiling("ns/c", "true", _nothing)
    once = budget.left
    budget.charge_compiling("ns/d", "true", _nothing)
    assert once == budget.left < budget.limit
    budget.charge_compiling("ns/d", "true" + " " * 1000, _nothing)
    assert once - budget.left > 10_000
    # Whatever is too long to be compiled costs the same: it gets an error of its own.
    for letter in "ab":
        budget.charge_compiling("ns/e", letter * 1_000_000, _nothing)
    with pytest.raises(BudgetExceededError) as failed:
        budget.charge_compiling("ns/f", "c" * 100_000, _nothing)
    assert failed.value.claim == "ns/f"


def test_work_of_compiling_is_charged_once_per_expression() -> None:
    budget = CelBudget()
    budget.charge_compiling("ns/c", "true", _nothing)
    plain = budget.limit - budget.left
    calls: list[int] = []

    def large() -> int:
        calls.append(1)
        return 5_000_000

    for claim in ("ns/d", "ns/e"):
        budget.charge_compiling(claim, "fals", large)
    assert (budget.limit - budget.left, len(calls)) == (2 * plain + 1_000_000, 1)
    with pytest.raises(BudgetExceededError) as failed:
        budget.charge_compiling("ns/f", "null", lambda: 50_000_000)
    assert failed.value.claim == "ns/f"

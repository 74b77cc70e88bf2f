"""What the pods of a group share in the attempt for the group."""

from __future__ import annotations

from mooring.framework.state import CycleState
from mooring.plugins.dynamic_resources.cel_budget import CelBudget

#: The key of the uids of shared claims in the state of a group.
_SHARED = "DynamicResources/shared"
_TRIED = "DynamicResources/tried"
_BUDGET = "DynamicResources/budget"


def tried_in(group: CycleState) -> set[str]:
    """Return the uids of the pods that were tried in the attempt for a group."""
    tried: set[str] | None = group.get(_TRIED)
    if tried is None:
        tried = set()
        group.write(_TRIED, tried)
    return tried


def shared_in(state: CycleState) -> set[str] | None:
    """Return the uids of the claims that pods of a group share in its attempt.

    Outside of an attempt for a group it is None: a claim that another pod has allocated must be
    written before it can be used.
    """
    group = state.pod_group_state
    if group is None:
        return None
    shared: set[str] | None = group.get(_SHARED)
    if shared is None:
        shared = set()
        group.write(_SHARED, shared)
    return shared


def budget_in(state: CycleState, limit: int) -> CelBudget:
    """Return the budget of an attempt, which the pods of a group share."""
    group = state.pod_group_state
    budget: CelBudget | None = None if group is None else group.get(_BUDGET)
    if budget is None:
        budget = CelBudget(limit)
        if group is not None:
            group.write(_BUDGET, budget)
    return budget

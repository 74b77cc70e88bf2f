"""What the pods of a group share in the attempt for the group."""

from __future__ import annotations

from mooring.framework.state import CycleState
from mooring.plugins.dynamic_resources.group_attempts import budget_in, shared_in, tried_in


def _states() -> tuple[CycleState, CycleState]:
    """Return the states of two pods of a group."""
    group, one, other = CycleState(), CycleState(), CycleState()
    one.pod_group_state = other.pod_group_state = group
    return one, other


def test_pods_of_a_group_share_claims_budget_and_record() -> None:
    one, other = _states()
    assert shared_in(one) is shared_in(other) == set()
    assert budget_in(one, 7) is budget_in(other, 7)
    assert budget_in(one, 7).limit == 7
    assert one.pod_group_state is not None
    assert tried_in(one.pod_group_state) is tried_in(one.pod_group_state) == set()


def test_a_pod_without_a_group_has_a_budget_of_its_own() -> None:
    state = CycleState()
    assert shared_in(state) is None
    assert budget_in(state, 7) is not budget_in(state, 7)

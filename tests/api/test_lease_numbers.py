from __future__ import annotations

import pytest

from mooring.api.events import LeaseSpec
from mooring.api.lease_numbers import MOST_IN_LEASE, lease_seconds, lease_transitions


@pytest.mark.parametrize(
    ("written", "meant"),
    [(None, 0), (-15, 0), (15, 15), (MOST_IN_LEASE, MOST_IN_LEASE), (10**400, MOST_IN_LEASE)],
)
def test_numbers_are_within_those_of_the_api(written: int | None, meant: int) -> None:
    spec = LeaseSpec(lease_duration_seconds=written, lease_transitions=written)
    assert lease_seconds(spec) == lease_transitions(spec) == meant

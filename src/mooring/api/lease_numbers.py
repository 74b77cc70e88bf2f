"""The numbers of a Lease, whatever was written there: anyone with the right to may write any."""

from __future__ import annotations

from mooring.api.events import LeaseSpec

#: The largest number that the API allows in a LeaseSpec.
MOST_IN_LEASE = 2**31 - 1


def lease_seconds(spec: LeaseSpec) -> int:
    """Return the duration of a lease, within what the API allows.

    >>> lease_seconds(LeaseSpec(lease_duration_seconds=-1))
    0
    """
    return _within(spec.lease_duration_seconds)


def lease_transitions(spec: LeaseSpec) -> int:
    """Return how often a lease got another holder, within what the API allows."""
    return _within(spec.lease_transitions)


def _within(number: int | None) -> int:
    return min(max(number or 0, 0), MOST_IN_LEASE)

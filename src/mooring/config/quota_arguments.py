"""What pods count for in ElasticQuotas, by the arguments of CapacityScheduling."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api.quota_requests import CONTAINERS, SCHEDULER, PodRequestsMode
from mooring.config.resolved_profile import ResolvedProfile

CAPACITY_SCHEDULING = "CapacityScheduling"


def quota_requests(profiles: Iterable[ResolvedProfile]) -> PodRequestsMode:
    """Return podRequests of CapacityScheduling; if profiles differ, `SCHEDULER`."""
    found = {quota_requests_of(profile) for profile in profiles}
    if SCHEDULER in found:
        return SCHEDULER
    return CONTAINERS if CONTAINERS in found else None


def quota_requests_of(profile: ResolvedProfile) -> PodRequestsMode:
    """Return podRequests of CapacityScheduling in a profile; None if it is not given."""
    mode: PodRequestsMode = getattr(profile.args.get(CAPACITY_SCHEDULING), "pod_requests", None)
    return mode

"""The claims of one pod."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import NodeAllocatableResourceClaimStatus
from mooring.plugins.dynamic_resources.pod_resource_claims import (
    PodResourceClaims,
    assumed_status,
)
from tests.plugins.dynamic_resources.devices import allocated_on, claim, pod


def test_a_pod_without_claims() -> None:
    found = PodResourceClaims()
    assert not found
    assert found.extended is None
    assert list(found.to_allocate()) == []


def test_claims_that_are_allocated_are_left_alone() -> None:
    done, first, last = claim("a", status=allocated_on("n")), claim("b"), claim("c")
    found = PodResourceClaims()
    found.fill([first, done, last], None)
    assert found
    assert list(found.to_allocate()) == [(0, first), (2, last)]
    assert found.allocations == [None, None, None]
    assert found.extended is None


def test_the_special_claim_comes_after_the_pods_own() -> None:
    own, special = claim("own"), claim("special")
    found = PodResourceClaims()
    found.fill([own], special)
    assert (found.claims, found.own_count) == ([own, special], 1)
    assert found.extended is special
    assert found.extended_key == "uid-special"
    assert found.terms == [None, None]


def test_the_status_of_an_assumed_pod_lists_what_its_claims_consume() -> None:
    taken = {"n": (NodeAllocatableResourceClaimStatus(resource_claim_name="c"),), "m": ()}
    asking, kept = pod("p", "c"), PodResourceClaims()
    assert assumed_status(None, asking, "n") is asking.status
    assert assumed_status(kept, asking, "n") is asking.status
    kept.statuses_on = taken.__getitem__
    assert assumed_status(kept, asking, "m") is asking.status
    told = assumed_status(kept, asking, "n")
    assert told.node_allocatable_resource_claim_statuses == taken["n"]
    # The statuses of an earlier attempt are replaced.
    again = replace(asking, status=told)
    assert assumed_status(kept, again, "n") is told
    assert assumed_status(kept, again, "m") == asking.status

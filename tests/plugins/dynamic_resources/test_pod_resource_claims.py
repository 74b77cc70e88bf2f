"""The claims of one pod."""

from __future__ import annotations

from mooring.plugins.dynamic_resources.pod_resource_claims import PodResourceClaims
from tests.plugins.dynamic_resources.devices import allocated_on, claim


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

"""Claims that are created from templates, and their release."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import ObjectMeta, Pod, PodResourceClaimStatus, ResourceClaim
from mooring.api.resource import (
    CLAIM_FINALIZER,
    AllocationResult,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from mooring.controlplane.generated_claims import (
    claim_metadata,
    generated_claim,
    gets_claims,
    needs_claims,
    owner_of,
    released,
    template_entries,
)
from mooring.testing.builders import make_pod


def test_claim_belongs_to_its_pod() -> None:
    template = ObjectMeta(labels={"a": "b"}, annotations={"c": "d"})
    made = claim_metadata(template, make_pod("web"), "gpu")
    assert (made.namespace, made.generate_name) == ("default", "web-gpu-")
    assert made.labels == {"a": "b"}
    assert made.annotations == {"c": "d", "resource.kubernetes.io/pod-claim-name": "gpu"}
    owner = owner_of(ResourceClaim(metadata=made))
    assert owner is not None
    assert (owner.name, owner.uid) == ("web", make_pod("web").uid)


def test_long_names_lose_both_ends() -> None:
    made = claim_metadata(ObjectMeta(), make_pod("p" * 60), "e" * 50)
    assert len(made.generate_name) <= 57
    pod, _, entry = made.generate_name.partition("-")
    assert (set(pod), set(entry)) == ({"p"}, {"e"})


def test_claim_without_an_owning_pod_has_no_owner() -> None:
    assert owner_of(ResourceClaim()) is None


@pytest.mark.parametrize(
    ("phase", "node", "leaving", "expected"),
    [
        pytest.param("Pending", "", False, True, id="pending"),
        pytest.param("Running", "n", True, True, id="leaving its node"),
        pytest.param("Pending", "", True, False, id="deleted before it got a node"),
        pytest.param("Succeeded", "n", False, False, id="succeeded"),
        pytest.param("Failed", "n", False, False, id="failed"),
    ],
)
def test_finished_pods_need_no_claims(phase: str, node: str, leaving: bool, expected: bool) -> None:
    more: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {}
    pod: Pod = make_pod("web", node=node, metadata=more)
    assert needs_claims(replace(pod, status=replace(pod.status, phase=phase))) is expected


def test_entries_need_claims_unless_the_status_says_otherwise() -> None:
    names = ("new", "recorded", "not needed")
    entries = [{"name": name, "resourceClaimTemplateName": "t"} for name in names]
    pod = make_pod("web", spec={"resourceClaims": [*entries, {"name": "own"}]})
    statuses = (
        PodResourceClaimStatus(name="recorded", resource_claim_name="web-x"),
        PodResourceClaimStatus(name="not needed"),
    )
    pod = replace(pod, status=replace(pod.status, resource_claim_statuses=statuses))
    needed = [(entry.name, template, claim) for entry, template, claim in template_entries(pod)]
    assert needed == [("new", "t", ""), ("recorded", "t", "web-x")]


def test_claim_of_an_entry_is_the_one_that_the_pod_owns() -> None:
    pod = make_pod("web")
    claims = [
        ResourceClaim(metadata=claim_metadata(ObjectMeta(), owner, entry))
        for owner, entry in ((make_pod("db"), "gpu"), (pod, "net"), (pod, "gpu"))
    ]
    assert generated_claim(claims, pod, "gpu") is claims[2]
    assert generated_claim(claims, pod, "disk") is None


@pytest.mark.parametrize(
    ("phase", "leaving", "expected"),
    [("Pending", False, True), ("Pending", True, False), ("Succeeded", False, False)],
)
def test_pods_that_end_get_no_claims(phase: str, leaving: bool, expected: bool) -> None:
    more: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {}
    pod = make_pod("web", metadata=more)
    assert gets_claims(replace(pod, status=replace(pod.status, phase=phase))) is expected


USERS = tuple(ResourceClaimConsumerReference(resource="pods", name=x, uid=x) for x in "ab")


def used(*users: ResourceClaimConsumerReference, **metadata: Any) -> ResourceClaim:
    status = ResourceClaimStatus(allocation=AllocationResult(), reserved_for=users)
    metadata.setdefault("finalizers", ("mine", CLAIM_FINALIZER))
    return ResourceClaim(metadata=ObjectMeta(**metadata), status=status)


def test_claim_keeps_its_allocation_while_it_is_used() -> None:
    claim = used(*USERS)
    assert released(claim, USERS) is claim
    left = released(claim, USERS[:1])
    assert left.status.reserved_for == USERS[:1]
    assert (left.status.allocation, left.metadata) == (claim.status.allocation, claim.metadata)


def test_allocation_ends_with_the_last_user() -> None:
    left = released(used(*USERS), ())
    assert left.status == ResourceClaimStatus()
    assert left.metadata.finalizers == ("mine",)


def test_unused_claim_keeps_its_allocation_until_it_is_deleted() -> None:
    claim = used()
    assert released(claim, ()) is claim
    deleted = used(deletion_timestamp="2026-01-01T00:00:00Z")
    assert released(deleted, ()).metadata.finalizers == ("mine",)
    assert released(deleted, ()).status.allocation is None


def test_allocation_by_something_else_is_left_alone() -> None:
    left = released(used(*USERS, finalizers=()), ())
    assert left.status.reserved_for == ()
    assert left.status.allocation is not None

"""The metadata of claims that are created from templates."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import ObjectMeta, Pod, ResourceClaim
from mooring.controlplane.generated_claims import claim_metadata, needs_claims, owner_of
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

"""Resource claims of pods, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod, ResourceClaim, ResourceClaimTemplate
from tests.support.controllers import Object, Workbench, template

DEVICES = {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}
ALLOCATION = {
    "devices": {"results": [{"request": "r", "driver": "d.test", "pool": "p", "device": "x"}]}
}
PROTECTION = "resource.kubernetes.io/delete-protection"


def claim_template(name: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"metadata": {"labels": {"from": "template"}}, "spec": {"devices": DEVICES}},
    }


def user(name: str, **entry: str) -> Object:
    """Return a pod with one claim."""
    claims = [{"name": "gpu", **entry}]
    spec = template(resourceClaims=claims)["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def generated(bench: Workbench, pod: str) -> ResourceClaim | None:
    """Return the claim that a pod's status names."""
    found = bench.get(Pod, pod)
    for status in found.status.resource_claim_statuses if found else ():
        claim: ResourceClaim | None = bench.get(ResourceClaim, status.resource_claim_name)
        return claim
    return None


async def allocated_claim(bench: Workbench, name: str, *users: str) -> None:
    """Create a claim that is allocated and reserved for pods."""
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "finalizers": [PROTECTION]},
        "spec": {"devices": DEVICES},
    }
    await bench.create(ResourceClaim, claim)
    reserved = [
        {"resource": "pods", "name": one, "uid": bench.get(Pod, one).metadata.uid} for one in users
    ]
    await allocate(bench, name, reservedFor=reserved)


async def allocate(bench: Workbench, name: str, **status: Any) -> None:
    change = {"status": {"allocation": ALLOCATION, **status}}
    await bench.patch(ResourceClaim, name, change, subresource="status")


def users(bench: Workbench, name: str) -> list[str]:
    claim: ResourceClaim | None = bench.get(ResourceClaim, name)
    return [] if claim is None else [one.name for one in claim.status.reserved_for]


async def test_pod_gets_a_claim_from_a_template(workbench: Workbench) -> None:
    await workbench.create(ResourceClaimTemplate, claim_template("t"))
    await workbench.create(Pod, user("p", resourceClaimTemplateName="t"))
    claim = await workbench.until(lambda: generated(workbench, "p"), "the claim")
    assert claim.metadata.name.startswith("p-gpu-")
    assert claim.metadata.labels == {"from": "template"}
    (owner,) = claim.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("Pod", "p", True)
    (request,) = claim.spec.devices.requests
    assert request.exactly is not None
    assert request.exactly.device_class_name == "gpu"


async def test_template_may_come_after_its_pod(workbench: Workbench) -> None:
    await workbench.create(Pod, user("p", resourceClaimTemplateName="t"))
    await workbench.until(lambda: workbench.get(Pod, "p"), "the pod")
    await workbench.create(ResourceClaimTemplate, claim_template("t"))
    await workbench.until(lambda: generated(workbench, "p"), "the claim")


async def test_deleted_claim_of_a_waiting_pod_is_created_again(workbench: Workbench) -> None:
    workbench.binds = False
    await workbench.create(ResourceClaimTemplate, claim_template("t"))
    await workbench.create(Pod, user("p", resourceClaimTemplateName="t"))
    first = await workbench.until(lambda: generated(workbench, "p"), "the claim")
    await workbench.delete(ResourceClaim, first.metadata.name)
    again = await workbench.until(
        lambda: (
            (found := generated(workbench, "p"))
            and found.metadata.uid != first.metadata.uid
            and found
        ),
        "another claim",
    )
    assert again.metadata.name != first.metadata.name


async def test_claim_is_released_when_its_last_pod_ends(workbench: Workbench) -> None:
    for name in ("a", "b"):
        await workbench.create(Pod, user(name, resourceClaimName="shared"))
    await workbench.until(lambda: len(workbench.pods()) == 2, "the pods")
    await allocated_claim(workbench, "shared", "a", "b")
    await workbench.until(lambda: users(workbench, "shared") == ["a", "b"], "the reservation")
    await workbench.delete(Pod, "a", gracePeriodSeconds=0)
    await workbench.until(lambda: users(workbench, "shared") == ["b"], "one to be released")
    assert workbench.get(ResourceClaim, "shared").status.allocation is not None
    await workbench.patch_status(Pod, "b", {"phase": "Succeeded"})
    claim = await workbench.until(
        lambda: (
            not users(workbench, "shared")
            and not workbench.get(ResourceClaim, "shared").metadata.finalizers
            and workbench.get(ResourceClaim, "shared")
        ),
        "the claim to be unused",
    )
    assert claim.status.allocation is None


async def test_generated_claim_goes_when_its_pod_has_ended(workbench: Workbench) -> None:
    await workbench.create(ResourceClaimTemplate, claim_template("t"))
    await workbench.create(Pod, user("p", resourceClaimTemplateName="t"))
    await workbench.until(lambda: generated(workbench, "p"), "the claim")
    await workbench.until(lambda: workbench.pods(), "the pod to run")
    await workbench.patch_status(Pod, "p", {"phase": "Succeeded"})
    await workbench.until(lambda: not workbench.all(ResourceClaim), "the claim to be deleted")


async def test_bound_pod_gets_its_allocated_claim_reserved(workbench: Workbench) -> None:
    await workbench.create(Pod, user("p", resourceClaimName="own"))
    await workbench.until(lambda: workbench.pods(), "the pod to run")
    await allocated_claim(workbench, "own")
    await workbench.until(lambda: users(workbench, "own") == ["p"], "the reservation")

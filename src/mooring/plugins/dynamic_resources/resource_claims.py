"""The ResourceClaims of a pod."""

# dynamic-resource-allocation: resourceclaim/resourceclaim.go

from __future__ import annotations

from typing import Protocol

from mooring.api import DeviceClass, Pod, ResourceClaim
from mooring.framework.listers import Lister
from mooring.framework.status import Status


class Claims(Protocol):
    """A source of claims by name."""

    def get(self, name: str, namespace: str = "") -> ResourceClaim | None:
        """Return one claim, or None."""
        ...


def find_claims(pod: Pod, claims: Claims) -> list[ResourceClaim] | str:
    """Return a pod's claims, or the reason why one of them cannot be used.

    An entry for which deliberately no claim was created is left out.
    """
    found = []
    namespace = pod.metadata.namespace
    for entry in pod.spec.resource_claims:
        made = entry.resource_claim_name is None
        if not made:
            name = entry.resource_claim_name
        elif entry.resource_claim_template_name is not None:
            statuses = [
                status for status in pod.status.resource_claim_statuses if status.name == entry.name
            ]
            if not statuses:
                return f'pod "{pod.key}": ResourceClaim not created yet'
            name = statuses[0].resource_claim_name
        else:
            return (
                f'pod "{pod.key}", spec.resourceClaim "{entry.name}": '
                "none of the supported fields are set"
            )
        if name is None:
            continue
        claim = claims.get(name, namespace)
        if claim is None:
            return f'could not find ResourceClaim "{namespace}/{name}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'resourceclaim "{name}" is being deleted'
        if made and not any(
            owner.controller and owner.uid == pod.metadata.uid
            for owner in claim.metadata.owner_references
        ):
            return f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)"
        found.append(claim)
    return found


def is_reserved_for(pod: Pod, claim: ResourceClaim) -> bool:
    """Return whether a claim is reserved for a pod."""
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)


def missing_class(claim: ResourceClaim, classes: Lister[DeviceClass]) -> Status | None:
    """Return a refusal if a claim names a device class that does not exist."""
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            asked = [(request.name, request.exactly.device_class_name)]
        elif request.first_available:
            asked = [
                (f"{request.name}/{sub.name}", sub.device_class_name)
                for sub in request.first_available
            ]
        else:
            return Status.unresolvable(
                f"resource claim {claim.key}, request {request.name}: unknown request type"
            )
        for label, wanted in asked:
            if not wanted:
                return Status.error(f"request {label}: unsupported request type")
            if classes.get(wanted) is None:
                return Status.unresolvable(f"request {label}: device class {wanted} does not exist")
    return None

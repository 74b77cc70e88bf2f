"""The ResourceClaims of a pod."""

# dynamic-resource-allocation: resourceclaim/resourceclaim.go

from __future__ import annotations

from mooring.api import DeviceClass, Pod, ResourceClaim
from mooring.framework.listers import Lister


def find_claims(pod: Pod, claims: Lister[ResourceClaim]) -> list[ResourceClaim] | str:
    """Return a pod's claims, or why one of them cannot be used.

    An entry whose claim was deliberately not made is left out.
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


def missing_class(claim: ResourceClaim, classes: Lister[DeviceClass]) -> str:
    """Say which device class a claim asks for that does not exist; "" where all do."""
    for request in (claim.spec.get("devices") or {}).get("requests") or ():
        name = request.get("name", "")
        asked = []
        if request.get("exactly"):
            asked = [(name, request["exactly"])]
        elif request.get("firstAvailable"):
            asked = [(f"{name}/{sub.get('name', '')}", sub) for sub in request["firstAvailable"]]
        else:
            return f"resource claim {claim.key}, request {name}: unknown request type"
        for label, part in asked:
            wanted = part.get("deviceClassName", "")
            if classes.get(wanted) is None:
                return f"request {label}: device class {wanted} does not exist"
    return ""

"""The ResourceClaims of a pod, which may be those of its pod group."""

# dynamic-resource-allocation: resourceclaim/resourceclaim.go

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from mooring.api import (
    DeviceClass,
    Pod,
    PodGroupResourceClaim,
    ResourceClaim,
    WorkloadPodGroup,
)
from mooring.api.resource import ResourceClaimConsumerReference
from mooring.errors import ObjectError
from mooring.framework.listers import Lister
from mooring.framework.status import Status

_SCHEDULING = "scheduling.k8s.io"
_GROUPS = "podgroups"


class Claims(Protocol):
    """A source of claims by name."""

    def get(self, name: str, namespace: str = "") -> ResourceClaim | None:
        """Return one claim, or None."""
        ...


def find_claims(pod: Pod, claims: Claims, *, of_groups: bool = False) -> list[ResourceClaim] | str:
    """Return a pod's claims, or the reason why one of them cannot be used.

    An entry for which deliberately no claim was created is left out. With `of_groups` (the gate
    DRAWorkloadResourceClaims), a claim may have been created for the pod's group.
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
        if made and (problem := _not_made_for(pod, claim, of_groups=of_groups)):
            return f"ResourceClaim {claim.key} was not created for Pod {pod.key} ({problem})"
        found.append(claim)
    return found


def _not_made_for(pod: Pod, claim: ResourceClaim, *, of_groups: bool) -> str:
    """Return why a claim was not created for a pod; "" if it was."""
    owner = next((one for one in claim.metadata.owner_references if one.controller), None)
    if owner is not None and owner.uid == pod.metadata.uid:
        return ""
    group = _group_name(pod) if of_groups else ""
    if not group:
        return "Pod is not owner"
    # The pod does not know the uid of its group.
    is_group = owner is not None and owner.kind == "PodGroup" and owner.name == group
    if is_group and owner is not None and owner.api_version.startswith(f"{_SCHEDULING}/"):
        return ""
    return f"neither Pod nor PodGroup {group} is the owner"


def is_made_for(group: WorkloadPodGroup, claim: ResourceClaim) -> bool:
    """Return whether a claim was created for a pod group."""
    owners = claim.metadata.owner_references
    return any(one.controller and one.uid == group.metadata.uid for one in owners)


def is_reserved_for(pod: Pod, claim: ResourceClaim, *, of_groups: bool = False) -> bool:
    """Return whether a claim is reserved for a pod; with `of_groups`, for the pod or its group."""
    group = _group_name(pod) if of_groups else ""
    return any(
        user.uid == pod.metadata.uid
        or (group and (user.api_group, user.resource, user.name) == (_SCHEDULING, _GROUPS, group))
        for user in claim.status.reserved_for
    )


def claim_users(pod: Pod, group: WorkloadPodGroup | None) -> list[ResourceClaimConsumerReference]:
    """Return what each claim of a pod is reserved for: the pod, or its group.

    Entries without a claim are left out, as in `find_claims`.
    """
    left_out = _left_out(pod)
    return [
        _consumer(group) if group is not None and group.has_claim(entry) else _consumer(pod)
        for entry in pod.spec.resource_claims
        if entry.resource_claim_name is not None or entry.name not in left_out
    ]


def claim_names(pod: Pod, claims: Iterable[ResourceClaim]) -> Iterator[tuple[str, ResourceClaim]]:
    """Yield the claims that `find_claims` returned, each with the name of its entry in the pod."""
    left_out = _left_out(pod)
    names = (
        entry.name
        for entry in pod.spec.resource_claims
        if entry.resource_claim_name is not None or entry.name not in left_out
    )
    return zip(names, claims, strict=False)


def _left_out(pod: Pod) -> set[str]:
    """Return the names of the pod's entries that deliberately have no claim."""
    return {
        status.name
        for status in pod.status.resource_claim_statuses
        if status.resource_claim_name is None
    }


def _consumer(user: Pod | WorkloadPodGroup) -> ResourceClaimConsumerReference:
    api_group, resource = ("", "pods") if isinstance(user, Pod) else (_SCHEDULING, _GROUPS)
    name, uid = user.metadata.name, user.metadata.uid
    return ResourceClaimConsumerReference(
        api_group=api_group, resource=resource, name=name, uid=uid
    )


def group_claim_name(group: WorkloadPodGroup, entry: PodGroupResourceClaim) -> str | None:
    """Return the name of a group's claim; None if deliberately none was created.

    Raise ObjectError if the claim has not been created yet.
    """
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name
    for status in group.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name
    raise ObjectError(f"PodGroup {group.key}: ResourceClaim not created yet")


def _group_name(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return "" if group is None else group.pod_group_name or ""


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

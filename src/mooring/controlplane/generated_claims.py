"""Resource claims: created from templates, and released when their users end."""

# kubernetes: pkg/controller/resourceclaim/controller.go

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from mooring.api import (
    ObjectMeta,
    OwnerReference,
    Pod,
    PodGroupResourceClaim,
    PodResourceClaim,
    ResourceClaim,
    WorkloadPodGroup,
)
from mooring.api.resource import (
    CLAIM_FINALIZER,
    POD_CLAIM_NAME,
    ResourceClaimConsumerReference,
)

#: Leaves space for the five characters that the API server appends.
_LONGEST = 57


def claim_metadata(template: ObjectMeta, user: Pod | WorkloadPodGroup, entry: str) -> ObjectMeta:
    """Return the metadata of the claim for an entry of a pod or pod group.

    `template` has the labels and annotations that the template gives to its claims.
    """
    owner = OwnerReference(
        api_version=user.api_version,
        kind=user.kind,
        name=user.metadata.name,
        uid=user.metadata.uid,
        controller=True,
    )
    return ObjectMeta(
        generate_name=_generate_name(user.metadata.name, entry),
        namespace=user.metadata.namespace,
        labels=template.labels,
        annotations={**template.annotations, POD_CLAIM_NAME: entry},
        owner_references=(owner,),
    )


def _generate_name(user: str, entry: str) -> str:
    """Return the prefix of a claim's name; a long one loses the ends of both names."""
    whole = f"{user}-{entry}-"
    if len(whole) <= _LONGEST:
        return whole
    user = user[: len(user) * _LONGEST // len(whole)]
    return f"{user}-{entry[: len(entry) * _LONGEST // len(whole)]}"


def owner_of(claim: ResourceClaim) -> OwnerReference | None:
    """Return the pod that a claim was created for, or None."""
    return next(
        (
            owner
            for owner in claim.metadata.owner_references
            if owner.controller and (owner.api_version, owner.kind) == ("v1", "Pod")
        ),
        None,
    )


def template_entries(
    user: Pod | WorkloadPodGroup,
) -> Iterator[tuple[PodResourceClaim | PodGroupResourceClaim, str, str]]:
    """Yield entries that need a claim, each with its template and the claim in the status, or "".

    An entry needs no claim if the status has it without a claim.
    """
    recorded = {one.name: one.resource_claim_name for one in user.status.resource_claim_statuses}
    for entry in user.spec.resource_claims:
        template = entry.resource_claim_template_name
        name = recorded.get(entry.name, "")
        if template is not None and name is not None:
            yield entry, template, name


def generated_claim(
    claims: Iterable[ResourceClaim], user: Pod | WorkloadPodGroup, entry: str
) -> ResourceClaim | None:
    """Return the claim that was created for an entry of a pod or pod group, or None."""
    for claim in claims:
        if claim.metadata.annotations.get(POD_CLAIM_NAME) == entry and any(
            owner.controller and owner.uid == user.metadata.uid
            for owner in claim.metadata.owner_references
        ):
            return claim
    return None


def gets_claims(pod: Pod) -> bool:
    """Return whether claims are created for a pod."""
    return not pod.is_terminating and not pod.is_finished


def released(claim: ResourceClaim, left: Sequence[ResourceClaimConsumerReference]) -> ResourceClaim:
    """Return a claim that only the consumers `left` still use; the same object if nothing changes.

    An allocation by a scheduler, which the finalizer shows, ends with its last consumer, or when an
    unused claim is deleted.
    """
    metadata, status = claim.metadata, claim.status
    is_protected = CLAIM_FINALIZER in metadata.finalizers
    fewer = len(left) < len(status.reserved_for)
    if not left and is_protected and (fewer or metadata.deletion_timestamp is not None):
        kept = tuple(one for one in metadata.finalizers if one != CLAIM_FINALIZER)
        return replace(
            claim,
            metadata=replace(metadata, finalizers=kept),
            status=replace(status, reserved_for=(), allocation=None),
        )
    if not fewer:
        return claim
    return replace(claim, status=replace(status, reserved_for=tuple(left)))


def needs_claims(pod: Pod) -> bool:
    """Return whether a pod runs, or may still run."""
    return not pod.is_finished and not (pod.is_terminating and not pod.spec.node_name)

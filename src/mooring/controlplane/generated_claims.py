"""The resource claims that controllers create from templates."""

# kubernetes: pkg/controller/resourceclaim/controller.go

from __future__ import annotations

from mooring.api import ObjectMeta, OwnerReference, Pod, ResourceClaim, WorkloadPodGroup
from mooring.api.resource import POD_CLAIM_NAME

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


def needs_claims(pod: Pod) -> bool:
    """Return whether a pod runs, or may still run."""
    return not pod.is_finished and not (pod.is_terminating and not pod.spec.node_name)

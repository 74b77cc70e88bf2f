"""A pod's claims, by how they are bound, and the plan for them on a node."""

# kube-scheduler: plugins/volumebinding/binder.go (GetPodVolumeClaims)

from __future__ import annotations

import msgspec

from mooring.api import (
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from mooring.api import volume_claims as claims
from mooring.framework.listers import Lister
from mooring.plugins.volumes.assumed import AssumedObjects


class PodVolumeClaims(msgspec.Struct):
    """The claims of one pod."""

    bound: list[PersistentVolumeClaim] = []
    #: Unbound, to be bound by the scheduler once a node is chosen.
    delayed: list[PersistentVolumeClaim] = []
    #: Unbound, to be bound by the volume controller without the scheduler.
    immediate: list[PersistentVolumeClaim] = []


class Binding(msgspec.Struct):
    """A claim and the volume it is to be bound to."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


class Provision(msgspec.Struct):
    """A claim for which a volume is to be provisioned."""

    claim: PersistentVolumeClaim
    #: The storage to provision the volume from, if capacity is checked.
    capacity: CSIStorageCapacity | None = None


class PodVolumes(msgspec.Struct):
    """The bindings and provisions for a pod's claims on a node."""

    bindings: list[Binding] = []
    provisions: list[Provision] = []

    def copy(self) -> PodVolumes:
        """Return a copy whose lists can be changed."""
        return PodVolumes(list(self.bindings), list(self.provisions))


def refuse_claims(pod: Pod, lister: Lister[PersistentVolumeClaim]) -> str | None:
    """Return why a pod's claims cannot be used; "" if they can, None if it has none."""
    answer: str | None = None
    for name, ephemeral in claims.claim_names(pod):
        answer = ""
        claim = lister.get(name, pod.metadata.namespace)
        if claim is None:
            if ephemeral:
                return (
                    "waiting for ephemeral volume controller to create the "
                    f'persistentvolumeclaim "{name}"'
                )
            return claims.claim_not_found(name)
        if claim.status.phase == "Lost":
            return (
                f'persistentvolumeclaim "{name}" bound to non-existent '
                f'persistentvolume "{claim.spec.volume_name}"'
            )
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral:
            problem = claims.not_created_for(pod, claim)
            if problem:
                return problem
    return answer


def sort_claims(
    pod: Pod, assumed: AssumedObjects[PersistentVolumeClaim], classes: Lister[StorageClass]
) -> PodVolumeClaims | str:
    """Return a pod's claims by how they are bound, or an error message."""
    found = PodVolumeClaims()
    namespace = pod.metadata.namespace
    for name, ephemeral in claims.claim_names(pod):
        claim = assumed.get(name, namespace)
        if claim is None:
            return f'error getting PVC "{namespace}/{name}": {assumed.not_found(name, namespace)}'
        if ephemeral:
            problem = claims.not_created_for(pod, claim)
            if problem:
                return problem
        if claims.is_fully_bound(claim):
            found.bound.append(claim)
            continue
        delayed = claims.is_delay_binding(claim, classes.get)
        if isinstance(delayed, str):
            return delayed
        if delayed and not claim.spec.volume_name:
            found.delayed.append(claim)
        else:
            found.immediate.append(claim)
    return found


def all_bound(pod: Pod, assumed: AssumedObjects[PersistentVolumeClaim]) -> bool:
    """Return whether every claim of a pod is fully bound."""
    for name, ephemeral in claims.claim_names(pod):
        claim = assumed.get(name, pod.metadata.namespace)
        if claim is None or not claims.is_fully_bound(claim):
            return False
        if ephemeral and claims.not_created_for(pod, claim):
            return False
    return True

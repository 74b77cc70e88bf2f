"""Resource claims: created from templates for pods, and released when their pods end.

The claims of pod groups (the gate DRAWorkloadResourceClaims) are left alone.
"""

# kubernetes: pkg/controller/resourceclaim/controller.go

from __future__ import annotations

from collections.abc import Iterable

from msgspec import to_builtins
from msgspec.structs import replace

from mooring.api import Pod, ResourceClaim, ResourceClaimTemplate, decode_as
from mooring.api.meta import ObjectMeta
from mooring.api.resource import ResourceClaimConsumerReference
from mooring.controllers.component_events import WARNING
from mooring.controllers.controlled_kinds import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object
from mooring.controlplane.generated_claims import (
    claim_metadata,
    generated_claim,
    gets_claims,
    needs_claims,
    owner_of,
    released,
    template_entries,
)
from mooring.errors import ApiError

FAILED = "FailedResourceClaimCreation"
#: More consumers than these cannot share a claim. # api: ResourceClaimReservedForMaxSize
_MOST_CONSUMERS = 256
#: The index of pods by their claims.
_BY_CLAIM = "controllers: resource claims"


def _claims_of(pod: Pod) -> Iterable[Key]:
    """Return the keys of the claims that a pod refers to, also of those made for it."""
    names = [one.resource_claim_name for one in pod.spec.resource_claims]
    names += [one.resource_claim_name for one in pod.status.resource_claim_statuses]
    if pod.status.extended_resource_claim_status is not None:
        names.append(pod.status.extended_resource_claim_status.resource_claim_name)
    return ((pod.metadata.namespace, name) for name in names if name)


class GeneratedClaims(Controller):
    """The controller that creates the claims of pods from templates."""

    name = "resourceclaim-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = self.watch(Pod, self._pod_key)
        self._templates = self.watch(ResourceClaimTemplate, self._users)
        self._pods.add_index(_BY_CLAIM, _claims_of)
        self._claims = self.watch(ResourceClaim, self._pods_of)
        #: The claims that were created, by uid of the pod and entry, until the pod is gone: the
        #: informer may not show them yet.
        self._created: dict[str, dict[str, str]] = {}

    def _pod_key(self, pod: Pod) -> Iterable[Key]:
        if pod.spec.resource_claims:
            yield from itself(pod)

    def _users(self, template: ResourceClaimTemplate) -> Iterable[Key]:
        """Return the pods that name a template."""
        for pod in self._pods.list(template.metadata.namespace):
            if any(
                one.resource_claim_template_name == template.metadata.name
                for one in pod.spec.resource_claims
            ):
                yield from itself(pod)

    def _pods_of(self, claim: ResourceClaim) -> Iterable[Key]:
        """Return the pod that a claim was created for, and those that refer to it."""
        owner, metadata = owner_of(claim), claim.metadata
        if owner is not None:
            yield metadata.namespace, owner.name
        for pod in self._pods.by_index(_BY_CLAIM, (metadata.namespace, metadata.name)):
            yield from itself(pod)

    async def reconcile(self, key: Key) -> float | None:
        """Create the missing claims of a pod, and note them in its status."""
        pod: Pod | None = self._pods.get(key[1], key[0])
        if pod is None or not gets_claims(pod):
            if pod is not None:
                self._created.pop(pod.metadata.uid, None)
            return None
        known = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
        statuses = dict(known)
        for entry, template, name in template_entries(pod):
            if name and await self._exists(pod, name):
                continue
            made = await self._make(pod, entry.name, template)
            if made is not None:
                statuses[entry.name] = made
        if statuses != known:
            await self._write_status(pod, statuses)
        await self._reserve(pod)
        return None

    async def _exists(self, pod: Pod, name: str) -> bool:
        """Return whether a claim exists; the informer may lag behind the server."""
        namespace = pod.metadata.namespace
        if self._claims.get(name, namespace) is not None:
            return True
        try:
            await self.writer.get(RESOURCE_CLAIMS, namespace, name)
        except ApiError as error:
            if error.is_not_found:
                return False
            raise
        return True

    async def _make(self, pod: Pod, entry: str, template_name: str) -> str | None:
        """Return the name of the claim for an entry, which is created if it does not exist."""
        metadata = pod.metadata
        claim = generated_claim(self._claims.list(metadata.namespace), pod, entry)
        if claim is not None:
            return claim.metadata.name
        created = self._created.setdefault(metadata.uid, {})
        if entry in created and await self._exists(pod, created[entry]):
            return created[entry]
        try:
            template = await self.writer.get(
                RESOURCE_CLAIM_TEMPLATES, metadata.namespace, template_name
            )
            spec = template["spec"]
            made = claim_metadata(decode_as(spec.get("metadata") or {}, ObjectMeta), pod, entry)
            stored = await self.writer.create(
                RESOURCE_CLAIMS,
                {
                    "apiVersion": ResourceClaim.api_version,
                    "kind": ResourceClaim.kind,
                    "metadata": to_builtins(made),
                    "spec": spec["spec"],
                },
            )
        except ApiError as error:
            self.events.record(pod, WARNING, FAILED, f"PodResourceClaim {entry}: {error}")
            if error.is_not_found:
                # The template's creation comes back here.
                return None
            raise
        created[entry] = stored["metadata"]["name"]
        return created[entry]

    async def _write_status(self, pod: Pod, statuses: dict[str, str | None]) -> None:
        listed = [
            {"name": entry, "resourceClaimName": name} for entry, name in sorted(statuses.items())
        ]
        change: Object = {
            "metadata": {"uid": pod.metadata.uid},
            "status": {"resourceClaimStatuses": listed},
        }
        metadata = pod.metadata
        await self.writer.patch_if_there(PODS, metadata.namespace, metadata.name, change, "status")

    async def _reserve(self, pod: Pod) -> None:
        """Reserve allocated claims for a pod that something else than a scheduler has bound."""
        if not pod.spec.node_name:
            return
        for namespace, name in _claims_of(pod):
            claim: ResourceClaim | None = self._claims.get(name, namespace)
            if claim is None or claim.status.allocation is None:
                continue
            users = claim.status.reserved_for
            if len(users) >= _MOST_CONSUMERS or any(one.uid == pod.metadata.uid for one in users):
                continue
            own = ResourceClaimConsumerReference(
                resource="pods", name=pod.metadata.name, uid=pod.metadata.uid
            )
            status = replace(claim.status, reserved_for=(*users, own))
            version = claim.metadata.resource_version
            reserved = replace(claim, status=status)
            await self.writer.change(RESOURCE_CLAIMS, claim, reserved, "status", version)


class ClaimRelease(Controller):
    """The controller that takes claims from pods that have ended, and deallocates unused ones."""

    name = "resourceclaim-release-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._claims = self.watch(ResourceClaim, itself)
        self._pods = self.watch(Pod, _claims_of)

    async def reconcile(self, key: Key) -> float | None:
        """Release a claim from the pods that do not need it any more."""
        claim: ResourceClaim | None = self._claims.get(key[1], key[0])
        if claim is None:
            return None
        users = claim.status.reserved_for
        left = [one for one in users if await self._needs(claim, one)]
        after, version = released(claim, left), claim.metadata.resource_version
        if after is not claim:
            stored = await self.writer.change(RESOURCE_CLAIMS, claim, after, "status", version)
            if stored is not None:
                version = stored["metadata"]["resourceVersion"]
            await self._unprotect(claim, after, version)
        if not left:
            await self._delete_generated(claim)
        return None

    async def _needs(self, claim: ResourceClaim, user: ResourceClaimConsumerReference) -> bool:
        """Return whether a consumer may still use a claim; others than pods are not known here."""
        if user.api_group or user.resource != "pods":
            return True
        namespace = claim.metadata.namespace
        pod: Pod | None = self._pods.get(user.name, namespace)
        if pod is not None and pod.metadata.uid == user.uid:
            return needs_claims(pod)
        # The informer may lag behind a scheduler that has just reserved the claim.
        try:
            found = await self.writer.get(PODS, namespace, user.name)
        except ApiError as error:
            if error.is_not_found:
                return False
            raise
        return bool(found["metadata"]["uid"] == user.uid)

    async def _unprotect(self, claim: ResourceClaim, after: ResourceClaim, version: str) -> None:
        """Remove the finalizer of an unused claim, after its allocation."""
        try:
            await self.writer.change(RESOURCE_CLAIMS, claim, after, version=version)
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def _delete_generated(self, claim: ResourceClaim) -> None:
        """Delete the claim that was created for a pod that has ended but still exists."""
        owner = owner_of(claim)
        if owner is None:
            return
        pod: Pod | None = self._pods.get(owner.name, claim.metadata.namespace)
        if pod is not None and (pod.metadata.uid != owner.uid or not needs_claims(pod)):
            await self.writer.delete(RESOURCE_CLAIMS, claim)

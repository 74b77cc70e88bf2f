"""Writing a pod's claims, with their allocations and reservations, to the API server."""

# kube-scheduler: plugins/dynamicresources/dynamicresources.go (bindClaim),
# extendeddynamicresources.go (createExtendedResourceClaimInAPI, deleteClaim)

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import Pod, ResourceClaim
from mooring.api.resource import (
    CLAIM_FINALIZER,
    AllocationResult,
    ResourceClaimConsumerReference,
)
from mooring.api.timestamps import format_time
from mooring.errors import ApiError, LeaseExpiredError
from mooring.framework.handle import Handle
from mooring.observe.logs import log_error, vlog
from mooring.plugins.dynamic_resources.claim_amounts import Statuses
from mooring.plugins.dynamic_resources.extended import is_in_memory
from mooring.plugins.dynamic_resources.pod_resource_claims import PodResourceClaims
from mooring.plugins.dynamic_resources.tracker import ClaimTracker

log = logging.getLogger(__name__)

# client-go: util/retry (DefaultRetry)
_ATTEMPTS = 5
_RETRY_SECONDS = 0.01
# kube-scheduler: AssumeExtendedResourceTimeoutDefaultSeconds
_SEEN_WITHIN = 120.0
_LOOK_EVERY = 0.1
NOT_CLEARED = "Failed to clear NodeAllocatableResourceClaimStatuses on Unreserve"
#: The field of a pod's status that lists the node resources its claims consume.
_CLAIM_STATUSES = "nodeAllocatableResourceClaimStatuses"


class BindError(Exception):
    """The reason why a claim could not be bound; the pod is retried."""


class _Turn:
    """The order of the pods that write a claim."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        #: How many write or wait.
        self.writers = 0


class ClaimBinder:
    """The writer of allocations and reservations. Owned by one plugin."""

    def __init__(self, handle: Handle, tracker: ClaimTracker, *, timestamps: bool) -> None:
        self._handle = handle
        self._tracker = tracker
        #: Whether to write when a claim was allocated: the timeout of binding conditions needs it.
        self._timestamps = timestamps
        #: By uid, the claims that are being written.
        self._turns: dict[str, _Turn] = {}

    async def bind(self, kept: PodResourceClaims, index: int, pod: Pod, node_name: str) -> None:
        """Write the allocation that Reserve made for a claim, and reserve the claim for the pod or
        its group.

        The claim in `kept` is replaced by the one written.
        """
        claim, allocation = kept.claims[index], kept.allocations[index]
        is_special = index == kept.own_count
        if is_special and allocation is None and not claim.spec.devices.requests:
            # The node itself provides the resources.
            return
        key = claim.metadata.uid
        if is_special and is_in_memory(claim) and not _asks(kept, node_name):
            # The node provides the resources, but other claims had to be allocated.
            self._tracker.finish(key)
            return
        try:
            if is_special and is_in_memory(claim):
                kept.claims[index] = claim = await self._create(kept, node_name)
            async with self._writing(key):
                written = await self._write(claim, allocation, kept.user(index, pod))
            kept.claims[index] = written
            if not is_special:
                self._tracker.assume(written)
        finally:
            if is_special and not is_in_memory(kept.claims[index]):
                await self._until_seen(kept.claims[index])
        # If the write failed, Unreserve gives the allocation up.
        if allocation is not None:
            self._tracker.finish(key)
        if is_special:
            await self._tell_pod(kept, pod, node_name)

    @asynccontextmanager
    async def _writing(self, uid: str) -> AsyncIterator[None]:
        """Let one pod after another write a claim that they share."""
        turn = self._turns.setdefault(uid, _Turn())
        turn.writers += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.writers -= 1
            if not turn.writers:
                del self._turns[uid]

    async def _create(self, kept: PodResourceClaims, node_name: str) -> ResourceClaim:
        found = kept.nodes.get(node_name)
        if found is None or found.extended_claim is None:
            raise BindError(f"extended resource claim not found for node {node_name}")
        claim = found.extended_claim
        bare = replace(claim, metadata=replace(claim.metadata, name="", uid=""))
        try:
            created = await self._handle.client.create(bare)
        except ApiError as error:
            self._count_creation("failure")
            text = f"create claim for extended resources {bare.metadata.namespace}/"
            raise BindError(f"{text}: {error.message}") from None
        self._count_creation("success")
        return created

    def _count_creation(self, status: str) -> None:
        metrics = self._handle.metrics
        metrics.resource_claim_creates[status].inc()
        metrics.owned_resource_claim_creates[status, "false", "", "Pod"].inc()

    async def _write(
        self,
        claim: ResourceClaim,
        allocation: AllocationResult | None,
        user: ResourceClaimConsumerReference,
    ) -> ResourceClaim:
        """Write a claim's finalizer and status; after a conflict, read the claim and retry.

        If another pod of the group has written the allocation already, only the reservation is
        added. kube-scheduler fails then, and tries the pod again.
        """
        client = self._handle.client
        name, namespace = claim.metadata.name, claim.metadata.namespace
        latest = self._tracker.get(name, namespace)
        if (
            latest is not None
            and latest.metadata.uid == claim.metadata.uid
            and allocation is not None
            and _is_same(latest.status.allocation, allocation)
        ):
            # Another pod of the group has just written it.
            claim = latest
        for attempt in range(_ATTEMPTS):
            if attempt:
                await self._handle.clock.sleep(_RETRY_SECONDS)
                try:
                    claim = await client.get(ResourceClaim, name, namespace)
                except ApiError as error:
                    text = f"get updated claim {claim.key} after conflict"
                    raise BindError(f"{text}: {error.message}") from None
            step = ""
            try:
                if claim.metadata.deletion_timestamp is not None:
                    raise BindError(f"claim {claim.key} got deleted in the meantime")
                if allocation is not None and _is_same(claim.status.allocation, allocation):
                    allocation = None
                    if any(one.uid == user.uid for one in claim.status.reserved_for):
                        return claim
                if allocation is not None:
                    if claim.status.allocation is not None:
                        text = f"claim {claim.key} got allocated elsewhere in the meantime"
                        raise BindError(text)
                    step = "add finalizer to claim"
                    claim = await self._add_finalizer(claim)
                status = self._status(claim, allocation, user)
                step = (
                    f"add {'allocation and ' if allocation is not None else ''}reservation to claim"
                )
                patch = {"metadata": _precondition(claim), "status": status}
                return await client.patch(
                    ResourceClaim, name, namespace, patch, subresource="status"
                )
            except ApiError as error:
                if not error.is_conflict or attempt == _ATTEMPTS - 1:
                    raise BindError(f"{step} {claim.key}: {error.message}") from None
        raise AssertionError

    async def _add_finalizer(self, claim: ResourceClaim) -> ResourceClaim:
        if CLAIM_FINALIZER in claim.metadata.finalizers:
            return claim
        return await self._handle.client.add_finalizer(claim, CLAIM_FINALIZER)

    def _status(
        self,
        claim: ResourceClaim,
        allocation: AllocationResult | None,
        user: ResourceClaimConsumerReference,
    ) -> dict[str, Any]:
        status: dict[str, Any] = {"reservedFor": [msgspec.to_builtins(user)]}
        if claim.status.reserved_for:
            # Without this order, the server puts a new item before the existing ones.
            uids = [one.uid for one in claim.status.reserved_for if one.uid != user.uid]
            order = [{"uid": uid} for uid in (*uids, user.uid)]
            status["$setElementOrder/reservedFor"] = order
        if allocation is not None:
            status["allocation"] = msgspec.to_builtins(allocation)
        if self._timestamps:
            current = allocation or claim.status.allocation
            if current is None:
                raise BindError(f"claim {claim.key} got deallocated elsewhere in the meantime")
            if current.allocation_timestamp is None:
                now = format_time(self._handle.clock.wall_time())
                status.setdefault("allocation", {})["allocationTimestamp"] = now
        return status

    async def _tell_pod(self, kept: PodResourceClaims, pod: Pod, node_name: str) -> None:
        mappings = kept.nodes[node_name].mappings
        if not mappings:
            raise BindError(
                f"nil or empty request mappings, no update of pod {pod.key} "
                "ExtendedResourceClaimStatus"
            )
        claim = kept.extended
        assert claim is not None
        told = {
            "requestMappings": msgspec.to_builtins(mappings),
            "resourceClaimName": claim.metadata.name,
        }
        try:
            await self._handle.client.patch(
                Pod,
                pod.metadata.name,
                pod.metadata.namespace,
                {"status": {"extendedResourceClaimStatus": told}},
                subresource="status",
            )
        except ApiError as error:
            text = f"update pod {pod.key} ExtendedResourceClaimStatus: {error.message}"
            raise BindError(text) from None

    async def write_claim_statuses(self, pod: Pod, statuses: Statuses) -> None:
        """Write the node resources that the claims of an assumed pod consume to its status."""
        if pod.status.node_allocatable_resource_claim_statuses != statuses:
            raise BindError("assumed pod status does not match calculated status to be patched")
        try:
            await self._patch_claim_statuses(pod, {_CLAIM_STATUSES: msgspec.to_builtins(statuses)})
        except ApiError as error:
            text = f"updating pod {pod.key} NodeAllocatableResourceClaimStatuses: {error.message}"
            raise BindError(text) from None

    async def _patch_claim_statuses(
        self, pod: Pod, status: dict[str, Any], **precondition: str
    ) -> None:
        patch: dict[str, Any] = {"status": status}
        if precondition:
            patch["metadata"] = precondition
        name, namespace = pod.metadata.name, pod.metadata.namespace
        await self._handle.client.patch(Pod, name, namespace, patch, subresource="status")

    async def _until_seen(self, claim: ResourceClaim) -> None:
        """Wait until the informer has a claim that was just created, then assume it."""
        clock = self._handle.clock
        lister = self._handle.lister(ResourceClaim)
        deadline = clock.now() + _SEEN_WITHIN
        while lister.get(claim.metadata.name, claim.metadata.namespace) is None:
            if clock.now() >= deadline:
                return
            await clock.sleep(_LOOK_EVERY)
        self._tracker.assume(claim)

    # Undoing. It runs beside the scheduling loop. If it fails, the pod or the next leader finds the
    # claim as it is.

    async def clear_claim_statuses(self, pod: Pod) -> None:
        """Undo `write_claim_statuses`, even if it is unknown whether the write succeeded."""
        with _logged(NOT_CLEARED, pod=pod):
            await self._clear_claim_statuses(pod)

    async def _clear_claim_statuses(self, pod: Pod) -> None:
        if self._handle.features.release.older_node_allocatable:
            await self._patch_claim_statuses(pod, {_CLAIM_STATUSES: None})
            return
        # Write an empty list. The API server keeps the old value if the field is missing, because
        # clients that do not know the field omit it. The uid prevents a change to a new pod of the
        # same name.
        nothing = [{"$patch": "replace"}]
        await self._patch_claim_statuses(pod, {_CLAIM_STATUSES: nothing}, uid=pod.metadata.uid)

    async def deallocate(self, claim: ResourceClaim) -> None:
        """Remove a claim's allocation, so that other devices can be tried."""
        status = {"allocation": None, "reservedFor": None, "devices": None}
        with _logged("deallocate", resourceclaim=claim):
            await self._handle.client.patch(
                ResourceClaim,
                claim.metadata.name,
                claim.metadata.namespace,
                {"metadata": _precondition(claim), "status": status},
                subresource="status",
            )

    async def unreserve(self, claim: ResourceClaim, uid: str) -> None:
        """Remove the reservation of a claim for a pod or group; those of others stay."""
        gone = {"$patch": "delete", "uid": uid}
        patch = {"metadata": {"uid": claim.metadata.uid}, "status": {"reservedFor": [gone]}}
        with _logged("unreserve", resourceclaim=claim):
            await self._handle.client.patch(
                ResourceClaim,
                claim.metadata.name,
                claim.metadata.namespace,
                patch,
                subresource="status",
            )

    async def delete(self, claim: ResourceClaim) -> None:
        """Delete a special claim, after removing its finalizer."""
        name, namespace = claim.metadata.name, claim.metadata.namespace
        with _logged("delete", resourceclaim=claim):
            if CLAIM_FINALIZER in claim.metadata.finalizers:
                patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [CLAIM_FINALIZER]}}
                await self._handle.client.patch(ResourceClaim, name, namespace, patch)
            await self._handle.client.delete(ResourceClaim, name, namespace)


@contextmanager
def _logged(message: str, **pairs: Any) -> Iterator[None]:
    """Log the failure of a request in one line, as kube-scheduler does."""
    try:
        yield
    except LeaseExpiredError as error:
        # Leader election logs why; the next leader schedules the pod.
        vlog(log, 4, message, err=error, **pairs)
    except ApiError as error:
        log_error(log, error, message, **pairs)


def _is_same(written: AllocationResult | None, allocation: AllocationResult) -> bool:
    """Return whether an allocation is the one that was written, whenever that was."""
    return written is not None and replace(written, allocation_timestamp=None) == replace(
        allocation, allocation_timestamp=None
    )


def _asks(kept: PodResourceClaims, node_name: str) -> bool:
    """Return whether the special claim requests devices on a node."""
    found = kept.nodes.get(node_name)
    if found is None or found.extended_claim is None:
        return True
    return bool(found.extended_claim.spec.devices.requests)


def _precondition(claim: ResourceClaim) -> dict[str, str]:
    """Return metadata that makes a patch fail if the claim was changed or replaced meanwhile."""
    found = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
    return {key: text for key, text in found.items() if text}

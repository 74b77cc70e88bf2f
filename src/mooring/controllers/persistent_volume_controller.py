"""Volumes and claims: finding, provisioning, binding and releasing volumes."""

# kubernetes: pkg/controller/volume/persistentvolume/pv_controller.go

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from mooring.api import (
    CSINode,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    encode,
)
from mooring.api import volume_claims as claims_of
from mooring.api.volume_matching import find_candidates
from mooring.controllers.component_events import NORMAL
from mooring.controllers.controlled_kinds import CLAIMS, VOLUMES
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.work_queue import Key
from mooring.controlplane.bound_volumes import (
    AVAILABLE,
    BOUND,
    LOST,
    RELEASED,
    bound_claim,
    bound_volume,
    may_bind,
    with_phase,
)
from mooring.controlplane.default_values import default_storage_class_of, has_storage_class
from mooring.controlplane.provisioning import (
    PROVISIONED_BY,
    has_provisioner,
    provisioned_volume,
    with_provisioner,
)
from mooring.errors import ApiError


class PersistentVolumeController(Controller):
    """The controller that binds claims to volumes, and creates volumes for storage classes.

    It stands in for every provisioner, since none runs here. Keys without a namespace are volumes.
    """

    name = "persistentvolume-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._volumes = self.watch(PersistentVolume, self._both)
        self._claims = self.watch(PersistentVolumeClaim, self._claim_keys)
        self._classes = self.watch(StorageClass, self._waiting)
        self._nodes = context.store(Node)
        self._csi_nodes = context.store(CSINode)

    def _both(self, volume: PersistentVolume) -> Iterable[Key]:
        yield "", volume.metadata.name
        reference = volume.spec.claim_ref
        if reference is not None:
            yield reference.namespace, reference.name
        else:
            yield from self._waiting(None)

    def _claim_keys(self, claim: PersistentVolumeClaim) -> Iterable[Key]:
        yield from itself(claim)
        if claim.spec.volume_name:
            yield "", claim.spec.volume_name

    def _waiting(self, _: object) -> Iterable[Key]:
        for claim in self.context.store(PersistentVolumeClaim):
            if not claims_of.is_fully_bound(claim):
                yield claim.metadata.namespace, claim.metadata.name

    async def reconcile(self, key: Key) -> float | None:
        """Move a claim or a volume to its next state."""
        if not key[0]:
            volume: PersistentVolume | None = self._volumes.get(key[1])
            if volume is not None:
                await self._sync_volume(volume)
            return None
        claim: PersistentVolumeClaim | None = self._claims.get(key[1], key[0])
        if claim is not None and claim.metadata.deletion_timestamp is None:
            await self._sync_claim(claim)
        return None

    # Claims.

    async def _sync_claim(self, claim: PersistentVolumeClaim) -> None:
        if claim.spec.volume_name:
            await self._sync_named(claim)
            return
        if await self._give_class(claim):
            return
        candidates = find_candidates(claim, self._volumes)
        delayed = claims_of.is_delay_binding(claim, self._classes.get) is True
        selected = claims_of.SELECTED_NODE in claim.metadata.annotations
        if candidates.bound:
            await self._bind(claim, candidates.bound[0])
        elif delayed and not selected:
            text = "waiting for first consumer to be created before binding"
            self.events.record(claim, NORMAL, "WaitForFirstConsumer", text)
        elif candidates.free and not delayed:
            await self._bind(claim, candidates.free[0])
        else:
            await self._provision(claim)

    async def _sync_named(self, claim: PersistentVolumeClaim) -> None:
        """Bind a claim to the volume it names, or set its phase to Lost."""
        volume: PersistentVolume | None = self._volumes.get(claim.spec.volume_name)
        bound = claims_of.BIND_COMPLETED in claim.metadata.annotations
        if volume is not None and may_bind(claim, volume):
            await self._bind(claim, volume)
        elif bound and claim.status.phase != LOST:
            lost = replace(claim, status=replace(claim.status, phase=LOST))
            await self.writer.change(CLAIMS, claim, lost, "status")

    async def _give_class(self, claim: PersistentVolumeClaim) -> bool:
        """Give a claim without a class the default class; return whether there is one."""
        if has_storage_class(claim.spec.storage_class_name, claim.metadata.annotations):
            return False
        name = default_storage_class_of(self._classes)
        if name is None:
            return False
        given = replace(claim, spec=replace(claim.spec, storage_class_name=name))
        await self.writer.change(CLAIMS, claim, given)
        return True

    async def _provision(self, claim: PersistentVolumeClaim) -> None:
        name = claims_of.claim_class(claim)
        storage_class: StorageClass | None = self._classes.get(name) if name else None
        if storage_class is None or not has_provisioner(storage_class):
            return
        named = with_provisioner(claim, storage_class)
        if named is not claim:
            await self.writer.change(CLAIMS, claim, named)
            return
        node = self._nodes.get(claim.metadata.annotations.get(claims_of.SELECTED_NODE, ""))
        csi_node = self._csi_nodes.get(node.metadata.name) if node is not None else None
        volume = provisioned_volume(claim, storage_class, node, csi_node)
        try:
            await self.writer.create(VOLUMES, encode(volume))
        except ApiError as error:
            if not error.is_already_exists:
                raise
            return
        text = f"Successfully provisioned volume {volume.metadata.name}"
        self.events.record(claim, NORMAL, "ProvisioningSucceeded", text)

    # Binding.

    async def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        """Bind a volume and a claim: the volume first, so that no other claim takes it."""
        bound = bound_volume(volume, claim)
        version = volume.metadata.resource_version
        await self.writer.change(VOLUMES, volume, bound, version=version)
        await self.writer.change(VOLUMES, volume, bound, "status")
        taken = bound_claim(claim, bound)
        await self.writer.change(CLAIMS, claim, taken)
        await self.writer.change(CLAIMS, claim, taken, "status")

    # Volumes.

    async def _sync_volume(self, volume: PersistentVolume) -> None:
        reference = volume.spec.claim_ref
        if volume.metadata.deletion_timestamp is not None:
            return
        if reference is None or not reference.uid:
            if volume.status.phase not in (AVAILABLE, BOUND):
                await self._write_phase(volume, AVAILABLE)
            return
        claim: PersistentVolumeClaim | None = self._claims.get(reference.name, reference.namespace)
        if claim is not None and claim.metadata.uid == reference.uid:
            return
        if claim is None and not await self._is_gone(volume):
            return
        if volume.status.phase != RELEASED:
            await self._write_phase(volume, RELEASED)
        elif (
            volume.spec.persistent_volume_reclaim_policy == "Delete"
            and PROVISIONED_BY in volume.metadata.annotations
        ):
            await self.writer.delete(VOLUMES, volume)

    async def _is_gone(self, volume: PersistentVolume) -> bool:
        """Ask the server whether a volume's claim is gone, as the informer may lag behind."""
        reference = volume.spec.claim_ref
        assert reference is not None
        try:
            found = await self.writer.get(CLAIMS, reference.namespace, reference.name)
        except ApiError as error:
            if error.is_not_found:
                return True
            raise
        return bool(found["metadata"]["uid"] != reference.uid)

    async def _write_phase(self, volume: PersistentVolume, phase: str) -> None:
        await self.writer.change(VOLUMES, volume, with_phase(volume, phase), "status")

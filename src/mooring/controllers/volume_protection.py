"""Protection of volumes and claims in use, and the claims of ephemeral volumes."""

# kubernetes: pkg/controller/volume/{pvcprotection,pvprotection,ephemeral}

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod, encode
from mooring.api import volume_claims as claims_of
from mooring.client.resources import Resource
from mooring.controllers.controlled_kinds import CLAIMS, VOLUMES
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object
from mooring.errors import ApiError

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class VolumeProtection(Controller):
    """The controller that lets unused claims and unbound volumes be deleted."""

    name = "pvc-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._claims = self.watch(PersistentVolumeClaim, itself)
        self._volumes = self.watch(PersistentVolume, itself)
        self._pods = self.watch(Pod, self._claims_of)

    def _claims_of(self, pod: Pod) -> Iterable[Key]:
        for name, _ in claims_of.claim_names(pod):
            yield pod.metadata.namespace, name

    async def reconcile(self, key: Key) -> float | None:
        """Remove the finalizer from an object that is being deleted and not in use."""
        if not key[0]:
            volume: PersistentVolume | None = self._volumes.get(key[1])
            if volume is not None and volume.status.phase != "Bound":
                await self._release(VOLUMES, volume.metadata, VOLUME_FINALIZER)
            return None
        claim: PersistentVolumeClaim | None = self._claims.get(key[1], key[0])
        if claim is not None and not self._is_used(claim):
            await self._release(CLAIMS, claim.metadata, CLAIM_FINALIZER)
        return None

    def _is_used(self, claim: PersistentVolumeClaim) -> bool:
        name = claim.metadata.name
        return any(
            any(one == name for one, _ in claims_of.claim_names(pod))
            for pod in self._pods.list(claim.metadata.namespace)
            if not pod.is_finished and pod.spec.node_name
        )

    async def _release(self, resource: Resource, metadata: ObjectMeta, finalizer: str) -> None:
        if metadata.deletion_timestamp is None or finalizer not in metadata.finalizers:
            return
        kept = [one for one in metadata.finalizers if one != finalizer]
        change = {"resourceVersion": metadata.resource_version, "finalizers": kept or None}
        await self.writer.patch_if_there(
            resource, metadata.namespace, metadata.name, {"metadata": change}
        )


class EphemeralVolumes(Controller):
    """The controller that creates the claims for pods' ephemeral volumes."""

    name = "ephemeral-volume-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = self.watch(Pod, self._pod)
        self._claims = context.store(PersistentVolumeClaim)

    def _pod(self, pod: Pod) -> Iterable[Key]:
        if any(volume.ephemeral is not None for volume in pod.spec.volumes):
            yield pod.metadata.namespace, pod.metadata.name

    async def reconcile(self, key: Key) -> float | None:
        """Create the missing claims of a pod's ephemeral volumes."""
        pod: Pod | None = self._pods.get(key[1], key[0])
        if pod is None or pod.is_terminating or pod.is_finished:
            return None
        raw = encode(pod)
        for volume in raw["spec"].get("volumes", ()):
            template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
            name = f"{pod.metadata.name}-{volume['name']}"
            if template and self._claims.get(name, key[0]) is None:
                await self._create(pod, name, template)
        return None

    async def _create(self, pod: Pod, name: str, template: Object) -> None:
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod.metadata.name,
            "uid": pod.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        known = template.get("metadata") or {}
        metadata = {key: known[key] for key in ("labels", "annotations") if known.get(key)}
        metadata |= {
            "name": name,
            "namespace": pod.metadata.namespace,
            "ownerReferences": [owner],
        }
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
        try:
            await self.writer.create(CLAIMS, {**claim, "spec": template["spec"]})
        except ApiError as error:
            if not error.is_already_exists:
                raise

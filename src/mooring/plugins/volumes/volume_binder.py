"""Binding a pod's volumes: first in memory, then at the API server."""

# kube-scheduler: plugins/volumebinding/binder.go (AssumePodVolumes, BindPodVolumes)

from __future__ import annotations

from mooring.api import (
    CSINode,
    NodeTerms,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    TypedObject,
    encode,
)
from mooring.api import volume_claims as claims
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.plugins.volumes.assumed import AssumedObjects
from mooring.plugins.volumes.csi_nodes import is_migrated
from mooring.plugins.volumes.csi_translation import (
    TranslationError,
    plugin_of,
    translated_affinity,
)
from mooring.plugins.volumes.pod_volume_claims import Binding, PodVolumes, Provision, all_bound


class BindingFailedError(Exception):
    """A pod's volumes cannot be bound as planned; the pod must be scheduled again."""


class VolumeBinder:
    """The part of the plugin that binds and provisions volumes as planned. Owned by one plugin."""

    def __init__(
        self,
        handle: Handle,
        volumes: AssumedObjects[PersistentVolume],
        pod_claims: AssumedObjects[PersistentVolumeClaim],
    ) -> None:
        self._handle = handle
        self._volumes = volumes
        self._claims = pod_claims

    def assume(self, pod: Pod, node_name: str, planned: PodVolumes) -> bool | str:
        """Assume a plan in memory, and replace its objects by the assumed ones.

        Return True if all claims are bound already, False if the plan must be written, or the
        reason why it cannot be assumed.
        """
        if all_bound(pod, self._claims):
            return True
        done = PodVolumes()
        for binding in planned.bindings:
            volume = claims.bind_to(binding.volume, binding.claim)
            problem = "" if volume is binding.volume else self._volumes.assume(volume)
            if problem:
                self.revert(done)
                return problem
            done.bindings.append(Binding(binding.claim, volume))
        for provision in planned.provisions:
            claim = claims.select_node(provision.claim, node_name)
            problem = self._claims.assume(claim)
            if problem:
                self.revert(done)
                return problem
            done.provisions.append(Provision(claim))
        planned.bindings, planned.provisions = done.bindings, done.provisions
        return False

    def revert(self, assumed: PodVolumes) -> None:
        """Drop assumed objects that have not been written to the API server."""
        for binding in assumed.bindings:
            self._volumes.restore(binding.volume)
        for provision in assumed.provisions:
            self._claims.restore(provision.claim)

    async def write(self, assumed: PodVolumes) -> None:
        """Write the plan to the API server; if a write fails, revert what was not written.

        Patches carry the resource version, so they fail if the object has changed meanwhile. A
        patch does not touch fields that this program does not know.
        """
        client = self._handle.client
        left = assumed.copy()
        try:
            for binding in assumed.bindings:
                metadata, spec = binding.volume.metadata, encode(binding.volume)["spec"]
                patch = {**_metadata(binding.volume), "spec": {"claimRef": spec["claimRef"]}}
                binding.volume = await client.patch(PersistentVolume, metadata.name, "", patch)
                left.bindings.pop(0)
            for provision in assumed.provisions:
                metadata = provision.claim.metadata
                patch = _metadata(provision.claim)
                provision.claim = await client.patch(
                    PersistentVolumeClaim, metadata.name, metadata.namespace, patch
                )
                left.provisions.pop(0)
        finally:
            self.revert(left)

    def is_done(self, pod: Pod, node_name: str, written: PodVolumes) -> bool:
        """Return whether all claims are bound; raise BindingFailedError if they never will be.

        This reads the informers, not the assumed objects, which another cycle may have changed.
        """
        node = self._handle.snapshot.find(node_name)
        if node is None:
            raise BindingFailedError(
                f'failed to get node "{node_name}": node "{node_name}" not found'
            )
        csi_node = self._handle.lister(CSINode).get(node_name)
        if self._handle.lister(Pod).get(pod.metadata.name, pod.metadata.namespace) is None:
            raise BindingFailedError(
                f'pod does not exist any more: pod "{pod.metadata.name}" not found'
            )
        return all(self._is_bound(binding, node, csi_node) for binding in written.bindings) and all(
            self._is_provisioned(provision, node, csi_node) for provision in written.provisions
        )

    def _is_bound(self, binding: Binding, node: NodeInfo, csi_node: CSINode | None) -> bool:
        name = binding.volume.metadata.name
        volume = self._volumes.lister.get(name)
        if volume is None:
            raise BindingFailedError(f"failed to check binding: {self._volumes.not_found(name)}")
        metadata = binding.claim.metadata
        claim = self._claims.lister.get(metadata.name, metadata.namespace)
        if claim is None:
            missing = self._claims.not_found(metadata.name, metadata.namespace)
            raise BindingFailedError(f"failed to check binding: {missing}")
        if _version(binding.volume) > _version(volume):
            return False
        _check_affinity(volume, node, csi_node, "failed to translate pv to csi: ")
        reference = volume.spec.claim_ref
        if reference is None or (not reference.uid and claim.metadata.uid):
            raise BindingFailedError(f'ClaimRef got reset for pv "{name}"')
        return claims.is_fully_bound(claim)

    def _is_provisioned(
        self, provision: Provision, node: NodeInfo, csi_node: CSINode | None
    ) -> bool:
        name, namespace = provision.claim.metadata.name, provision.claim.metadata.namespace
        claim = self._claims.lister.get(name, namespace)
        if claim is None:
            missing = self._claims.not_found(name, namespace)
            raise BindingFailedError(f"failed to check provisioning pvc: {missing}")
        if _version(provision.claim) > _version(claim):
            return False
        if not claim.metadata.annotations:
            raise BindingFailedError(f'selectedNode annotation reset for PVC "{name}"')
        if claim.metadata.annotations.get(claims.SELECTED_NODE, "") != node.name:
            # A provisioner that fails removes the annotation.
            raise BindingFailedError(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            volume = self._volumes.lister.get(claim.spec.volume_name)
            if volume is None:
                # The informer may not have it yet; if it was deleted, the claim will be unbound.
                return False
            _check_affinity(volume, node, csi_node, "")
        return claims.is_fully_bound(claim)


def _metadata(changed: TypedObject) -> dict[str, dict[str, object]]:
    metadata: dict[str, object] = {"annotations": dict(changed.metadata.annotations)}
    if changed.metadata.resource_version:
        metadata["resourceVersion"] = changed.metadata.resource_version
    return {"metadata": metadata}


def _version(obj: TypedObject) -> int:
    text = obj.metadata.resource_version
    return int(text) if text.isdecimal() else 0


def _check_affinity(
    volume: PersistentVolume, node: NodeInfo, csi_node: CSINode | None, prefix: str
) -> None:
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    plugin = plugin_of(volume.spec)
    if plugin is not None and plugin.migrated and is_migrated(plugin.name, csi_node):
        try:
            required = translated_affinity(plugin, volume)
        except TranslationError as error:
            raise BindingFailedError(f"{prefix}could not translate pv: {error}") from None
    if required is None:
        return
    terms = NodeTerms.parse(required).terms
    if not any(
        not term.errors and all(demand.matches(node.labels) for demand in term.labels)
        for term in terms
    ):
        raise BindingFailedError(
            f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node.name}": '
            "no matching NodeSelectorTerms"
        )

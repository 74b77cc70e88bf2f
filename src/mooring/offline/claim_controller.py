"""The resource claim controller of a cluster in memory, which acts at once."""

# kubernetes: pkg/controller/resourceclaim/controller.go

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import (
    ObjectMeta,
    OwnerReference,
    Pod,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimTemplate,
)
from mooring.api.resource import CLAIM_FINALIZER, POD_CLAIM_NAME, ResourceClaimStatus
from mooring.informers.store import EventHandler, Store
from mooring.offline.memory_cluster import MemoryCluster


class ClaimController:
    """A controller that creates the claims of pods from templates, and releases unused claims."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._pods = cluster.pods
        self._claims: Store[ResourceClaim] = cluster.store(ResourceClaim)
        self._templates: Store[ResourceClaimTemplate] = cluster.store(ResourceClaimTemplate)
        self._templates.add_handler(EventHandler(on_add=self._template_added))
        self._pods.add_handler(EventHandler(on_add=self._make, on_delete=self._release))

    def _template_added(self, template: ResourceClaimTemplate) -> None:
        for pod in list(self._pods.list(template.metadata.namespace)):
            self._make(pod)

    def _make(self, pod: Pod) -> None:
        """Create the claims of a new pod whose templates exist."""
        if not pod.spec.resource_claims:
            return
        statuses = {one.name: one for one in pod.status.resource_claim_statuses}
        known = len(statuses)
        for entry in pod.spec.resource_claims:
            if entry.resource_claim_template_name is None or entry.name in statuses:
                continue
            namespace = pod.metadata.namespace
            template = self._templates.get(entry.resource_claim_template_name, namespace)
            if template is None:
                continue
            claim = _from_template(template, pod, entry.name)
            self._claims.add(claim)
            name = claim.metadata.name
            statuses[entry.name] = PodResourceClaimStatus(name=entry.name, resource_claim_name=name)
        if len(statuses) > known:
            status = replace(pod.status, resource_claim_statuses=tuple(statuses.values()))
            self._pods.update(replace(pod, status=status))

    def _release(self, pod: Pod) -> None:
        """Delete the claims created for a pod; remove it from others and deallocate unused ones."""
        if not pod.spec.resource_claims and pod.status.extended_resource_claim_status is None:
            return
        uid = pod.metadata.uid
        for claim in list(self._claims.list(pod.metadata.namespace)):
            metadata = claim.metadata
            if any(owner.uid == uid and owner.controller for owner in metadata.owner_references):
                self._claims.delete(metadata.name, metadata.namespace)
                continue
            users = tuple(user for user in claim.status.reserved_for if user.uid != uid)
            if len(users) == len(claim.status.reserved_for):
                continue
            if users:
                self._claims.update(
                    replace(claim, status=replace(claim.status, reserved_for=users))
                )
                continue
            left = tuple(one for one in metadata.finalizers if one != CLAIM_FINALIZER)
            metadata = replace(metadata, finalizers=left)
            self._claims.update(replace(claim, metadata=metadata, status=ResourceClaimStatus()))


def _from_template(template: ResourceClaimTemplate, pod: Pod, entry: str) -> ResourceClaim:
    made = template.spec
    name = f"{pod.metadata.name}-{entry}"
    owner = OwnerReference(
        api_version="v1",
        kind="Pod",
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
    metadata = ObjectMeta(
        name=name,
        namespace=pod.metadata.namespace,
        uid=f"{pod.metadata.uid}/{entry}",
        labels=made.metadata.labels,
        annotations={**made.metadata.annotations, POD_CLAIM_NAME: entry},
        owner_references=(owner,),
    )
    return ResourceClaim(metadata=metadata, spec=made.spec)

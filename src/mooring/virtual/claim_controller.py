"""The resource claim controller of a cluster in memory, which acts at once."""

# kubernetes: pkg/controller/resourceclaim/controller.go

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import (
    Pod,
    PodGroupResourceClaimStatus,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimTemplate,
    WorkloadPodGroup,
    scheduling_group_key,
)
from mooring.api.resource import CLAIM_FINALIZER, ResourceClaimStatus
from mooring.controlplane.generated_claims import claim_metadata
from mooring.informers.store import EventHandler, Store
from mooring.virtual.memory_cluster import MemoryCluster


class ClaimController:
    """A controller that creates the claims of pods from templates, and releases unused claims.

    With `of_groups` (the gate DRAWorkloadResourceClaims), it does so for pod groups too.
    """

    def __init__(self, cluster: MemoryCluster, *, of_groups: bool = False) -> None:
        self._pods = cluster.pods
        self._claims: Store[ResourceClaim] = cluster.store(ResourceClaim)
        self._templates: Store[ResourceClaimTemplate] = cluster.store(ResourceClaimTemplate)
        self._groups: Store[WorkloadPodGroup] = cluster.store(WorkloadPodGroup)
        self._of_groups = of_groups
        self._templates.add_handler(EventHandler(on_add=self._template_added))
        self._pods.add_handler(EventHandler(on_add=self._make, on_delete=self._release))
        if of_groups:
            self._groups.add_handler(
                EventHandler(on_add=self._make_for_group, on_delete=self._release_group)
            )

    def _template_added(self, template: ResourceClaimTemplate) -> None:
        namespace = template.metadata.namespace
        for group in list(self._groups.list(namespace)) if self._of_groups else ():
            self._make_for_group(group)
        for pod in list(self._pods.list(namespace)):
            self._make(pod)

    def _make(self, pod: Pod) -> None:
        """Create the claims of a new pod whose templates exist; take those of its group over."""
        if not pod.spec.resource_claims:
            return
        group = self._group_of(pod)
        if group is None and self._of_groups and pod.spec.scheduling_group is not None:
            # Whether a claim is the group's is known only when the group exists.
            return
        statuses = {one.name: one for one in pod.status.resource_claim_statuses}
        known = len(statuses)
        for entry in pod.spec.resource_claims:
            if entry.resource_claim_template_name is None or entry.name in statuses:
                continue
            if group is not None and group.has_claim(entry):
                name = _status_of(group, entry.name)
            else:
                name = self._create(entry.resource_claim_template_name, pod, entry.name)
            if name is not None:
                statuses[entry.name] = PodResourceClaimStatus(
                    name=entry.name, resource_claim_name=name
                )
        if len(statuses) > known:
            status = replace(pod.status, resource_claim_statuses=tuple(statuses.values()))
            self._pods.update(replace(pod, status=status))

    def _group_of(self, pod: Pod) -> WorkloadPodGroup | None:
        group = pod.spec.scheduling_group
        if not self._of_groups or group is None or group.pod_group_name is None:
            return None
        return self._groups.get(group.pod_group_name, pod.metadata.namespace)

    def _make_for_group(self, group: WorkloadPodGroup) -> None:
        """Create the claims of a new group whose templates exist, and tell its pods."""
        statuses = {one.name: one for one in group.status.resource_claim_statuses}
        known = len(statuses)
        for entry in group.spec.resource_claims:
            if entry.resource_claim_template_name is None or entry.name in statuses:
                continue
            name = self._create(entry.resource_claim_template_name, group, entry.name)
            if name is not None:
                statuses[entry.name] = PodGroupResourceClaimStatus(
                    name=entry.name, resource_claim_name=name
                )
        if len(statuses) > known:
            status = replace(group.status, resource_claim_statuses=tuple(statuses.values()))
            self._groups.update(replace(group, status=status))
        for pod in list(self._pods.list(group.metadata.namespace)):
            if scheduling_group_key(pod) == group.key:
                self._make(pod)

    def _create(self, template_name: str, owner: Pod | WorkloadPodGroup, entry: str) -> str | None:
        """Create a claim from a template; return its name, or None without the template."""
        template = self._templates.get(template_name, owner.metadata.namespace)
        if template is None:
            return None
        claim = _from_template(template, owner, entry)
        self._claims.add(claim)
        return claim.metadata.name

    def _release_group(self, group: WorkloadPodGroup) -> None:
        if group.spec.resource_claims:
            self._release_user(group.metadata.uid, group.metadata.namespace)

    def _release(self, pod: Pod) -> None:
        """Delete the claims created for a pod; remove it from others and deallocate unused ones."""
        if not pod.spec.resource_claims and pod.status.extended_resource_claim_status is None:
            return
        self._release_user(pod.metadata.uid, pod.metadata.namespace)

    def _release_user(self, uid: str, namespace: str) -> None:
        for claim in list(self._claims.list(namespace)):
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


def _status_of(group: WorkloadPodGroup, entry: str) -> str | None:
    """Return the name of the claim that was created for a group's entry, or None."""
    statuses = group.status.resource_claim_statuses
    return next((one.resource_claim_name for one in statuses if one.name == entry), None)


def _from_template(
    template: ResourceClaimTemplate, user: Pod | WorkloadPodGroup, entry: str
) -> ResourceClaim:
    made = template.spec
    metadata = replace(
        claim_metadata(made.metadata, user, entry),
        name=f"{user.metadata.name}-{entry}",
        generate_name="",
        uid=f"{user.metadata.uid}/{entry}",
    )
    return ResourceClaim(metadata=metadata, spec=made.spec)

"""The resource claim controller of a cluster in memory, which acts immediately."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import (
    OwnerReference,
    Pod,
    PodGroupResourceClaimStatus,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimTemplate,
    WorkloadPodGroup,
    scheduling_group_key,
)
from mooring.controlplane.generated_claims import (
    claim_metadata,
    generated_claim,
    gets_claims,
    released,
    template_entries,
)
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
        #: The claims with these owners by uid and name; only their metadata is current.
        self._owned: dict[str, dict[str, ResourceClaim]] = {}
        self._claims.subscribe(self._claim_changed)
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

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if old is not None and new is not None and _owners(old) == _owners(new):
            return
        if old is not None:
            for owner in _owners(old):
                self._owned[owner.uid].pop(old.metadata.name, None)
        if new is not None:
            for owner in _owners(new):
                self._owned.setdefault(owner.uid, {})[new.metadata.name] = new
        elif old is not None:
            self._create_again(old)

    def _create_again(self, claim: ResourceClaim) -> None:
        """Create the claim of a pod or group that still exists once more."""
        namespace = claim.metadata.namespace
        for owner in _owners(claim):
            pod = self._pods.get(owner.name, namespace)
            if pod is not None and pod.metadata.uid == owner.uid:
                self._make(pod)
            group = self._groups.get(owner.name, namespace) if self._of_groups else None
            if group is not None and group.metadata.uid == owner.uid:
                self._make_for_group(group)

    def _make(self, pod: Pod) -> None:
        """Create the claims that a pod lacks and whose templates exist; use those of its group."""
        if not pod.spec.resource_claims or not gets_claims(pod):
            return
        group = self._group_of(pod)
        if group is None and self._of_groups and pod.spec.scheduling_group is not None:
            # Whether a claim is the group's is known only when the group exists.
            return
        statuses = {one.name: one for one in pod.status.resource_claim_statuses}
        known = dict(statuses)
        for entry, template, name in template_entries(pod):
            if group is not None and group.has_claim(entry):
                made = _status_of(group, entry.name)
            else:
                made = self._claim_of(pod, entry.name, template, name)
            if made is not None:
                statuses[entry.name] = PodResourceClaimStatus(
                    name=entry.name, resource_claim_name=made
                )
        if statuses != known:
            named = tuple(statuses[name] for name in sorted(statuses))
            status = replace(pod.status, resource_claim_statuses=named)
            self._pods.update(replace(pod, status=status))

    def _group_of(self, pod: Pod) -> WorkloadPodGroup | None:
        group = pod.spec.scheduling_group
        if not self._of_groups or group is None or group.pod_group_name is None:
            return None
        return self._groups.get(group.pod_group_name, pod.metadata.namespace)

    def _make_for_group(self, group: WorkloadPodGroup) -> None:
        """Create the claims that a group lacks and whose templates exist, and update its pods."""
        statuses = {one.name: one for one in group.status.resource_claim_statuses}
        known = dict(statuses)
        for entry, template, name in template_entries(group):
            made = self._claim_of(group, entry.name, template, name)
            if made is not None:
                statuses[entry.name] = PodGroupResourceClaimStatus(
                    name=entry.name, resource_claim_name=made
                )
        if statuses != known:
            status = replace(group.status, resource_claim_statuses=tuple(statuses.values()))
            self._groups.update(replace(group, status=status))
        for pod in list(self._pods.list(group.metadata.namespace)):
            if scheduling_group_key(pod) == group.key:
                self._make(pod)

    def _claim_of(
        self, owner: Pod | WorkloadPodGroup, entry: str, template_name: str, known: str
    ) -> str | None:
        """Return the name of the claim for an entry, which is created if it does not exist.

        Return None if there is neither the claim nor the template.
        """
        namespace = owner.metadata.namespace
        if known and self._claims.get(known, namespace) is not None:
            return known
        owned = self._owned.get(owner.metadata.uid, {})
        claim = generated_claim(owned.values(), owner, entry)
        if claim is None:
            template = self._templates.get(template_name, namespace)
            if template is None:
                return None
            claim = self._from_template(template, owner, entry)
            self._claims.add(claim)
        return claim.metadata.name

    def _from_template(
        self, template: ResourceClaimTemplate, user: Pod | WorkloadPodGroup, entry: str
    ) -> ResourceClaim:
        """Return a claim with a name and a uid that are the same in every run."""
        whole = name = f"{user.metadata.name}-{entry}"
        number = 1
        while self._claims.get(name, user.metadata.namespace) is not None:
            number += 1
            name = f"{whole}-{number}"
        metadata = replace(
            claim_metadata(template.spec.metadata, user, entry),
            name=name,
            generate_name="",
            uid=f"{user.metadata.uid}/{entry}",
        )
        return ResourceClaim(metadata=metadata, spec=template.spec.spec)

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
            users = claim.status.reserved_for
            after = released(claim, [user for user in users if user.uid != uid])
            if after.status.allocation is not claim.status.allocation:
                # The API server drops the states of devices that are no longer allocated.
                after = replace(after, status=replace(after.status, devices=()))
            if after is not claim:
                self._claims.update(after)


def _status_of(group: WorkloadPodGroup, entry: str) -> str | None:
    """Return the name of the claim that was created for a group's entry, or None."""
    statuses = group.status.resource_claim_statuses
    return next((one.resource_claim_name for one in statuses if one.name == entry), None)


def _owners(claim: ResourceClaim) -> tuple[OwnerReference, ...]:
    return claim.metadata.owner_references

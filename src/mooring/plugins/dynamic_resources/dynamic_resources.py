"""DynamicResources: allocate, reserve and bind the devices of a pod's claims."""

# kube-scheduler: plugins/dynamicresources/dynamicresources.go, extendeddynamicresources.go

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from mooring.api import (
    AnyPodGroup,
    CompositePodGroup,
    DeviceClass,
    DeviceTaintRule,
    Pod,
    PodStatus,
    ResourceClaim,
    ResourceSlice,
    WorkloadPodGroup,
)
from mooring.api.pod_resource_requests import is_resize_deferred
from mooring.api.resource import CLAIM_FINALIZER
from mooring.errors import ObjectError
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.decision import NodeStatuses
from mooring.framework.features import FeatureGates
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.placements import GroupTrial
from mooring.framework.plugin import Plugin, PreFlight
from mooring.framework.state import CycleState, StateNotFoundError
from mooring.framework.status import Status
from mooring.plugins.args import BINDING_TIMEOUT, CEL_COST_BUDGET, DynamicResourcesArgs
from mooring.plugins.dynamic_resources.allocator import (
    Allocator,
    AllocatorFeatures,
)
from mooring.plugins.dynamic_resources.binding_conditions import Preparation, has_binding_conditions
from mooring.plugins.dynamic_resources.capacity import Rounding
from mooring.plugins.dynamic_resources.claim_binder import BindError, ClaimBinder
from mooring.plugins.dynamic_resources.claim_filter import ClaimFilter
from mooring.plugins.dynamic_resources.claim_reads import ClaimReads
from mooring.plugins.dynamic_resources.derived_attributes import DerivedAttributes
from mooring.plugins.dynamic_resources.device_classes import (
    BackedResources,
    any_backed,
    backed_resources,
)
from mooring.plugins.dynamic_resources.device_requests import AllocationError
from mooring.plugins.dynamic_resources.extended import (
    is_in_memory,
    may_be_backed,
    special_claim,
)
from mooring.plugins.dynamic_resources.group_attempts import budget_in, shared_in, tried_in
from mooring.plugins.dynamic_resources.hints import ClaimHints
from mooring.plugins.dynamic_resources.node_devices import NodeDevices
from mooring.plugins.dynamic_resources.node_groups import GroupCache
from mooring.plugins.dynamic_resources.node_resource_check import NodeResourceCheck
from mooring.plugins.dynamic_resources.pod_resource_claims import (
    PodResourceClaims,
    assumed_status,
)
from mooring.plugins.dynamic_resources.pools import parse_selector
from mooring.plugins.dynamic_resources.resource_claims import (
    claim_users,
    find_claims,
    group_claim_name,
    is_made_for,
    is_reserved_for,
    missing_class,
)
from mooring.plugins.dynamic_resources.results import allocation_of
from mooring.plugins.dynamic_resources.selectors import SelectorCache
from mooring.plugins.dynamic_resources.tainted_slices import TaintedSlices
from mooring.plugins.dynamic_resources.tracker import claim_tracker
from mooring.plugins.normalize import normalize_by_max
from mooring.typing import Ints, Mask

NO_NEW_CLAIMS = Status.unschedulable("no new claims to deallocate")
STILL_NOT_SCHEDULABLE = Status.unschedulable("still not schedulable")
NOTHING_FREED = Status.unschedulable()
DEALLOCATED = Status.unschedulable("deallocation of ResourceClaim completed")
DELETED = Status.unschedulable("deletion of ResourceClaim completed")
FREED = (DEALLOCATED, DELETED)
#: Said for every group that does not fit, whether it has claims or not.
GROUP_DEALLOCATED = Status.unschedulable("deallocation of PodGroup ResourceClaim completed")
GROUP_UNRESERVED = Status.unresolvable("ResourceClaim unreserved for PodGroup")
GROUP_DONE = Status.unschedulable("deallocation and deletion of ResourceClaims completed")


class DynamicResources(Plugin):
    """The plugin that allocates devices for a pod's claims, and writes them to the API server."""

    name = "DynamicResources"
    skips_resizes = True
    Args = DynamicResourcesArgs
    # Pods with claims are not signed, so their results are never reused. For other pods the result
    # is the same on every node, whatever pods run there.
    reads_pods = False
    filters_slowly = True

    def __init__(
        self, args: DynamicResourcesArgs | None = None, handle: Handle | None = None
    ) -> None:
        super().__init__(args, handle)

    def start(self) -> None:
        """Set up the listers of claims, slices and classes, and what all profiles share."""
        handle = self.handle
        enabled = handle.features.enabled
        #: Whether claims may be those of pod groups.
        self._of_groups = handle.features.release.pod_groups and enabled(
            "DRAWorkloadResourceClaims"
        )
        self._waits = enabled("DRADeviceBindingConditions") and enabled(
            "DRAResourceClaimDeviceStatus"
        )
        self._features = _allocator_features(handle.features, binding_conditions=self._waits)
        self._taint_rules = enabled("DRADeviceTaints") and enabled("DRADeviceTaintRules")
        args = self.args.with_defaults(handle.features)
        filter_seconds = 0.0
        if args.filter_timeout is not None and enabled("DRASchedulerFilterTimeout"):
            filter_seconds = args.filter_timeout.seconds
        self._classes = handle.lister(DeviceClass)
        self._backed = backed_resources(handle)
        self._claims = claim_tracker(handle)
        self._selectors = handle.shared(
            f"{self.name}/selectors", lambda: SelectorCache(lists=self._features.reads_lists)
        )
        self._derived: DerivedAttributes | None = None
        if self._features.derived_attributes:
            self._derived = handle.shared(f"{self.name}/derived", DerivedAttributes)
        #: Whether devices may consume resources of their node.
        self._node_resources = enabled("DRANodeAllocatableResources")
        groups = handle.shared(f"{self.name}/groups", self._make_groups)
        self._devices = groups.devices
        self._node_check: NodeResourceCheck | None = None
        if self._node_resources:
            self._node_check = NodeResourceCheck(
                handle.features, self._devices, of_groups=self._of_groups
            )
        #: The state of a pod without claims.
        self._no_claims = PodResourceClaims()
        seconds = (args.binding_timeout or BINDING_TIMEOUT).seconds
        self._preparation = Preparation(handle, self._claims, seconds)
        self._binder = ClaimBinder(handle, self._claims, timestamps=self._waits)
        self._filter = ClaimFilter(
            handle,
            groups,
            self._classes,
            backed=self._backed,
            class_of=self._class_of,
            is_hopeless=self._is_hopeless,
            seconds=filter_seconds,
            node_check=self._node_check,
        )

    def _make_groups(self) -> GroupCache:
        features = self._features
        slices = self.handle.lister(ResourceSlice)
        if self._taint_rules:
            slices = TaintedSlices(slices, self.handle.lister(DeviceTaintRule))
        devices = NodeDevices(
            slices,
            self._claims,
            partitions=features.partitionable_devices,
            lists=features.reads_lists,
            shares=features.consumable_capacity,
            groups=features.compatibility_groups,
            counters_everywhere=features.older_allocator,
            node_resources=self._node_resources,
        )
        reads = ClaimReads(
            devices.columns,
            self._selectors,
            lists=features.reads_lists,
            capacity=features.consumable_capacity,
            rounding=features.rounding,
            derived=self._derived,
            node_resources=self._node_resources,
            progress=self.handle.progress,
        )
        return GroupCache(devices, reads)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Keep a pod out of the queue until its claims exist."""
        if not pod.spec.resource_claims:
            return None
        found = find_claims(pod, self._claims, of_groups=self._of_groups)
        return Status.unresolvable(found) if isinstance(found, str) else None

    # Choosing a node.

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Check the pod's claims; skip a pod that needs no devices."""
        # Written even if a refusal follows: PostFilter reads it, and finds no claims.
        state.write(self.name, self._no_claims)
        if state.pod_group_state is not None:
            tried_in(state.pod_group_state).add(pod.metadata.uid)
        found: list[ResourceClaim] | str = []
        if pod.spec.resource_claims:
            found = find_claims(pod, self._claims, of_groups=self._of_groups)
        if isinstance(found, str):
            return Status.unresolvable(found)
        special = self._special_claim(pod)
        if not found and special is None:
            return Status.skip()
        kept = PodResourceClaims()
        kept.fill(found, special)
        if self._of_groups:
            kept.users = claim_users(pod, self.handle.pod_groups.of(pod))
        shared = shared_in(state)
        if special is not None:
            requests = self.handle.pod_info(pod).requests
            kept.resources = [one for one in requests if requests[one] and may_be_backed(one)]
        for index, claim in enumerate(kept.claims):
            if shared is not None and claim.metadata.uid in shared:
                allocation = self._claims.pending(claim.metadata.uid)
                if allocation is not None:
                    kept.pending[index] = allocation
            refusal = self._check(kept, index, claim)
            if refusal is not None:
                return refusal
        if self._node_check is not None:
            self._node_check.note_unshareable(kept, pod)
            kept.statuses_on = partial(self._filter.statuses_on, kept, pod)
        if any(True for _ in kept.to_search()):
            self._devices.refresh(nodes)
            allocated = self._claims.allocated(shares=self._features.consumable_capacity)
            kept.allocator = Allocator(
                self._features,
                allocated,
                self._classes,
                self._devices.pools,
            )
            kept.budget = budget_in(state, self.args.cel_cost_budget or CEL_COST_BUDGET)
        state.write(self.name, kept)
        return None

    def _special_claim(self, pod: Pod) -> ResourceClaim | None:
        """Return the claim for extended resources backed by a device class; None if not needed."""
        requests = self.handle.pod_info(pod).requests
        if not any_backed([name for name, amount in requests.items() if amount], self._backed):
            return None
        return self._claims.extended_claim(pod.metadata.uid) or special_claim(pod)

    def _check(self, kept: PodResourceClaims, index: int, claim: ResourceClaim) -> Status | None:
        """Return a refusal if a claim cannot be allocated on any node.

        For a claim that is allocated, or whose allocation by another pod of the group is not yet
        written, record in `kept` the nodes on which it is usable.
        """
        allocation = claim.status.allocation or kept.pending.get(index)
        if allocation is not None:
            if allocation.node_selector is not None:
                try:
                    kept.terms[index] = parse_selector(allocation.node_selector)
                except ObjectError as error:
                    return Status.error(str(error))
            return None
        if self._claims.is_in_flight(claim.metadata.uid):
            text = f"resource claim {claim.key} is in the process of being allocated"
            return Status.unresolvable(text)
        if index == kept.own_count:
            return None
        if not self._features.prioritized_list:
            for request in claim.spec.devices.requests:
                if request.exactly is None and request.first_available:
                    return Status.unresolvable(
                        f"resource claim {claim.key}, request {request.name}: has subrequests, "
                        "but the DRAPrioritizedList feature is disabled"
                    )
        return missing_class(claim, self._classes)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node on which the pod's claims cannot be used or allocated."""
        kept: PodResourceClaims = state.read(self.name)
        return self._filter.one(kept, pod, node) if kept else None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterable[tuple[Status, Mask]]:
        """Refuse the nodes on which the pod's claims cannot be used or allocated."""
        kept: PodResourceClaims = state.read(self.name)
        return self._filter.many(kept, pod, nodes) if kept else ()

    def _class_of(self, resource: str) -> DeviceClass | None:
        backed = self._backed
        return backed.device_class(resource) if isinstance(backed, BackedResources) else None

    def _is_hopeless(self, claim: ResourceClaim) -> bool:
        return self._waits and self._preparation.is_hopeless(claim)

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> Status:
        """Deallocate one claim that kept the pod from a node.

        The write happens outside the cycle; the claim's update event requeues the pod. If an
        earlier plugin refused the pod in PreFilter, there is no state to read and the answer is the
        error "not found", as in kube-scheduler.
        """
        if pod.spec.node_name and is_resize_deferred(pod):
            # PreFilter has not run for a pod that is on its node already.
            return NOTHING_FREED
        try:
            kept: PodResourceClaims = state.read(self.name)
        except StateNotFoundError as error:
            return Status.error(str(error))
        if not kept:
            return self._nothing_freed(NO_NEW_CLAIMS)
        return self._free_claims(kept, pod, statuses)

    def pod_group_post_filter(
        self, state: CycleState, group: AnyPodGroup, trial: GroupTrial
    ) -> Status:
        """Deallocate claims that kept pods of a group from nodes, as `post_filter` does.

        If that freed nothing for a pod that was tried, the claims of the group itself are
        deallocated or released, unless pods of the group run already.
        """
        topology = self.handle.features.enabled("TopologyAwareWorkloadScheduling")
        if isinstance(group, CompositePodGroup):
            return Status.unschedulable()
        if topology and group.spec.scheduling_constraints is not None:
            return Status.unschedulable()
        freed: set[str] = set()
        for refusal in trial.refusals:
            kept: PodResourceClaims | None = refusal.state.get(self.name)
            if kept and self._free_claims(kept, refusal.pod, refusal.statuses) in FREED:
                freed.add(refusal.pod.metadata.uid)
        if self._of_groups and tried_in(state) - freed:
            status = self._free_group_claims(group, trial)
            if status is not None:
                return status
        return GROUP_DONE

    def _free_group_claims(self, group: WorkloadPodGroup, trial: GroupTrial) -> Status | None:
        """Deallocate one claim of a group, or remove the group's reservation of one."""
        if self.handle.pod_groups.placed(group.key):
            return None
        uid, pod = group.metadata.uid, trial.pods[0]
        for refusal in trial.refusals:
            kept: PodResourceClaims | None = refusal.state.get(self.name)
            for index in sorted(self._unavailable(kept, refusal.statuses)) if kept else ():
                assert kept is not None
                claim = kept.claims[index]
                users = claim.status.reserved_for
                if not users or (len(users) == 1 and users[0].uid == uid):
                    self.handle.spawn(self._binder.deallocate(claim), pod)
                    return GROUP_DEALLOCATED
        for entry in group.spec.resource_claims:
            try:
                name = group_claim_name(group, entry)
            except ObjectError as error:
                return Status.error(error.message)
            if name is None:
                continue
            found = self._claims.get(name, group.metadata.namespace)
            if found is None:
                key = f"{group.metadata.namespace}/{name}"
                return Status.error(f'could not find ResourceClaim "{key}"')
            if entry.resource_claim_name is None and not is_made_for(group, found):
                continue
            reserved = is_reserved_for(pod, found, of_groups=True)
            if found.status.allocation is not None and reserved:
                self.handle.spawn(self._binder.unreserve(found, uid), pod)
                return GROUP_UNRESERVED
        return None

    def _free_claims(self, kept: PodResourceClaims, pod: Pod, statuses: NodeStatuses) -> Status:
        special = kept.extended
        is_stale = special is not None and not is_in_memory(special)
        for index in sorted(self._unavailable(kept, statuses)):
            if index == kept.own_count:
                continue
            claim = kept.claims[index]
            users = claim.status.reserved_for
            if not users or (len(users) == 1 and users[0].uid == pod.metadata.uid):
                self.handle.spawn(self._binder.deallocate(claim), pod)
                return DEALLOCATED
        if is_stale:
            assert special is not None
            self.handle.spawn(self._binder.delete(special), pod)
            return DELETED
        return self._nothing_freed(STILL_NOT_SCHEDULABLE)

    def _nothing_freed(self, reason: Status) -> Status:
        return reason if self.handle.features.release.says_no_claims else NOTHING_FREED

    def _unavailable(self, kept: PodResourceClaims, statuses: NodeStatuses) -> set[int]:
        """Return the indexes of claims for which this plugin refused a node."""
        mine = [rows for status, rows in statuses.groups() if status.plugin == self.name]
        found = {
            index
            for index, refused in kept.unavailable_rows.items()
            if any(refused[rows].any() for rows in mine)
        }
        for name, status in statuses.items() if kept.unavailable else ():
            if status is not None and status.plugin == self.name:
                found.update(kept.unavailable.get(name, ()))
        return found

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score a node by the rank of the request alternatives it can satisfy."""
        kept: PodResourceClaims = state.read(self.name)
        return self._filter.score(kept, pod, node) if kept else 0

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | int:
        """Score the nodes by the rank of the request alternatives they can satisfy."""
        kept: PodResourceClaims = state.read(self.name)
        return self._filter.scores(kept, pod, nodes) if kept else 0

    def normalize_score(self, state: CycleState, pod: Pod, scores: Ints) -> Ints:
        """Scale the scores so that the best node gets 100."""
        return normalize_by_max(scores)

    # Reserve and PreBind.

    def assumed_status(self, state: CycleState, pod: Pod, node_name: str) -> PodStatus:
        """Return the pod's status with the node resources that its claims consume."""
        return assumed_status(state.get(self.name), pod, node_name)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Allocate the devices found for the node to the pod's claims, in memory."""
        kept: PodResourceClaims | None = state.get(self.name)
        if kept is None:
            return Status.error(str(StateNotFoundError(self.name)))
        if not kept:
            return None
        self._share(kept, state, pod)
        places = [index for index, _ in kept.to_search()]
        if not places:
            return None
        planned = self._filter.planned(kept, pod, node_name)
        if planned is None:
            if all(index == kept.own_count for index in places):
                # The node itself provides the extended resources.
                return None
            return Status.error("claim allocation not found for node")
        for index, found in zip(places, planned.found.claims(), strict=True):
            try:
                allocation = allocation_of(
                    found,
                    node_name,
                    self.handle.random,
                    binding_conditions=self._waits,
                    older=self._features.older_allocator,
                )
            except AllocationError as error:
                return Status.error(str(error))
            kept.allocations[index] = allocation
            claim = found.claim
            finalizers = claim.metadata.finalizers
            if CLAIM_FINALIZER not in finalizers:
                finalizers = (*finalizers, CLAIM_FINALIZER)
            allocated = replace(
                claim,
                metadata=replace(claim.metadata, finalizers=finalizers),
                status=replace(claim.status, allocation=allocation),
            )
            self._claims.allocate(claim.metadata.uid, allocated)
            self._claims.share(claim.metadata.uid, pod.metadata.uid)
            if (shared := shared_in(state)) is not None:
                shared.add(claim.metadata.uid)
        return None

    def _share(self, kept: PodResourceClaims, state: CycleState, pod: Pod) -> None:
        """Take part in the allocations that other pods of the group have made."""
        for index, found in kept.pending.items():
            claim = kept.claims[index]
            uid = claim.metadata.uid
            allocation = self._claims.pending(uid)
            if allocation is None:
                allocation = found
                status = replace(claim.status, allocation=found)
                self._claims.allocate(uid, replace(claim, status=status))
            kept.allocations[index] = allocation
            self._claims.share(uid, pod.metadata.uid)
            if (shared := shared_in(state)) is not None:
                shared.add(uid)

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo Reserve; what was written to the API server is undone outside the cycle."""
        kept: PodResourceClaims | None = state.get(self.name)
        if not kept:
            return
        for claim in kept.claims[: kept.own_count]:
            if self._claims.release(claim.metadata.uid, pod.metadata.uid):
                self._claims.restore(claim)
                if (shared := shared_in(state)) is not None:
                    shared.discard(claim.metadata.uid)
            # What is reserved for the group may be needed by its other pods.
            if claim.status.allocation is not None and is_reserved_for(pod, claim):
                self.handle.spawn(self._binder.unreserve(claim, pod.metadata.uid), pod)
        special = kept.extended
        if special is not None:
            if self._claims.finish(kept.extended_key):
                self._claims.restore(special)
            if not is_in_memory(special):
                self.handle.spawn(self._binder.delete(special), pod)
        if kept.statuses.get(node_name) and pod.status.node_allocatable_resource_claim_statuses:
            self.handle.spawn(self._binder.clear_claim_statuses(pod), pod)

    def pre_bind_pre_flight(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> PreFlight | Status:
        """Return Skip if there is nothing to write."""
        kept: PodResourceClaims | None = state.get(self.name)
        if kept is None:
            return Status.error(str(StateNotFoundError(self.name)))
        return PreFlight(allow_parallel=True) if kept else Status.skip()

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Write allocations and reservations, and wait for devices that have to be prepared."""
        kept: PodResourceClaims | None = state.get(self.name)
        if kept is None:
            return Status.error(str(StateNotFoundError(self.name)))
        try:
            for index, claim in enumerate(kept.claims):
                if not is_reserved_for(pod, claim, of_groups=self._of_groups):
                    await self._binder.bind(kept, index, pod, node_name)
            if statuses := kept.statuses.get(node_name):
                await self._binder.write_claim_statuses(pod, statuses)
        except BindError as error:
            return Status.error(str(error))
        if not self._waits or not any(map(has_binding_conditions, kept.claims)):
            return None
        note = f"waiting for binding conditions for device on node {node_name}"
        self.handle.events.event(pod, "Normal", "BindingConditionsPending", "Scheduling", note)
        return await self._preparation.wait(kept.claims)

    # Signing and requeueing.

    def sign_pod(self, pod: Pod) -> tuple[str, ...] | None:
        """Return None for pods that need devices: their answers depend on claims and classes."""
        requests = self.handle.pod_info(pod).requests
        return None if pod.spec.resource_claims or any_backed(requests, self._backed) else ()

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of claims, classes, slices, nodes, and the pod's generated claims."""
        pre_hints = self.handle.features.enabled("SchedulerPreQueueingHints")
        return ClaimHints(
            self._claims,
            self.handle.features.release,
            taint_rules=self._taint_rules,
            of_groups=self._of_groups,
            pods=self.handle.lister(Pod) if pre_hints else None,
        ).events()


def _allocator_features(gates: FeatureGates, *, binding_conditions: bool) -> AllocatorFeatures:
    enabled, release = gates.enabled, gates.release
    return AllocatorFeatures(
        admin_access=enabled("DRAAdminAccess"),
        prioritized_list=enabled("DRAPrioritizedList"),
        partitionable_devices=enabled("DRAPartitionableDevices"),
        device_taints=enabled("DRADeviceTaints"),
        binding_conditions=binding_conditions,
        consumable_capacity=enabled("DRAConsumableCapacity"),
        list_attributes=enabled("DRAListTypeAttributes"),
        derived_attributes=enabled("DRADerivedAttributes"),
        compatibility_groups=enabled("DRADeviceCompatibilityGroups"),
        older_allocator=release.older_allocator,
        optional_node_operations=enabled("DRAOptionalNodeOperations"),
        rounding=Rounding(
            fractional=enabled("DRAFractionalCapacityRange"),
            format_of_step=release.rounds_in_format_of_step,
        ),
    )

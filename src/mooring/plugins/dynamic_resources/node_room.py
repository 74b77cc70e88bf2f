"""Whether a node has room for a pod with what its claims take of the node's resources.

Devices may take cpu, memory and the like of their node. A search for devices reads nothing of that,
so the check follows the search. How much is taken depends on the devices alone: nodes of one group
(see `node_groups`) give the same devices, and with the gate on a group has devices that take the
same. So the amounts are computed once for a group, and compared with the free room of all its nodes
at once.
"""

# kube-scheduler: plugins/dynamicresources/nodeallocatabledynamicresources.go

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import Node, NodeSelector, Pod, ResourceSlice
from mooring.api.pod_requests import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGE_PAGES_PREFIX,
    MEMORY,
    RequestOptions,
    pod_requests,
)
from mooring.api.resource import AllocationResult, Device, DeviceRequestAllocationResult
from mooring.errors import ObjectError
from mooring.framework.features import FeatureGates
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources.claim_amounts import (
    AmountError,
    HeldDevice,
    HeldDevices,
    Statuses,
    claim_statuses,
    is_mapped,
    takes_amounts,
    too_small,
)
from mooring.plugins.dynamic_resources.node_devices import NodeDevices
from mooring.plugins.dynamic_resources.node_groups import NodeGroups
from mooring.plugins.dynamic_resources.pod_resource_claims import PodResourceClaims
from mooring.plugins.dynamic_resources.pools import parse_selector
from mooring.plugins.dynamic_resources.resource_claims import claim_names, is_reserved_for
from mooring.plugins.dynamic_resources.results import ClaimDevices
from mooring.plugins.node_matching import nodes_matching_terms
from mooring.typing import Mask

INSUFFICIENT = "Insufficient {}"
NOT_SHAREABLE = (
    "node allocatable resource claim {} has a mapped device and cannot be shared across pods"
)
# The texts of 1.36.
SHARED = "node allocatable resource claim {} shared by multiple pods"
USED = "node allocatable resource claim {} is already used by another pod"
NO_CONTAINER = (
    "claim {}: node-allocatable resource claim not referenced by any container within the pod"
)

#: Names the answers to which nodes have pods whose claims take resources of the node.
_HAS_STATUSES = ("DynamicResources", "statuses")
_NATIVE = (CPU, MEMORY, EPHEMERAL_STORAGE)


class Footprint(msgspec.Struct, frozen=True):
    """What a pod takes of a node, with its claims."""

    #: What its claims take.
    statuses: Statuses
    #: What must be free, by resource, in the order of the refusals.
    demands: tuple[tuple[str, int], ...]


class NodeRoom:
    """The answers about resources that claims take of nodes. Owned by one plugin."""

    def __init__(self, features: FeatureGates, devices: NodeDevices, *, of_groups: bool) -> None:
        self._devices = devices
        self._of_groups = of_groups
        self._older = features.release.older_node_allocatable
        self._options = RequestOptions(
            use_status_resources=False,
            skip_pod_level_resources=not features.enabled("PodLevelResources"),
            use_claim_status=True,
            by_container=features.release.resizes_by_container,
        )

    # Sharing.

    def note_unshareable(self, kept: PodResourceClaims, pod: Pod) -> None:
        """Record in `kept` the allocated claims that the pod may not share with those that use it.

        1.36 asks each node instead.
        """
        if self._older or not self._any:
            return
        for index, claim in enumerate(kept.claims):
            allocation = claim.status.allocation or kept.pending.get(index)
            if allocation is None or not self._is_mapped(allocation):
                continue
            taken = claim.status.reserved_for and not is_reserved_for(
                pod, claim, of_groups=self._of_groups
            )
            # A pending allocation is that of another pod of the group.
            if taken or index in kept.pending:
                text = NOT_SHAREABLE.format(claim.metadata.name)
                kept.unshareable[index] = Status.unresolvable(text)

    def _is_mapped(self, allocation: AllocationResult) -> bool:
        """Return whether a device of an allocation is itself a resource of its node."""
        for result in allocation.devices.results:
            _, device = next(self._named(result), (None, None))
            if device is not None and is_mapped(device):
                return True
        return False

    def shared_on(
        self, kept: PodResourceClaims, pod: Pod, index: int, node: NodeInfo
    ) -> Status | None:
        """Return why a claim cannot be shared with the pods that use it on a node."""
        if not self._older:
            return kept.unshareable.get(index)
        name, namespace = kept.claims[index].metadata.name, pod.metadata.namespace
        users = {
            uid
            for uid, info in node.pods.items()
            if info.pod.metadata.namespace == namespace
            and any(
                status.resource_claim_name == name
                for status in info.pod.status.node_allocatable_resource_claim_statuses
            )
        }
        if len(users) > 1:
            return Status.unresolvable(SHARED.format(name))
        if users and pod.metadata.uid not in users:
            return Status.unresolvable(USED.format(name))
        return None

    def shared_among(
        self, kept: PodResourceClaims, pod: Pod, index: int, nodes: Nodes, asked: Mask
    ) -> Iterator[tuple[Status, Mask]]:
        """Yield what `shared_on` says, for some nodes."""
        if not self._older:
            if index in kept.unshareable and asked.any():
                yield kept.unshareable[index], asked
            return
        for position in np.flatnonzero(asked & nodes.follow(_HAS_STATUSES, _have_statuses)):
            status = self.shared_on(kept, pod, index, nodes.info(int(position)))
            if status is not None:
                mask = np.zeros(len(nodes), dtype=np.bool_)
                mask[position] = True
                yield status, mask

    # Room.

    @property
    def _any(self) -> bool:
        """Whether any device takes resources of its node."""
        return self._devices.columns.amounts.bound > 1

    def footprint(
        self,
        kept: PodResourceClaims,
        pod: Pod,
        node: Node,
        found: Sequence[ClaimDevices] | None,
    ) -> Footprint | Status | None:
        """Return what a pod takes of a node; None if its claims take nothing.

        `found` has the devices of the claims that are not allocated yet; None if all are.
        """
        if not self._any or (self._older and found is None):
            return None
        try:
            held = list(self._held(kept, node, found or ()))
            if not held:
                return None
            names = {name: claim.metadata.uid for name, claim in claim_names(pod, kept.claims)}
            statuses = claim_statuses(pod, held, names, older=self._older)
        except AmountError as error:
            return Status.error(str(error))
        for status in statuses if self._older else ():
            if not status.containers:
                return Status.unresolvable(NO_CONTAINER.format(status.resource_claim_name))
        told = replace(
            pod, status=replace(pod.status, node_allocatable_resource_claim_statuses=statuses)
        )
        if statuses and (text := too_small(told, self._options)):
            return Status.unresolvable(text)
        return Footprint(statuses, _demands(pod_requests(told, self._options)))

    def lacking(self, footprint: Footprint, node: NodeInfo) -> Status | None:
        """Return the resources of which a node has not enough free."""
        short = []
        beyond = False
        for name, amount in footprint.demands:
            offered = node.allocatable.get(name, 0)
            if amount > offered - node.requested.get(name, 0):
                short.append(name)
                beyond |= amount > offered
        return _insufficient(short, beyond) if short else None

    def lacking_among(
        self,
        kept: PodResourceClaims,
        pod: Pod,
        nodes: Nodes,
        asked: Mask,
        groups: NodeGroups | None,
    ) -> Iterator[tuple[Status, Mask]]:
        """Yield why a pod with its claims does not fit on some of the nodes."""
        if not self._any or not asked.any():
            return
        codes = self._alike(kept, nodes, groups)
        positions = np.flatnonzero(asked)
        _, first, alike = np.unique(codes[positions], return_index=True, return_inverse=True)
        demands: dict[tuple[tuple[str, int], ...], list[int]] = {}
        for number, example in enumerate(positions[first].tolist()):
            node = nodes.info(example)
            answer = None if groups is None else groups.answer(node.name)
            found = None if answer is None else answer.devices
            footprint = self.footprint(kept, pod, node.node, found)
            if isinstance(footprint, Status):
                mask = np.zeros(len(nodes), dtype=np.bool_)
                mask[positions[alike == number]] = True
                yield footprint, mask
            elif footprint is not None:
                demands.setdefault(footprint.demands, []).append(number)
        for needed, numbers in demands.items():
            concerned = np.zeros(len(nodes), dtype=np.bool_)
            concerned[positions[np.isin(alike, numbers)]] = True
            yield from _refusals(nodes, concerned, needed)

    def _alike(
        self, kept: PodResourceClaims, nodes: Nodes, groups: NodeGroups | None
    ) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Return a code per node; nodes with equal codes have devices that take the same."""
        if groups is None:
            codes = np.zeros(len(nodes), dtype=np.intp)
        else:
            codes = groups.codes(nodes).astype(np.intp)
        if self._older:
            return codes
        for result in self._results(kept):
            for one, device in self._named(result):
                reached = _reaching(one, device, nodes)
                codes = np.unique(2 * codes + reached, return_inverse=True)[1]
        return codes

    # The devices of claims.

    def _results(self, kept: PodResourceClaims) -> Iterator[DeviceRequestAllocationResult]:
        """Yield the devices of allocated claims of which one may take resources of its node."""
        for index, claim in enumerate(kept.claims):
            allocation = claim.status.allocation or kept.pending.get(index)
            if allocation is not None and any(
                takes_amounts(device)
                for result in allocation.devices.results
                for _, device in self._named(result)
            ):
                yield from allocation.devices.results

    def _held(
        self, kept: PodResourceClaims, node: Node, found: Sequence[ClaimDevices]
    ) -> Iterator[HeldDevices]:
        """Yield the claims with devices that take resources of a node."""
        new = {index: one for (index, _), one in zip(kept.to_search(), found, strict=False)}
        for index, claim in enumerate(kept.claims):
            if index in new:
                devices = [
                    HeldDevice(
                        one.candidate.device.name,
                        one.candidate.device,
                        {key: str(amount) for key, amount in one.consumed.items()},
                    )
                    for one in new[index].chosen
                ]
                if any(takes_amounts(one.device, older=self._older) for one in devices):
                    yield HeldDevices(claim, devices)
                continue
            allocation = claim.status.allocation or kept.pending.get(index)
            if allocation is None or self._older:
                continue
            located = [
                (result, self._device_on(node, result)) for result in allocation.devices.results
            ]
            if not any(isinstance(one, Device) and takes_amounts(one) for _, one in located):
                continue
            devices = []
            for result, one in located:
                if not isinstance(one, Device):
                    where = f"claim {claim.key}, device {result.device}, driver {result.driver}"
                    raise AmountError(f"{where}: {one}")
                devices.append(HeldDevice(result.device, one, result.consumed_capacity))
            yield HeldDevices(claim, devices)

    def _named(
        self, result: DeviceRequestAllocationResult
    ) -> Iterator[tuple[ResourceSlice, Device]]:
        """Yield the device of an allocation and its slice; those of a newer generation first."""
        slices = self._devices.pools.slices_of((result.driver, result.pool))
        for one in sorted(slices, key=lambda one: -one.spec.pool.generation):
            for device in one.spec.devices:
                if device.name == result.device:
                    yield one, device

    def _device_on(self, node: Node, result: DeviceRequestAllocationResult) -> Device | str:
        """Return a device of an allocation as a node reaches it, or why it does not."""
        for one, device in self._named(result):
            spec = one.spec
            if _is_at(node, spec.node_name, spec.all_nodes, spec.node_selector):
                return device
            if spec.per_device_node_selection:
                if _is_at(node, device.node_name, device.all_nodes, device.node_selector):
                    return device
                return f"device {result.device} does not match node"
        return f"device {result.device} not found in pool {result.pool} for driver {result.driver}"


def _is_at(
    node: Node, name: str | None, everywhere: bool | None, selector: NodeSelector | None
) -> bool:
    if everywhere or name == node.metadata.name:
        return True
    try:
        return selector is not None and parse_selector(selector).matches(node)
    except ObjectError:
        return False


def _reaching(one: ResourceSlice, device: Device, nodes: Nodes) -> Mask:
    """Return which nodes reach a device, as `_is_at` finds it."""
    place = device if one.spec.per_device_node_selection else one.spec
    found = np.full(len(nodes.all), bool(place.all_nodes))
    if place.node_name and (row := nodes.row(place.node_name)) >= 0:
        found[row] = True
    found = nodes.gather(found)
    if place.node_selector is not None:
        with suppress(ObjectError):
            found |= nodes_matching_terms(nodes, parse_selector(place.node_selector))
    return found


def _have_statuses(nodes: Nodes) -> Mask:
    """Return which nodes have pods whose claims take resources of the node."""
    return np.fromiter(
        (
            any(
                info.pod.status.node_allocatable_resource_claim_statuses
                for info in node.pods.values()
            )
            for node in nodes.infos()
        ),
        np.bool_,
        len(nodes),
    )


def _demands(requests: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Return what must be free: other resources than these are not taken by claims."""
    native = [(name, requests[name]) for name in _NATIVE if requests.get(name, 0) > 0]
    pages = sorted(name for name in requests if name.startswith(HUGE_PAGES_PREFIX))
    return (*native, *((name, requests[name]) for name in pages))


def _insufficient(short: Sequence[str], beyond: bool) -> Status:
    """Return the refusal; preemption cannot help if a node is too small (`beyond`)."""
    reasons = [INSUFFICIENT.format(name) for name in short]
    return Status.unresolvable(*reasons) if beyond else Status.unschedulable(*reasons)


def _refusals(
    nodes: Nodes, concerned: Mask, demands: tuple[tuple[str, int], ...]
) -> Iterator[tuple[Status, Mask]]:
    """Yield which of the nodes have too little room, by the resources they lack."""
    beyond = np.zeros(len(nodes), dtype=np.bool_)
    codes = np.zeros(len(nodes), dtype=np.int64)
    for number, (name, amount) in enumerate(demands):
        short = amount > nodes.free(name)
        beyond |= short & (amount > nodes.allocatable(name))
        codes += short.astype(np.int64) << number
    for code in np.unique(codes[concerned]).tolist():
        if code == 0:
            continue
        short_names = [name for i, (name, _) in enumerate(demands) if code >> i & 1]
        for too_small_node in (False, True):
            mask = concerned & (codes == code) & (beyond == too_small_node)
            if mask.any():
                yield _insufficient(short_names, too_small_node), mask

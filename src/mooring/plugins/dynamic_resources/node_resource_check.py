"""Checks whether a node has enough free resources for a pod and the devices of its claims.

Devices may consume cpu, memory and other resources of their node. The search for devices ignores
these resources, so the check follows the search. The amounts depend only on the devices. Nodes of
one group (see `node_groups`) offer the same devices, and with the gate on, devices that consume the
same amounts. So the amounts are computed once per group and compared with the free resources of all
its nodes at once.
"""

# kube-scheduler: plugins/dynamicresources/nodeallocatabledynamicresources.go

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import Node, NodeSelector, Pod, ResourceClaim, ResourceSlice
from mooring.api.pod_resource_requests import (
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
    consumes_node_resources,
    insufficient_pod_resources,
    is_mapped,
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

#: The cache key of the mask `_have_statuses`.
_HAS_STATUSES = ("DynamicResources", "statuses")
_NATIVE = (CPU, MEMORY, EPHEMERAL_STORAGE)


class Footprint(msgspec.Struct, frozen=True):
    """The node resources that a pod and its claims consume."""

    #: What the claims consume, as the pod's status lists it.
    statuses: Statuses
    #: The resources that must be free and how much of each, in the order of the refusals.
    demands: tuple[tuple[str, int], ...]


class NodeResourceCheck:
    """The check of the node resources that a pod's claims consume. Owned by one plugin."""

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
        """Record in `kept` the allocated claims that the pod may not share with their other users.

        Emulating 1.36, do nothing: `sharing_refusal` asks each node instead.
        """
        if self._older or not self._any_consumer:
            return
        for index, claim in enumerate(kept.claims):
            allocation = claim.status.allocation or kept.pending.get(index)
            if allocation is None or not self._is_mapped(allocation):
                continue
            used_by_others = claim.status.reserved_for and not is_reserved_for(
                pod, claim, of_groups=self._of_groups
            )
            # A pending allocation was made for another pod of the group.
            if used_by_others or index in kept.pending:
                text = NOT_SHAREABLE.format(claim.metadata.name)
                kept.unshareable[index] = Status.unresolvable(text)

    def _is_mapped(self, allocation: AllocationResult) -> bool:
        """Return whether a device of an allocation represents resources of its node."""
        for result in allocation.devices.results:
            _, device = next(self._devices_named(result), (None, None))
            if device is not None and is_mapped(device):
                return True
        return False

    def sharing_refusal(
        self, kept: PodResourceClaims, pod: Pod, index: int, node: NodeInfo
    ) -> Status | None:
        """Return why a pod cannot share a claim with its users on a node; None if it can."""
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

    def sharing_refusals(
        self, kept: PodResourceClaims, pod: Pod, index: int, nodes: Nodes, asked: Mask
    ) -> Iterator[tuple[Status, Mask]]:
        """Yield the refusals of `sharing_refusal` for the nodes in `asked`."""
        if not self._older:
            if index in kept.unshareable and asked.any():
                yield kept.unshareable[index], asked
            return
        for position in np.flatnonzero(asked & nodes.follow(_HAS_STATUSES, _have_statuses)):
            status = self.sharing_refusal(kept, pod, index, nodes.info(int(position)))
            if status is not None:
                mask = np.zeros(len(nodes), dtype=np.bool_)
                mask[position] = True
                yield status, mask

    # Free resources.

    @property
    def _any_consumer(self) -> bool:
        """Whether any device consumes resources of its node."""
        return self._devices.columns.node_resources.bound > 1

    def footprint(
        self,
        kept: PodResourceClaims,
        pod: Pod,
        node: Node,
        found: Sequence[ClaimDevices] | None,
    ) -> Footprint | Status | None:
        """Return what a pod consumes of a node; None if its claims consume nothing.

        `found` holds the devices found for unallocated claims; None if all claims are allocated.
        """
        if not self._any_consumer or (self._older and found is None):
            return None
        try:
            held = list(self._held_devices(kept, node, found or ()))
            if not held:
                return None
            names = {name: claim.metadata.uid for name, claim in claim_names(pod, kept.claims)}
            statuses = claim_statuses(pod, held, names, older=self._older)
        except AmountError as error:
            return Status.error(str(error))
        for status in statuses if self._older else ():
            if not status.containers:
                return Status.unresolvable(NO_CONTAINER.format(status.resource_claim_name))
        updated = replace(
            pod, status=replace(pod.status, node_allocatable_resource_claim_statuses=statuses)
        )
        if statuses and (text := insufficient_pod_resources(updated, self._options)):
            return Status.unresolvable(text)
        return Footprint(statuses, _demands(pod_requests(updated, self._options)))

    def shortage(self, footprint: Footprint, node: NodeInfo) -> Status | None:
        """Return a refusal that names the resources a node is short of; None if it has enough."""
        short = []
        node_too_small = False
        for name, amount in footprint.demands:
            offered = node.allocatable.get(name, 0)
            if amount > offered - node.requested.get(name, 0):
                short.append(name)
                node_too_small |= amount > offered
        return _insufficient(short, node_too_small) if short else None

    def shortages(
        self,
        kept: PodResourceClaims,
        pod: Pod,
        nodes: Nodes,
        asked: Mask,
        groups: NodeGroups | None,
    ) -> Iterator[tuple[Status, Mask]]:
        """Yield why the nodes in `asked` lack free resources for a pod and its claims."""
        if not self._any_consumer or not asked.any():
            return
        codes = self._device_codes(kept, nodes, groups)
        positions = np.flatnonzero(asked)
        _, first, inverse = np.unique(codes[positions], return_index=True, return_inverse=True)
        demands: dict[tuple[tuple[str, int], ...], list[int]] = {}
        for number, example in enumerate(positions[first].tolist()):
            node = nodes.info(example)
            answer = None if groups is None else groups.answer(node.name)
            found = None if answer is None else answer.devices
            footprint = self.footprint(kept, pod, node.node, found)
            if isinstance(footprint, Status):
                mask = np.zeros(len(nodes), dtype=np.bool_)
                mask[positions[inverse == number]] = True
                yield footprint, mask
            elif footprint is not None:
                demands.setdefault(footprint.demands, []).append(number)
        for needed, numbers in demands.items():
            concerned = np.zeros(len(nodes), dtype=np.bool_)
            concerned[positions[np.isin(inverse, numbers)]] = True
            yield from _refusals(nodes, concerned, needed)

    def _device_codes(
        self, kept: PodResourceClaims, nodes: Nodes, groups: NodeGroups | None
    ) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Return a code per node; devices of nodes with equal codes consume equal amounts."""
        if groups is None:
            codes = np.zeros(len(nodes), dtype=np.intp)
        else:
            codes = groups.codes(nodes).astype(np.intp)
        if self._older:
            return codes
        for result in self._results(kept):
            for resource_slice, device in self._devices_named(result):
                reached = _nodes_reaching(resource_slice, device, nodes)
                codes = np.unique(2 * codes + reached, return_inverse=True)[1]
        return codes

    # The devices of claims.

    def _results(self, kept: PodResourceClaims) -> Iterator[DeviceRequestAllocationResult]:
        """Yield all devices of each allocated claim that may consume resources of a node."""
        for index, claim in enumerate(kept.claims):
            allocation = claim.status.allocation or kept.pending.get(index)
            if allocation is not None and any(
                consumes_node_resources(device)
                for result in allocation.devices.results
                for _, device in self._devices_named(result)
            ):
                yield from allocation.devices.results

    def _held_devices(
        self, kept: PodResourceClaims, node: Node, found: Sequence[ClaimDevices]
    ) -> Iterator[HeldDevices]:
        """Yield the claims with devices that consume resources of a node."""
        new = {index: one for (index, _), one in zip(kept.to_search(), found, strict=False)}
        for index, claim in enumerate(kept.claims):
            if index in new:
                devices = _found_devices(new[index])
                if any(consumes_node_resources(one.device, older=self._older) for one in devices):
                    yield HeldDevices(claim, devices)
                continue
            allocation = claim.status.allocation or kept.pending.get(index)
            if allocation is None or self._older:
                continue
            devices = self._allocated_devices(claim, allocation, node)
            if devices:
                yield HeldDevices(claim, devices)

    def _allocated_devices(
        self, claim: ResourceClaim, allocation: AllocationResult, node: Node
    ) -> list[HeldDevice]:
        """Return the devices of an allocation; [] if none of them consumes resources of the node.

        Raise AmountError if one of them consumes resources and another cannot be found.
        """
        located = [(result, self._device_on(node, result)) for result in allocation.devices.results]
        if not any(isinstance(one, Device) and consumes_node_resources(one) for _, one in located):
            return []
        devices = []
        for result, device in located:
            if not isinstance(device, Device):
                where = f"claim {claim.key}, device {result.device}, driver {result.driver}"
                raise AmountError(f"{where}: {device}")
            devices.append(HeldDevice(result.device, device, result.consumed_capacity))
        return devices

    def _devices_named(
        self, result: DeviceRequestAllocationResult
    ) -> Iterator[tuple[ResourceSlice, Device]]:
        """Yield the devices that an allocation may mean, newest pool generation first."""
        slices = self._devices.pools.slices_of((result.driver, result.pool))
        for one in sorted(slices, key=lambda one: -one.spec.pool.generation):
            for device in one.spec.devices:
                if device.name == result.device:
                    yield one, device

    def _device_on(self, node: Node, result: DeviceRequestAllocationResult) -> Device | str:
        """Return the allocated device that a node reaches, or why it reaches none."""
        for one, device in self._devices_named(result):
            spec = one.spec
            if _is_reached(node, spec.node_name, spec.all_nodes, spec.node_selector):
                return device
            if spec.per_device_node_selection:
                if _is_reached(node, device.node_name, device.all_nodes, device.node_selector):
                    return device
                return f"device {result.device} does not match node"
        return f"device {result.device} not found in pool {result.pool} for driver {result.driver}"


def _found_devices(found: ClaimDevices) -> list[HeldDevice]:
    return [
        HeldDevice(
            one.candidate.device.name,
            one.candidate.device,
            {key: str(amount) for key, amount in one.consumed.items()},
        )
        for one in found.chosen
    ]


def _is_reached(
    node: Node, name: str | None, all_nodes: bool | None, selector: NodeSelector | None
) -> bool:
    """Return whether a node reaches a slice or a device; a malformed selector matches no node."""
    if all_nodes or name == node.metadata.name:
        return True
    try:
        return selector is not None and parse_selector(selector).matches(node)
    except ObjectError:
        return False


def _nodes_reaching(one: ResourceSlice, device: Device, nodes: Nodes) -> Mask:
    """Return which nodes reach a device, by the rules of `_is_reached`."""
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
    """Return which nodes run pods whose claims consume resources of the node."""
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
    """Return the requests for resources that claims can consume, in the order of the refusals."""
    native = [(name, requests[name]) for name in _NATIVE if requests.get(name, 0) > 0]
    pages = sorted(name for name in requests if name.startswith(HUGE_PAGES_PREFIX))
    return (*native, *((name, requests[name]) for name in pages))


def _insufficient(short: Sequence[str], node_too_small: bool) -> Status:
    """Return the refusal; it is unresolvable if preemption cannot help (`node_too_small`)."""
    reasons = [INSUFFICIENT.format(name) for name in short]
    return Status.unresolvable(*reasons) if node_too_small else Status.unschedulable(*reasons)


def _refusals(
    nodes: Nodes, concerned: Mask, demands: tuple[tuple[str, int], ...]
) -> Iterator[tuple[Status, Mask]]:
    """Yield a refusal for each set of resources that some of the nodes are short of."""
    too_small = np.zeros(len(nodes), dtype=np.bool_)
    codes = np.zeros(len(nodes), dtype=np.int64)
    for number, (name, amount) in enumerate(demands):
        short = amount > nodes.free(name)
        too_small |= short & (amount > nodes.allocatable(name))
        codes += short.astype(np.int64) << number
    for code in np.unique(codes[concerned]).tolist():
        if code == 0:
            continue
        short_names = [name for i, (name, _) in enumerate(demands) if code >> i & 1]
        for too_small_node in (False, True):
            mask = concerned & (codes == code) & (too_small == too_small_node)
            if mask.any():
                yield _insufficient(short_names, too_small_node), mask

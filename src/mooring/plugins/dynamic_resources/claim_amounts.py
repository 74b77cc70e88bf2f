"""The node resources (cpu, memory and others) that the devices of a pod's claims consume.

A driver may offer a node's own resources as devices, or devices that need some of them to work. The
amounts that a pod's claims consume are written to the pod's status and added to its requests.
"""

# kube-scheduler: plugins/dynamicresources/nodeallocatabledynamicresources.go

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from mooring.api import Container, NodeAllocatableResourceClaimStatus, Pod, ResourceClaim
from mooring.api.pod import NodeAllocatableMappedResources, NodeAllocatableOverheadResources
from mooring.api.pod_resource_requests import (
    HUGE_PAGES_PREFIX,
    RequestOptions,
    claim_amounts_of_container,
    container_limits,
    container_requests,
    is_pod_level_resource,
)
from mooring.api.quantity import NANOS, Quantity, QuantityText, parse_nanos
from mooring.api.resource import (
    Device,
    NodeAllocatableMapping,
    NodeAllocatableResourceMapping,
)

REQUEST_TOO_SMALL = (
    "pod level request for {} is insufficient to cover the aggregated container and "
    "node-allocatable DRA requests"
)
LIMIT_TOO_SMALL = (
    "pod level limit for {} is insufficient to cover the aggregated container and "
    "node-allocatable DRA limits"
)
CONTAINER_LIMIT_TOO_SMALL = (
    "pod level limit for {} is insufficient to cover the limit and DRA overhead for container {}"
)
_NOTHING_CONSUMED = (
    "claim {}, device {}: ConsumedCapacity is nil, but Capacity key '{}' is set in {}"
)

Statuses = tuple[NodeAllocatableResourceClaimStatus, ...]


class AmountError(Exception):
    """The amounts that a claim consumes cannot be computed; the pod is retried."""


class HeldDevice(msgspec.Struct, frozen=True):
    """A device of an allocation, and how much of its capacity the allocation consumes."""

    name: str
    device: Device
    consumed: Mapping[str, QuantityText]


class HeldDevices(msgspec.Struct, frozen=True):
    """A claim and the devices that are allocated, or about to be allocated, for it."""

    claim: ResourceClaim
    devices: Sequence[HeldDevice]


def consumes_node_resources(device: Device, *, older: bool = False) -> bool:
    """Return whether a device consumes resources of its node; with `older`, as 1.36 states it."""
    return bool(
        device.node_allocatable_resource_mappings if older else device.node_allocatable_resources
    )


def is_mapped(device: Device) -> bool:
    """Return whether a device represents resources of its node, such as cpu cores."""
    return any(one.mapping is not None for one in device.node_allocatable_resources.values())


def claim_statuses(
    pod: Pod, held: Iterable[HeldDevices], names: Mapping[str, str], *, older: bool = False
) -> Statuses:
    """Return what a pod's claims consume, in the form of the pod's status.

    Raise AmountError if an amount cannot be computed. `names` maps each name in the pod's
    `resourceClaims` to the uid of its claim. `older` selects the form of 1.36.
    """
    statuses = {}
    for one in held:
        status = _older_status(one) if older else _status(one)
        if status is not None:
            statuses[one.claim.metadata.uid] = status
    containers: dict[str, list[str]] = {uid: [] for uid in statuses}
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        for use in container.resources.claims:
            uid = names.get(use.name)
            if uid in containers:
                containers[uid].append(container.name)
    found = (
        msgspec.structs.replace(status, containers=tuple(containers[uid]))
        for uid, status in statuses.items()
    )
    return tuple(sorted(found, key=lambda status: status.resource_claim_name))


def _status(held: HeldDevices) -> NodeAllocatableResourceClaimStatus | None:
    mapped: dict[str, Quantity] = {}
    per_pod: dict[str, Quantity] = {}
    per_container: dict[str, Quantity] = {}
    for one in held.devices:
        for name, resource in one.device.node_allocatable_resources.items():
            quantity = _mapped(held.claim, one, name, resource.mapping)
            if quantity is not None:
                mapped[name] = mapped.get(name, Quantity()) + quantity
            if resource.overhead is not None:
                _add_overhead(per_pod, name, resource.overhead.per_pod)
                _add_overhead(per_container, name, resource.overhead.per_container)
    if not mapped and not per_pod and not per_container:
        return None
    return NodeAllocatableResourceClaimStatus(
        resource_claim_name=held.claim.metadata.name,
        mapping=tuple(
            NodeAllocatableMappedResources(name=name, quantity=str(mapped[name]))
            for name in sorted(mapped)
        ),
        overhead=tuple(
            NodeAllocatableOverheadResources(
                name=name,
                per_pod=_text(per_pod.get(name)),
                per_container=_text(per_container.get(name)),
            )
            for name in sorted({*per_pod, *per_container})
        ),
    )


def _add_overhead(totals: dict[str, Quantity], name: str, amount: QuantityText | None) -> None:
    if amount is not None:
        quantity = Quantity(amount)
        totals[name] = totals[name] + quantity if name in totals else quantity


def _text(quantity: Quantity | None) -> str | None:
    return None if quantity is None else str(quantity)


def _mapped(
    claim: ResourceClaim, held: HeldDevice, name: str, mapping: NodeAllocatableMapping | None
) -> Quantity | None:
    """Return how much of a node resource a device represents.

    Return None if there is no mapping, or if the allocation does not consume the capacity that the
    mapping multiplies.
    """
    if mapping is None:
        return None
    if not mapping.capacity_key:
        return None if mapping.device_multiplier is None else Quantity(mapping.device_multiplier)
    field = f"NodeAllocatableResources for resource {name}"
    return _of_capacity(claim, held, mapping.capacity_key, mapping.capacity_multiplier, field)


def _of_capacity(
    claim: ResourceClaim,
    held: HeldDevice,
    capacity: str,
    multiplier: QuantityText | None,
    field: str,
) -> Quantity | None:
    """Return the consumed amount of a capacity of a device, times `multiplier`.

    None if the capacity is not consumed. Raise AmountError if the device consumes none at all;
    `field` is where the device names the capacity.
    """
    if not held.consumed:
        raise AmountError(_NOTHING_CONSUMED.format(claim.key, held.name, capacity, field))
    if capacity not in held.consumed:
        return None
    quantity = Quantity(held.consumed[capacity])
    if multiplier is None:
        return quantity
    product = quantity.nanos * parse_nanos(multiplier)
    return Quantity.from_nanos(-(-product // NANOS), quantity.format)


def _older_status(held: HeldDevices) -> NodeAllocatableResourceClaimStatus | None:
    """Return the status in the form of 1.36."""
    total: dict[str, Quantity] = {}
    for one in held.devices:
        for name, mapping in one.device.node_allocatable_resource_mappings.items():
            quantity = _older_mapped(held.claim, one, name, mapping)
            if quantity is not None:
                total[name] = total[name] + quantity if name in total else quantity
    if not total:
        return None
    return NodeAllocatableResourceClaimStatus(
        resource_claim_name=held.claim.metadata.name,
        resources={name: str(quantity) for name, quantity in total.items()},
    )


def _older_mapped(
    claim: ResourceClaim, held: HeldDevice, name: str, mapping: NodeAllocatableResourceMapping
) -> Quantity | None:
    """Return what `_mapped` does, by the fields of 1.36."""
    if not mapping.capacity_key:
        multiplier = mapping.allocation_multiplier
        return Quantity() if multiplier is None else Quantity(multiplier)
    field = f"NodeAllocatableResourceMappings for resource {name}"
    return _of_capacity(claim, held, mapping.capacity_key, mapping.allocation_multiplier, field)


def insufficient_pod_resources(pod: Pod, options: RequestOptions) -> str:
    """Return why a pod's pod-level resources do not cover what its claims consume; "" if they do.

    The pod's status lists what its claims consume. The API server has checked the pod-level
    resources against the containers only.
    """
    resources = pod.spec.resources
    if resources is None or options.skip_pod_level_resources:
        return ""
    if resources.requests:
        total = container_requests(pod, options)
        for name in sorted(resources.requests):
            if is_pod_level_resource(name) and total.get(name, 0) > parse_nanos(
                resources.requests[name]
            ):
                return REQUEST_TOO_SMALL.format(name)
    # 1.36 does not compare limits.
    if resources.limits and not options.by_container:
        limits = {name: parse_nanos(amount) for name, amount in resources.limits.items()}
        total = container_limits(pod, use_claim_status=True)
        for name in sorted(total):
            if name.startswith(HUGE_PAGES_PREFIX) and total[name] > limits.get(name, total[name]):
                return LIMIT_TOO_SMALL.format(name)
        for container in pod.spec.containers:
            name = _exceeded(pod, container, limits)
            if name:
                return CONTAINER_LIMIT_TOO_SMALL.format(name, container.name)
    return ""


def _exceeded(pod: Pod, container: Container, limits: Mapping[str, int]) -> str:
    """Return a resource of which a container and its claims exceed the pod's limit; "" if none."""
    claimed = claim_amounts_of_container(pod, container.name)
    for name in sorted(container.resources.limits):
        if name in limits and not name.startswith(HUGE_PAGES_PREFIX):
            own = parse_nanos(container.resources.limits[name])
            if own + claimed.get(name, 0) > limits[name]:
                return name
    return ""

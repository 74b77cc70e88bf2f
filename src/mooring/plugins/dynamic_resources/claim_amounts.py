"""What the devices of a pod's claims take of their node: cpu, memory, and the like.

A driver may offer the node's own resources as devices, or devices that need some of them. What the
claims of a pod take becomes part of its status, and counts in its requests.
"""

# kube-scheduler: plugins/dynamicresources/nodeallocatabledynamicresources.go

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from mooring.api import Container, NodeAllocatableResourceClaimStatus, Pod, ResourceClaim
from mooring.api.pod import NodeAllocatableMappedResources, NodeAllocatableOverheadResources
from mooring.api.pod_requests import (
    HUGE_PAGES_PREFIX,
    RequestOptions,
    claim_amounts_of_container,
    container_limits,
    container_requests,
    is_pod_level_resource,
)
from mooring.api.quantity import NANOS, Quantity, QuantityText, parse_nanos
from mooring.api.resource import Device, NodeAllocatableMapping

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
    "claim {}, device {}: ConsumedCapacity is nil, but Capacity key '{}' is set in {} for "
    "resource {}"
)

Statuses = tuple[NodeAllocatableResourceClaimStatus, ...]


class AmountError(Exception):
    """The reason why it is unknown what a claim takes; the pod is retried."""


class HeldDevice(msgspec.Struct, frozen=True):
    """A device of an allocation, and what the allocation consumes of its capacity."""

    name: str
    device: Device
    consumed: Mapping[str, QuantityText]


class HeldDevices(msgspec.Struct, frozen=True):
    """The devices of a claim."""

    claim: ResourceClaim
    devices: Sequence[HeldDevice]


def takes_amounts(device: Device, *, older: bool = False) -> bool:
    """Return whether a device takes resources of its node; `older` is for those of 1.36."""
    return bool(
        device.node_allocatable_resource_mappings if older else device.node_allocatable_resources
    )


def is_mapped(device: Device) -> bool:
    """Return whether a device is itself a resource of its node."""
    return any(one.mapping is not None for one in device.node_allocatable_resources.values())


def claim_statuses(
    pod: Pod, held: Iterable[HeldDevices], names: Mapping[str, str], *, older: bool = False
) -> Statuses:
    """Return what a pod's claims take, as its status says it; raise AmountError if it is unknown.

    `names` has the uid of the claim for each name in the pod's `resourceClaims`.
    """
    made = {}
    for one in held:
        status = _older_status(one) if older else _status(one)
        if status is not None:
            made[one.claim.metadata.uid] = status
    containers: dict[str, list[str]] = {uid: [] for uid in made}
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        for use in container.resources.claims:
            uid = names.get(use.name)
            if uid in containers:
                containers[uid].append(container.name)
    found = (
        msgspec.structs.replace(status, containers=tuple(containers[uid]))
        for uid, status in made.items()
    )
    return tuple(sorted(found, key=lambda status: status.resource_claim_name))


def _status(held: HeldDevices) -> NodeAllocatableResourceClaimStatus | None:
    mapped: dict[str, Quantity] = {}
    per_pod: dict[str, Quantity] = {}
    per_container: dict[str, Quantity] = {}
    for one in held.devices:
        for name, resource in one.device.node_allocatable_resources.items():
            if resource.mapping is not None:
                quantity = _mapped(held.claim, one, name, resource.mapping)
                if quantity is not None:
                    mapped[name] = mapped.get(name, Quantity()) + quantity
            overhead = resource.overhead
            if overhead is not None:
                for totals, amount in (
                    (per_pod, overhead.per_pod),
                    (per_container, overhead.per_container),
                ):
                    if amount is not None:
                        known = totals.get(name)
                        more = Quantity(amount)
                        totals[name] = more if known is None else known + more
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


def _text(quantity: Quantity | None) -> str | None:
    return None if quantity is None else str(quantity)


def _mapped(
    claim: ResourceClaim, held: HeldDevice, name: str, mapping: NodeAllocatableMapping
) -> Quantity | None:
    """Return how much of a resource a device is; None if that does not concern the allocation."""
    if not mapping.capacity_key:
        return None if mapping.device_multiplier is None else Quantity(mapping.device_multiplier)
    if not held.consumed:
        text = _NOTHING_CONSUMED.format(
            claim.key, held.name, mapping.capacity_key, "NodeAllocatableResources", name
        )
        raise AmountError(text)
    if mapping.capacity_key not in held.consumed:
        return None
    return _product(held.consumed[mapping.capacity_key], mapping.capacity_multiplier)


def _product(consumed: QuantityText, multiplier: QuantityText | None) -> Quantity:
    quantity = Quantity(consumed)
    if multiplier is None:
        return quantity
    product = quantity.nanos * parse_nanos(multiplier)
    return Quantity.from_nanos(-(-product // NANOS), quantity.format)


def _older_status(held: HeldDevices) -> NodeAllocatableResourceClaimStatus | None:
    """Return the status as 1.36 has it."""
    total: dict[str, Quantity] = {}
    for one in held.devices:
        for name, mapping in one.device.node_allocatable_resource_mappings.items():
            quantity = Quantity()
            if mapping.capacity_key:
                if not one.consumed:
                    text = _NOTHING_CONSUMED.format(
                        held.claim.key,
                        one.name,
                        mapping.capacity_key,
                        "NodeAllocatableResourceMappings",
                        name,
                    )
                    raise AmountError(text)
                if mapping.capacity_key not in one.consumed:
                    continue
                consumed = one.consumed[mapping.capacity_key]
                quantity = _product(consumed, mapping.allocation_multiplier)
            elif mapping.allocation_multiplier is not None:
                quantity = Quantity(mapping.allocation_multiplier)
            total[name] = total[name] + quantity if name in total else quantity
    if not total:
        return None
    return NodeAllocatableResourceClaimStatus(
        resource_claim_name=held.claim.metadata.name,
        resources={name: str(quantity) for name, quantity in total.items()},
    )


def too_small(pod: Pod, options: RequestOptions) -> str:
    """Return why requests and limits of the pod as a whole do not cover what its claims take.

    "" if they do. `pod` has the amounts in its status. The API server has compared them with the
    containers alone.
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
    """Return a resource of which a container may use more than the pod as a whole; "" if none."""
    claimed = claim_amounts_of_container(pod, container.name)
    for name in sorted(container.resources.limits):
        if name in limits and not name.startswith(HUGE_PAGES_PREFIX):
            own = parse_nanos(container.resources.limits[name])
            if own + claimed.get(name, 0) > limits[name]:
                return name
    return ""

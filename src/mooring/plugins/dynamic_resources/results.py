"""The result of a search as a claim's AllocationResult."""

# dynamic-resource-allocation: structured/internal/incubating/allocator_incubating.go

from __future__ import annotations

import random
import uuid
from collections.abc import Container, Iterable

import msgspec
from msgspec.structs import replace

from mooring.api import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ResourceClaim
from mooring.api.quantity import Quantity
from mooring.api.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from mooring.plugins.dynamic_resources.device_requests import AllocationError, Wanted
from mooring.plugins.dynamic_resources.pools import CandidateDevice

_NAME_FIELD = "metadata.name"


class ChosenDevice(msgspec.Struct, frozen=True):
    """A device chosen for a request; if `shared`, only part of its capacity."""

    wanted: Wanted
    candidate: CandidateDevice
    shared: bool
    consumed: dict[str, Quantity]


class ClaimDevices(msgspec.Struct, frozen=True):
    """The devices chosen for a claim, and for each request the alternative that was taken."""

    claim: ResourceClaim
    chosen: tuple[ChosenDevice, ...]
    taken: tuple[Wanted, ...]

    def sub_requests(self) -> set[str]:
        """Return the alternatives ("request/alternative") that got devices."""
        return {one.wanted.name for one in self.chosen if one.wanted.sub_request}


def allocation_of(
    found: ClaimDevices,
    node_name: str,
    rng: random.Random,
    *,
    binding_conditions: bool,
    older: bool = False,
) -> AllocationResult:
    """Return the allocation of a claim on a node; with `older`, its configuration is as in 1.36."""
    results = tuple(_result(one, rng, binding_conditions) for one in found.chosen)
    config = tuple(_config(found, older))
    if not older:
        config = tuple(_without_names(one, found.taken) for one in config)
    return AllocationResult(
        devices=DeviceAllocationResult(results=results, config=config),
        node_selector=_node_selector(found, node_name),
    )


def _result(
    one: ChosenDevice, rng: random.Random, binding_conditions: bool
) -> DeviceRequestAllocationResult:
    driver, pool, name = one.candidate.id
    device = one.candidate.device
    share_id = str(uuid.UUID(int=rng.getrandbits(128), version=4)) if one.shared else None
    return DeviceRequestAllocationResult(
        request=one.wanted.name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=True if one.wanted.is_admin else None,
        tolerations=one.wanted.exactly.tolerations,
        binding_conditions=device.binding_conditions if binding_conditions else (),
        binding_failure_conditions=device.binding_failure_conditions if binding_conditions else (),
        share_id=share_id,
        consumed_capacity={key: str(quantity) for key, quantity in one.consumed.items()},
        skip_node_operations=one.candidate.slice.spec.skip_node_operations,
    )


def _without_names(
    config: DeviceAllocationConfiguration, taken: Iterable[Wanted]
) -> DeviceAllocationConfiguration:
    """Remove the names of requests from a configuration that applies to every request."""
    if all(_is_named(wanted, config.requests) for wanted in taken):
        return replace(config, requests=())
    return config


def _is_named(wanted: Wanted, requests: Container[str]) -> bool:
    """Return whether a configuration for these requests applies to a request."""
    return wanted.request in requests or wanted.name in requests


def _config(found: ClaimDevices, older: bool) -> Iterable[DeviceAllocationConfiguration]:
    """Yield the classes' configuration, each class once, then the claim's own."""
    by_class: dict[str, list[Wanted]] = {}
    for wanted in found.taken:
        by_class.setdefault(wanted.device_class.metadata.name, []).append(wanted)
    for group in by_class.values():
        requests = tuple(wanted.name for wanted in group)
        for config in group[0].device_class.spec.config:
            yield DeviceAllocationConfiguration(
                source="FromClass", requests=requests, opaque=config.opaque
            )
    for own in found.claim.spec.devices.config:
        applies = DeviceAllocationConfiguration(
            source="FromClaim", requests=own.requests, opaque=own.opaque
        )
        if not own.requests:
            yield applies
            continue
        uses = sum(_is_named(wanted, own.requests) for wanted in found.taken)
        # 1.36 repeats the configuration for every request.
        yield from [applies] * (uses if older else min(uses, 1))


def _node_selector(found: ClaimDevices, node_name: str) -> NodeSelector | None:
    """Return a selector of the nodes that reach all devices; None for all nodes."""
    labels: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for one in found.chosen:
        device, spec = one.candidate.device, one.candidate.slice.spec
        place = device if spec.per_device_node_selection else spec
        if place.node_name is not None or device.binds_to_node:
            only = NodeSelectorRequirement(key=_NAME_FIELD, operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(only,)),))
        terms = () if place.node_selector is None else place.node_selector.node_selector_terms
        if len(terms) > 1:
            raise AllocationError(
                f"create NodeSelector for claim {found.claim.metadata.name}: unsupported "
                f"ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        for term in terms:
            _add_new(term.match_fields, fields)
            _add_new(term.match_expressions, labels)
    if not labels and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(labels), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


def _add_new(more: Iterable[NodeSelectorRequirement], into: list[NodeSelectorRequirement]) -> None:
    known = {(one.key, one.operator, frozenset(one.values)) for one in into}
    for one in more:
        key = (one.key, one.operator, frozenset(one.values))
        if key not in known:
            known.add(key)
            into.append(one)

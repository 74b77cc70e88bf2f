"""Nodes."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidateNode)

from __future__ import annotations

import ipaddress

from mooring.api.field_errors import FieldError, duplicate, each, forbidden, invalid
from mooring.apiserver.validation.field_problems import Object, repeated
from mooring.apiserver.validation.formats import (
    VALID_CIDR,
    cidr_problems,
    label_key_problems,
    label_value_problems,
)
from mooring.apiserver.validation.resource_amounts import quantity_problems
from mooring.apiserver.validation.scheduling import check_effect

_CIDR_CHANGE = 'node updates may not change podCIDR except from "" to valid'
_PROVIDER_CHANGE = "field cannot be modified once set"
_PROVIDER_CLEARED = "field cannot be cleared once set"


def check_node(node: Object) -> list[FieldError]:
    """Check a new node, apart from its metadata."""
    problems = _taints(node) + _resources(node)
    cidrs = node["spec"].get("podCIDRs") or []
    for i, cidr in enumerate(cidrs):
        problems += each(f"spec.podCIDRs[{i}]", cidr, cidr_problems(cidr))
    if len(cidrs) > 1:
        families = {ipaddress.ip_network(one, strict=False).version for one in _valid(cidrs)}
        if len(families) != 2 or len(cidrs) > 2:
            why = "may specify no more than one CIDR for each IP family"
            problems.append(invalid("spec.podCIDRs", cidrs, why))
    return problems


def _valid(cidrs: list[str]) -> list[str]:
    return [one for one in cidrs if VALID_CIDR not in cidr_problems(one)]


def _taints(node: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(node["spec"].get("taints") or ()):
        where = f"metadata.taints[{i}]"
        problems += each(f"{where}.key", taint["key"], label_key_problems(taint["key"]))
        if value := taint.get("value"):
            problems += each(f"{where}.value", value, label_value_problems(value))
        problems += check_effect(taint["effect"], f"{where}.effect", empty=False)
        pair = (taint["effect"], taint["key"])
        if taint["effect"] and pair in seen:
            why = "taints must be unique by key and effect pair"
            problems.append(duplicate(where, taint, why))
        seen.add(pair)
    return problems


def _resources(node: Object) -> list[FieldError]:
    return [
        problem
        for field in ("capacity", "allocatable")
        for name, amount in (node["status"].get(field) or {}).items()
        for problem in quantity_problems(name, amount, f"status.{field}.{name}")
    ]


def check_node_update(node: Object, old: Object) -> list[FieldError]:
    """Check an update of a node, or of its status."""
    problems = _resources(node)
    addresses = node["status"].get("addresses") or ()
    for i in repeated([frozenset(address.items()) for address in addresses]):
        problems.append(duplicate(f"status.addresses[{i}]", addresses[i]))
    before = old["spec"].get("podCIDRs") or []
    if before and before != (node["spec"].get("podCIDRs") or []):
        problems.append(forbidden("spec.podCIDRs", _CIDR_CHANGE))
    provider, given = old["spec"].get("providerID"), node["spec"].get("providerID")
    if provider and provider != given:
        why = _PROVIDER_CHANGE if given else _PROVIDER_CLEARED
        problems.append(invalid("spec.providerID", None, why))
    return problems + _taints(node)

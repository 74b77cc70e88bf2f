"""Scenarios about what Kubernetes 1.37 changed for single pods, and others, drawn from a seed.

A group is a file; the same seed makes the same scenarios. Nothing in them is about a release: an
older one decides them too, if it knows the objects and gates.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from tools.recorder.scenarios import (
    device_groups,
    device_scores,
    devices,
    node_allocatable,
    pods,
    storage,
)
from tools.recorder.scenarios.objects import Object

#: The seed of the scenarios in tests/conformance/vectors.
SEED = 137

#: Per group: how many scenarios, and what makes one.
GROUPS: dict[str, tuple[int, Callable[[Random], Object]]] = {
    "changes-preemption": (16, pods.preemption),
    "sequence-changes": (4, pods.preemption_sequence),
    "changes-node-name": (15, pods.node_name),
    "changes-namespace-selector": (22, pods.namespace_selector),
    "changes-image-volumes": (13, pods.image_volumes),
    "changes-declared-features": (7, pods.declared_features),
    "changes-storage-capacity": (22, storage.storage_capacity),
    "changes-missing-driver": (18, storage.missing_driver),
    "changes-device-capacity": (18, devices.device_capacity),
    "changes-device-taints": (15, devices.device_taints),
    "changes-device-compatibility": (16, device_groups.device_compatibility),
    "sequence-device-compatibility": (18, device_groups.device_compatibility_sequence),
    "changes-derived-attributes": (20, device_groups.derived_attributes),
    "sequence-derived-attributes": (16, device_groups.derived_attributes_sequence),
    "changes-node-allocatable": (85, node_allocatable.single),
    "sequence-node-allocatable": (15, node_allocatable.sequence),
    "device-scores": (40, device_scores.single),
}


def generate(seed: int = SEED) -> dict[str, bytes]:
    """Return the lines of each group's scenarios, which have no decisions yet."""
    made = {}
    for group, (count, make) in GROUPS.items():
        lines = []
        for number in range(count):
            name = f"{group}-{number:04}"
            scenario = {"group": group, "name": name, **make(Random(f"{seed} {name}"))}
            lines.append(json.dumps({"scenario": scenario}, sort_keys=True).encode() + b"\n")
        made[group] = b"".join(lines)
    return made

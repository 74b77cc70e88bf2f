"""What pods request and may use, as the load-aware plugins count it.

A pod counts with the sum of its containers, or one init container if that needs more, plus its
overhead; sidecars are not special.
"""

# scheduler-plugins: pkg/trimaran/resourcestats.go (GetEffectiveResource)

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mooring.api import Container, Pod, ResourceList, milli_value, value
from mooring.contrib.score_ranges import wrapped


class PodAmounts(msgspec.Struct, frozen=True, gc=False):
    """Cpu, in thousandths, and memory in bytes."""

    cpu: int = 0
    memory: int = 0

    def at_least(self, other: PodAmounts) -> PodAmounts:
        """Return the larger of both, by resource."""
        return PodAmounts(max(self.cpu, other.cpu), max(self.memory, other.memory))


def pod_requests_of(pod: Pod) -> PodAmounts:
    """Return what a pod requests."""
    return _effective(pod, lambda container: container.resources.requests)


def pod_limits_of(pod: Pod) -> PodAmounts:
    """Return the limits of a pod."""
    return _effective(pod, lambda container: container.resources.limits)


def _effective(pod: Pod, amounts: Callable[[Container], ResourceList]) -> PodAmounts:
    cpu = memory = 0
    for container in pod.spec.containers:
        found = _amounts(amounts(container))
        cpu += found.cpu
        memory += found.memory
    total = PodAmounts(cpu, memory)
    for container in pod.spec.init_containers:
        total = total.at_least(_amounts(amounts(container)))
    overhead = _amounts(pod.spec.overhead)
    return PodAmounts(wrapped(total.cpu + overhead.cpu), wrapped(total.memory + overhead.memory))


def _amounts(resources: ResourceList) -> PodAmounts:
    return PodAmounts(milli_value(resources.get("cpu", 0)), value(resources.get("memory", 0)))

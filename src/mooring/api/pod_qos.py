"""The quality-of-service class of a pod.

# Kubernetes: pkg/apis/core/v1/helper/qos/qos.go
"""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api.pod import Pod
from mooring.api.quantity import ResourceList, parse_nanos

BEST_EFFORT = "BestEffort"
BURSTABLE = "Burstable"
GUARANTEED = "Guaranteed"

#: The resources that decide the class.
COUNTED = ("cpu", "memory")


def qos_class(pod: Pod) -> str:
    """Return the class that the API server recorded, else the one that the requests give."""
    if pod.status.qos_class:
        return pod.status.qos_class
    if pod.spec.resources is not None:
        return qos_of([(pod.spec.resources.requests, pod.spec.resources.limits)])
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return qos_of([(one.resources.requests, one.resources.limits) for one in containers])


def qos_of(holders: Iterable[tuple[ResourceList, ResourceList]]) -> str:
    """Return the class of the requests and limits of containers, or of a whole pod."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for asked, bounds in holders:
        _add(requests, asked)
        _add(limits, bounds)
        bounded = {name for name, text in bounds.items() if parse_nanos(text)}
        guaranteed = guaranteed and bounded.issuperset(COUNTED)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if guaranteed and requests == limits else BURSTABLE


def _add(total: dict[str, int], amounts: ResourceList) -> None:
    for name, text in amounts.items():
        amount = parse_nanos(text)
        if name in COUNTED and amount > 0:
            total[name] = total.get(name, 0) + amount

"""What a pod counts for in an ElasticQuota: one sum for the plugin and the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeVar

from mooring.api.names import PODS, is_counted
from mooring.api.quantity import Quantity, ResourceList

if TYPE_CHECKING:
    from mooring.api.pod import Pod

#: The sum of scheduler-plugins: containers, or an init container that requests more, and overhead.
CONTAINERS: Literal["Containers"] = "Containers"
#: What the scheduler counts on a node, as NodeResourcesFit does.
SCHEDULER: Literal["Scheduler"] = "Scheduler"

#: A value of the argument podRequests; None if it is not given, which means `CONTAINERS`.
PodRequestsMode = Literal["Containers", "Scheduler"] | None

AmountT = TypeVar("AmountT", int, Quantity)


def sum_of_containers(
    pod: Pod, amounts: Callable[[ResourceList], Mapping[str, AmountT]]
) -> dict[str, AmountT]:
    """Return the sum of the containers, or an init container that requests more, and overhead.

    Unlike the scheduler's own sum, a sidecar counts as an init container, and neither pod-level
    resources nor a resize in progress count. `amounts` reads a list of resources.
    """
    # scheduler-plugins: pkg/capacityscheduling/capacity_scheduling.go (computePodResourceRequest)
    total: dict[str, AmountT] = {}
    for container in pod.spec.containers:
        _add(total, amounts(container.resources.requests))
    for container in pod.spec.init_containers:
        for name, amount in amounts(container.resources.requests).items():
            if name != PODS:
                total[name] = max(total[name], amount) if name in total else amount
    _add(total, amounts(pod.spec.overhead))
    return total


def counted_amounts(requests: Mapping[str, int]) -> dict[str, int]:
    """Return the amounts of the resources that the scheduler counts on nodes."""
    return {name: amount for name, amount in requests.items() if is_counted(name)}


def _add(total: dict[str, AmountT], amounts: Mapping[str, AmountT]) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount

"""What a pod requests, as Kubernetes computes it.

Amounts are summed exactly, in billionths, and rounded once at the end: cpu to thousandths, every
other resource to whole units.
"""

# component-helpers: resource/helpers.go (PodRequests); kube-scheduler: framework/types.go
# (CalculateResource, getNonMissingContainerRequests), util/pod_resources.go

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from mooring.api.containers import Container, ContainerStatus
from mooring.api.pod import NodeAllocatableResourceClaimStatus, Pod
from mooring.api.quantity import (
    Quantity,
    QuantityText,
    ResourceList,
    milli_value_of_nanos,
    parse_nanos,
    value_of_nanos,
)

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
HUGE_PAGES_PREFIX = "hugepages-"

# kube-scheduler: util/pod_resources.go
DEFAULT_MILLI_CPU_REQUEST = 100
DEFAULT_MEMORY_REQUEST = 200 * 1024 * 1024

#: What a container without a cpu or memory request counts as in scores (milli cpu, bytes).
NON_ZERO_DEFAULTS: dict[str, int] = {
    CPU: DEFAULT_MILLI_CPU_REQUEST,
    MEMORY: DEFAULT_MEMORY_REQUEST,
}

POD_RESIZE_PENDING = "PodResizePending"
RESIZE_INFEASIBLE = "Infeasible"
RESIZE_DEFERRED = "Deferred"

_Nanos = dict[str, int]


class RequestOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a pod's requests are computed; the defaults match the default feature gates."""

    use_status_resources: bool = True
    in_place_pod_level_resources: bool = True
    skip_pod_level_resources: bool = False
    exclude_overhead: bool = False
    #: Whether to add the node resources that claims consume (DRANodeAllocatableResources).
    use_claim_status: bool = False
    #: Whether the most that a pod holds during a resize is found container by container, as in
    #: 1.36, and not for the sum of its containers. Claim statuses then have the form of 1.36 too.
    by_container: bool = False
    #: Requests for containers that have none, in the units of the result.
    non_missing: dict[str, int] = {}

    @classmethod
    def from_gates(
        cls, enabled: Callable[[str], bool], *, by_container: bool = False
    ) -> RequestOptions:
        """Return the options that the scheduler uses under these feature gates."""
        return cls(
            by_container=by_container,
            use_status_resources=enabled("InPlacePodVerticalScaling"),
            in_place_pod_level_resources=enabled("InPlacePodLevelResourcesVerticalScaling"),
            skip_pod_level_resources=not enabled("PodLevelResources"),
            use_claim_status=enabled("DRANodeAllocatableResources"),
        )


DEFAULT_OPTIONS = RequestOptions()


def is_pod_level_resource(name: str) -> bool:
    """Return whether a pod-level request of this resource counts."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


def has_pod_level_requests(pod: Pod) -> bool:
    """Return whether the pod itself, not only its containers, requests something."""
    resources = pod.spec.resources
    return resources is not None and any(map(is_pod_level_resource, resources.requests))


def is_resize_infeasible(pod: Pod) -> bool:
    """Return whether the kubelet has reported that a resize is infeasible."""
    return _resize_reason(pod) == RESIZE_INFEASIBLE


def is_resize_deferred(pod: Pod) -> bool:
    """Return whether the kubelet has put off a resize because the node has no room for it."""
    return _resize_reason(pod) == RESIZE_DEFERRED


def _resize_reason(pod: Pod) -> str:
    for condition in pod.status.conditions:
        if condition.type == POD_RESIZE_PENDING:
            return condition.reason
    return ""


def _nanos(resources: ResourceList) -> _Nanos:
    return {name: parse_nanos(quantity) for name, quantity in resources.items()}


def _add(into: _Nanos, more: _Nanos) -> None:
    for name, amount in more.items():
        into[name] = into.get(name, 0) + amount


def _raise_to(into: _Nanos, other: _Nanos) -> None:
    for name, amount in other.items():
        if name not in into or amount > into[name]:
            into[name] = amount


def _effective(
    infeasible: bool, spec: ResourceList, actuated: ResourceList, allocated: ResourceList
) -> _Nanos:
    """Return the most that a container may hold while it is being resized."""
    if infeasible:
        result = _nanos(actuated)
    else:
        result = _nanos(spec)
        _raise_to(result, _nanos(actuated))
    _raise_to(result, _nanos(allocated))
    return result


class _Statuses:
    """The container statuses of a pod, from which actual requests are computed."""

    def __init__(self, pod: Pod) -> None:
        status = pod.status
        self._infeasible = is_resize_infeasible(pod)
        self._by_name: dict[str, ContainerStatus] = {}
        for container_status in (*status.container_statuses, *status.init_container_statuses):
            self._by_name[container_status.name] = container_status

    def requests(self, container: Container) -> _Nanos:
        status = self._by_name.get(container.name)
        spec = container.resources.requests
        if status is None or status.resources is None:
            return _nanos(spec)
        return _effective(
            self._infeasible, spec, status.resources.requests, status.allocated_resources
        )

    def allocated(self, container: Container) -> _Nanos:
        """Return what the kubelet has admitted for a container."""
        status = self._by_name.get(container.name)
        if status is not None and status.allocated_resources:
            return _nanos(status.allocated_resources)
        return {} if self._infeasible else _from_spec(container)

    def actuated(self, container: Container) -> _Nanos:
        """Return what a container is configured with."""
        status = self._by_name.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests:
            return _nanos(status.resources.requests)
        return self.allocated(container)


def _from_spec(container: Container) -> _Nanos:
    return _nanos(container.resources.requests)


def _sum_of_specs(containers: Iterable[Container]) -> _Nanos:
    """Sum the requests of containers without a dict for each: there may be thousands."""
    total: _Nanos = {}
    get = total.get
    for container in containers:
        for name, quantity in container.resources.requests.items():
            total[name] = get(name, 0) + parse_nanos(quantity)
    return total


def _aggregate(pod: Pod, amounts: Callable[[Container, bool], _Nanos]) -> _Nanos:
    """Sum over containers and sidecars, but at least the peak while init containers run."""
    spec = pod.spec
    total: _Nanos = {}
    for container in spec.containers:
        _add(total, amounts(container, False))
    if spec.init_containers:
        sidecars: _Nanos = {}
        peak: _Nanos = {}
        for container in spec.init_containers:
            own = amounts(container, True)
            if container.is_sidecar:
                _add(total, own)
                _add(sidecars, own)
                own = {name: sidecars[name] for name in own}
            else:
                own = {name: amount + sidecars.get(name, 0) for name, amount in own.items()}
            # Other resources of earlier sidecars need no addition here: the peak has held them
            # since those sidecars were added.
            _raise_to(peak, own)
        _raise_to(total, peak)
    return total


def container_limits(pod: Pod, *, use_claim_status: bool = False) -> _Nanos:
    """Return the sum of the containers' limits in the spec, in billionths.

    With `use_claim_status`, the amounts that the pod's claims consume are added for huge pages and
    for the resources that have a limit.
    """
    total = _aggregate(pod, lambda container, _: _nanos(container.resources.limits))
    if use_claim_status:
        for name, amount in _claim_amounts(pod).items():
            if name in total or name.startswith(HUGE_PAGES_PREFIX):
                total[name] = total.get(name, 0) + amount
    return total


def container_requests(
    pod: Pod, options: RequestOptions = DEFAULT_OPTIONS, missing: _Nanos | None = None
) -> _Nanos:
    """Return the sum of the containers' requests, in billionths.

    `missing`, in billionths, is used for resources that a container does not request.
    """
    if options.by_container:
        return _requests_by_container(pod, options, missing)
    if not options.use_status_resources or not _is_resized(pod):
        return _requests_in_spec(pod, options, missing)
    status, infeasible = pod.status, is_resize_infeasible(pod)
    total = {} if infeasible else _requests_in_spec(pod, options, missing)
    actual = status.resources
    if (
        options.in_place_pod_level_resources
        and status.allocated_resources
        and actual is not None
        and actual.requests
    ):
        # The kubelet has summed them up.
        _raise_to(total, _nanos(actual.requests))
        _raise_to(total, _nanos(status.allocated_resources))
        return total
    statuses = _Statuses(pod)
    _raise_to(total, _aggregate(pod, _or_missing(statuses.actuated, missing)))
    allocated = _aggregate(pod, _or_missing(statuses.allocated, missing))
    _add_claims(allocated, pod, options)
    _raise_to(total, allocated)
    return total


def _requests_in_spec(pod: Pod, options: RequestOptions, missing: _Nanos | None) -> _Nanos:
    if not missing and not pod.spec.init_containers and not options.use_claim_status:
        return _sum_of_specs(pod.spec.containers)
    total = _aggregate(pod, _or_missing(_from_spec, missing))
    _add_claims(total, pod, options)
    return total


def _requests_by_container(pod: Pod, options: RequestOptions, missing: _Nanos | None) -> _Nanos:
    """Return the requests as 1.36 sums them up."""
    status = pod.status
    if not options.use_status_resources or not (
        status.container_statuses or status.init_container_statuses
    ):
        return _requests_in_spec(pod, options, missing)
    actual = _Statuses(pod).requests

    def requests(container: Container, init: bool) -> _Nanos:
        own = actual(container) if not init or container.is_sidecar else _from_spec(container)
        return {**missing, **own} if missing else own

    total = _aggregate(pod, requests)
    _add_claims(total, pod, options)
    return total


def _is_resized(pod: Pod) -> bool:
    """Return whether the pod's status says other amounts than its spec."""
    status = pod.status
    if status.resources is not None or status.allocated_resources:
        return True
    if is_resize_infeasible(pod):
        return True
    statuses = status.container_statuses or status.init_container_statuses
    # A pod without a node has no statuses of containers.
    return bool(statuses) and any(
        one.allocated_resources or (one.resources is not None and one.resources.requests)
        for one in (*status.container_statuses, *status.init_container_statuses)
    )


def _or_missing(
    amounts: Callable[[Container], _Nanos], missing: _Nanos | None
) -> Callable[[Container, bool], _Nanos]:
    if missing:
        return lambda container, _: {**missing, **amounts(container)}
    return lambda container, _: amounts(container)


def _add_claims(total: _Nanos, pod: Pod, options: RequestOptions) -> None:
    if not options.use_claim_status:
        return
    if options.by_container:
        for claim in pod.status.node_allocatable_resource_claim_statuses:
            _add(total, _nanos(claim.resources))
    else:
        _add(total, _claim_amounts(pod))


def _claim_amounts(pod: Pod) -> _Nanos:
    """Return the node resources that the pod's claims consume."""
    total: _Nanos = {}
    for claim in pod.status.node_allocatable_resource_claim_statuses:
        _add_claim(total, claim, len(claim.containers))
    return total


def claim_amounts_of_container(pod: Pod, name: str) -> dict[str, int]:
    """Return the node resources that the claims of one container consume, in billionths."""
    total: _Nanos = {}
    for claim in pod.status.node_allocatable_resource_claim_statuses:
        if name in claim.containers:
            _add_claim(total, claim, 1)
    return total


def _add_claim(total: _Nanos, claim: NodeAllocatableResourceClaimStatus, containers: int) -> None:
    """Add the node resources that a claim consumes if this many containers use it."""
    for mapped in claim.mapping:
        if mapped.quantity is not None:
            _add(total, {mapped.name: parse_nanos(mapped.quantity)})
    for overhead in claim.overhead:
        amount = parse_nanos(overhead.per_pod or 0)
        amount += containers * parse_nanos(overhead.per_container or 0)
        _add(total, {overhead.name: amount})


def _pod_level_requests(pod: Pod, options: RequestOptions) -> _Nanos:
    resources, actual = pod.spec.resources, pod.status.resources
    assert resources is not None
    requests = {
        name: parse_nanos(quantity)
        for name, quantity in resources.requests.items()
        if is_pod_level_resource(name)
    }
    if options.in_place_pod_level_resources and options.use_status_resources and actual is not None:
        effective = _effective(
            is_resize_infeasible(pod),
            resources.requests,
            actual.requests,
            pod.status.allocated_resources,
        )
        if not options.by_container:
            return {
                name: amount for name, amount in effective.items() if is_pod_level_resource(name)
            }
        return {name: effective.get(name, 0) for name in requests}
    return requests


def _pod_nanos(pod: Pod, options: RequestOptions, missing: _Nanos) -> _Nanos:
    total = container_requests(pod, options, missing)
    if not options.skip_pod_level_resources and has_pod_level_requests(pod):
        total.update(_pod_level_requests(pod, options))
    if pod.spec.overhead and not options.exclude_overhead:
        _add(total, _nanos(pod.spec.overhead))
    return total


def _to_nanos(amounts: dict[str, int]) -> _Nanos:
    return {
        name: amount * (1_000_000 if name == CPU else 1_000_000_000)
        for name, amount in amounts.items()
    }


def _rounded(nanos: _Nanos) -> dict[str, int]:
    return {
        name: milli_value_of_nanos(amount) if name == CPU else value_of_nanos(amount)
        for name, amount in nanos.items()
    }


def is_bytes(resource: str) -> bool:
    """Return whether amounts of a resource are bytes."""
    return resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGE_PAGES_PREFIX)


def quantity_of(resource: str, amount: int) -> Quantity:
    """Return an amount of `pod_requests` as a quantity.

    >>> str(quantity_of("cpu", 1500)), str(quantity_of("memory", 2**30))
    ('1500m', '1Gi')
    """
    if resource == CPU:
        return Quantity.from_milli(amount)
    return Quantity.from_nanos(amount * 10**9, "BinarySI" if is_bytes(resource) else "DecimalSI")


def pod_requests(pod: Pod, options: RequestOptions = DEFAULT_OPTIONS) -> dict[str, int]:
    """Return what a pod requests: cpu in thousandths, every other resource in whole units.

    Every resource that is named appears, even with amount 0 and even if the scheduler does not
    count it; see `mooring.api.names.is_scalar_resource`.
    """
    return _rounded(_pod_nanos(pod, options, _to_nanos(options.non_missing)))


_NON_ZERO_NANOS = _to_nanos(NON_ZERO_DEFAULTS)


def pod_non_zero_requests(pod: Pod, options: RequestOptions = DEFAULT_OPTIONS) -> tuple[int, int]:
    """Return (milli cpu, bytes of memory) with 100m and 200Mi for containers that request none."""
    pod_level = not options.skip_pod_level_resources and has_pod_level_requests(pod)
    missing = _NON_ZERO_NANOS
    if pod_level:
        requests = _pod_nanos(pod, options, {})
        missing = {name: n for name, n in _NON_ZERO_NANOS.items() if name not in requests}
    requests = _pod_nanos(pod, options, missing)
    return milli_value_of_nanos(requests.get(CPU, 0)), value_of_nanos(requests.get(MEMORY, 0))


def pod_and_non_zero_requests(
    pod: Pod, options: RequestOptions = DEFAULT_OPTIONS
) -> tuple[dict[str, int], tuple[int, int]]:
    """Return what `pod_requests` and `pod_non_zero_requests` do, for most pods in one sum."""
    if (requests := _only_requests(pod, options)) is not None:
        amounts, non_zero = _amounts_of_container(tuple(requests.items()))
        return dict(amounts), non_zero
    nanos = _pod_nanos(pod, options, {})
    if options.use_status_resources and not options.by_container and _is_resized(pod):
        return _rounded(nanos), pod_non_zero_requests(pod, options)
    spec = pod.spec
    cpu, memory = _count_missing(spec.containers)
    if not cpu and not memory and not any(_count_missing(spec.init_containers)):
        pass
    elif (
        spec.init_containers
        or spec.resources is not None
        or pod.status.container_statuses
        or options.non_missing
    ):
        return _rounded(nanos), pod_non_zero_requests(pod, options)
    return _rounded(nanos), (
        milli_value_of_nanos(nanos.get(CPU, 0) + cpu * _NON_ZERO_NANOS[CPU]),
        value_of_nanos(nanos.get(MEMORY, 0) + memory * _NON_ZERO_NANOS[MEMORY]),
    )


#: How many requests a cached container may have; it bounds the memory of the cache.
_MOST_CACHED = 8


def _only_requests(pod: Pod, options: RequestOptions) -> ResourceList | None:
    """Return the requests of a pod's only container if nothing else counts; None otherwise."""
    spec, status = pod.spec, pod.status
    if (
        len(spec.containers) != 1
        or spec.init_containers
        or spec.resources is not None
        or spec.overhead
        or status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or status.allocated_resources
        or options.use_claim_status
        or options.non_missing
        or (status.conditions and is_resize_infeasible(pod))
    ):
        return None
    requests = spec.containers[0].resources.requests
    return requests if len(requests) <= _MOST_CACHED else None


@lru_cache(maxsize=4096)
def _amounts_of_container(
    requests: tuple[tuple[str, QuantityText], ...],
) -> tuple[dict[str, int], tuple[int, int]]:
    """Return requests and non-zero requests of a container; cached for pods of one template."""
    nanos = {name: parse_nanos(quantity) for name, quantity in requests}
    non_zero = {**_NON_ZERO_NANOS, **nanos}
    return _rounded(nanos), (
        milli_value_of_nanos(non_zero[CPU]),
        value_of_nanos(non_zero[MEMORY]),
    )


def _count_missing(containers: Iterable[Container]) -> tuple[int, int]:
    """Return how many containers request no cpu, and how many no memory."""
    cpu = memory = 0
    for container in containers:
        requests = container.resources.requests
        cpu += CPU not in requests
        memory += MEMORY not in requests
    return cpu, memory

"""The quotas of all namespaces and what their pods use.

# scheduler-plugins: pkg/capacityscheduling/elasticquota.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mooring.api import ElasticQuota, Pod, ResourceList, is_counted, milli_value, value
from mooring.api.quota_requests import sum_of_containers

#: Amounts by resource: cpu in thousandths, everything else in whole units.
Amounts = dict[str, int]

_CPU = "cpu"
_PODS = "pods"
#: Resources of which a bound that does not list them allows nothing.
_NATIVE = (_CPU, "memory", "ephemeral-storage", _PODS)
#: A bound that nothing exceeds: the largest amount that Kubernetes can count.
UNLIMITED = 2**63 - 1


def read_amounts(resources: ResourceList) -> Amounts:
    """Return the resources that the scheduler counts, in its units; others are ignored."""
    return {
        name: milli_value(text) if name == _CPU else value(text)
        for name, text in resources.items()
        if name == _PODS or is_counted(name)
    }


def pod_request(pod: Pod) -> Amounts:
    """Return what a pod counts for by the original's sum."""
    return sum_of_containers(pod, read_amounts)


def exceeds(amounts: Mapping[str, int], more: Mapping[str, int], bound: QuotaBound) -> bool:
    """Return whether two amounts together exceed a bound.

    Of the resources besides cpu, memory, ephemeral-storage and pods, only those in the first
    amounts are compared.
    """
    limits = bound.limits
    for name in _NATIVE:
        if amounts.get(name, 0) + more.get(name, 0) > limits.get(name, 0):
            return True
    return any(
        amount + more.get(name, 0) > limits.get(name, bound.otherwise)
        for name, amount in amounts.items()
        if name not in _NATIVE
    )


class QuotaBound:
    """The lower or upper bound of a quota."""

    __slots__ = ("limits", "otherwise")

    def __init__(self, limits: Amounts, otherwise: int) -> None:
        self.limits = limits
        #: The limit of an extended resource that is not listed.
        self.otherwise = otherwise

    @classmethod
    def lower(cls, resources: ResourceList | None) -> QuotaBound:
        """Return what a namespace is guaranteed; without a list, nothing."""
        return cls(read_amounts(resources or {}), 0)

    @classmethod
    def upper(cls, resources: ResourceList | None) -> QuotaBound:
        """Return what a namespace may use at most; without a list, everything."""
        if resources is None:
            return cls({name: UNLIMITED for name in _NATIVE if name != _PODS}, UNLIMITED)
        return cls(read_amounts(resources), UNLIMITED)


_NOTHING: Amounts = {}


class Quota:
    """The quota of one namespace, and the pods that count for it."""

    __slots__ = ("max", "min", "namespace", "pods", "used")

    def __init__(self, quota: ElasticQuota) -> None:
        self.namespace = quota.metadata.namespace
        self.min = QuotaBound.lower(quota.spec.min)
        self.max = QuotaBound.upper(quota.spec.max)
        #: What each pod counts for, by uid.
        self.pods: dict[str, Amounts] = {}
        self.used: Amounts = {}


class Quotas:
    """The quotas by namespace, of which each has at most one. Owned by the plugin.

    `request_of` returns what a pod counts for.
    """

    def __init__(self, request_of: Callable[[Pod], Amounts] = pod_request) -> None:
        self.request_of = request_of
        self._quotas: dict[str, Quota] = {}
        #: The sums over all quotas.
        self.used: Amounts = {}
        self.min = QuotaBound({}, 0)

    def __contains__(self, namespace: object) -> bool:
        return namespace in self._quotas

    def __iter__(self) -> Iterator[Quota]:
        return iter(self._quotas.values())

    def get(self, namespace: str) -> Quota | None:
        """Return the quota of a namespace, or None."""
        return self._quotas.get(namespace)

    def put(self, quota: Quota) -> None:
        """Add a quota, or change the bounds of its namespace; the pods that count stay."""
        old = self.delete(quota.namespace)
        if old is not None:
            quota.pods, quota.used = old.pods, old.used
        self._quotas[quota.namespace] = quota
        add_amounts(self.used, quota.used)
        add_amounts(self.min.limits, quota.min.limits)

    def delete(self, namespace: str) -> Quota | None:
        """Remove the quota of a namespace and return it."""
        quota = self._quotas.pop(namespace, None)
        if quota is not None:
            subtract_amounts(self.used, quota.used)
            subtract_amounts(self.min.limits, quota.min.limits)
        return quota

    def add_pod(self, pod: Pod) -> None:
        """Count a pod, once, if its namespace has a quota."""
        quota = self._quotas.get(pod.metadata.namespace)
        if quota is not None:
            self._take(quota, pod)
            request = quota.pods[pod.metadata.uid] = self.request_of(pod)
            add_amounts(quota.used, request)
            add_amounts(self.used, request)

    def change_pod(self, pod: Pod) -> None:
        """Count a pod with what it requests now, if it counts."""
        quota = self._quotas.get(pod.metadata.namespace)
        if quota is not None and pod.metadata.uid in quota.pods:
            self.add_pod(pod)

    def remove_pod(self, pod: Pod) -> None:
        """Stop counting a pod, if it counts."""
        quota = self._quotas.get(pod.metadata.namespace)
        if quota is not None:
            self._take(quota, pod)

    def _take(self, quota: Quota, pod: Pod) -> None:
        request = quota.pods.pop(pod.metadata.uid, None)
        if request is not None:
            subtract_amounts(quota.used, request)
            subtract_amounts(self.used, request)


class QuotaView:
    """The quotas as one attempt sees them; pods can be added and removed on trial.

    It copies nothing until something changes: there may be hundreds of quotas with thousands of
    pods each, and most attempts preempt nothing.
    """

    __slots__ = ("_changed", "_moved", "_quotas", "_used")

    #: Only the scheduling cycle reads it.
    cycle_only = True

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._used = quotas.used
        #: What the namespaces use in which something has changed.
        self._changed: dict[str, Amounts] = {}
        #: Pods on trial by uid: what one that was added counts for, None if it was removed.
        self._moved: dict[str, Amounts | None] = {}

    def clone(self) -> QuotaView:
        """Return a copy for a dry run."""
        other = QuotaView(self._quotas)
        other._used = self._used
        other._changed = {namespace: dict(used) for namespace, used in self._changed.items()}
        other._moved = dict(self._moved)
        if self._moved:
            other._used = dict(self._used)
        return other

    def get(self, namespace: str) -> Quota | None:
        """Return the quota of a namespace, or None; its `used` is that without trials."""
        return self._quotas.get(namespace)

    def over_min(self, quota: Quota) -> bool:
        """Return whether a namespace uses more than it is guaranteed."""
        return exceeds(self._used_by(quota), _NOTHING, quota.min)

    def over_min_with(self, quota: Quota, request: Mapping[str, int]) -> bool:
        """Return whether a namespace would use more than it is guaranteed."""
        return exceeds(request, self._used_by(quota), quota.min)

    def over_max_with(self, quota: Quota, request: Mapping[str, int]) -> bool:
        """Return whether a namespace would use more than it may."""
        return exceeds(request, self._used_by(quota), quota.max)

    def total_over_min_with(self, request: Mapping[str, int]) -> bool:
        """Return whether all namespaces together would use more than all are guaranteed."""
        limits, used = self._quotas.min.limits, self._used
        return any(
            used.get(name, 0) + request.get(name, 0) > limits.get(name, 0)
            for name in (*_NATIVE, *used, *request)
        )

    def _used_by(self, quota: Quota) -> Amounts:
        return self._changed.get(quota.namespace, quota.used)

    def add_pod(self, pod: Pod) -> None:
        """Count a pod on trial, if its namespace has a quota and it does not count yet."""
        quota = self._quotas.get(pod.metadata.namespace)
        if quota is not None and self._request(quota, pod) is None:
            # A pod that was removed on trial counts for what it was counted for.
            request = quota.pods.get(pod.metadata.uid)
            if request is None:
                request = self._quotas.request_of(pod)
            self._change(quota, pod, request)
            add_amounts(self._changed[quota.namespace], request)
            add_amounts(self._used, request)

    def remove_pod(self, pod: Pod) -> None:
        """Stop counting a pod on trial."""
        quota = self._quotas.get(pod.metadata.namespace)
        request = None if quota is None else self._request(quota, pod)
        if quota is not None and request is not None:
            self._change(quota, pod, None)
            subtract_amounts(self._changed[quota.namespace], request)
            subtract_amounts(self._used, request)

    def _request(self, quota: Quota, pod: Pod) -> Amounts | None:
        uid = pod.metadata.uid
        return self._moved[uid] if uid in self._moved else quota.pods.get(uid)

    def _change(self, quota: Quota, pod: Pod, request: Amounts | None) -> None:
        if not self._moved:
            self._used = dict(self._used)
        self._moved[pod.metadata.uid] = request
        if quota.namespace not in self._changed:
            self._changed[quota.namespace] = dict(quota.used)


def add_amounts(into: Amounts, amounts: Mapping[str, int]) -> None:
    """Add amounts to others, in place."""
    for name, amount in amounts.items():
        into[name] = into.get(name, 0) + amount


def subtract_amounts(into: Amounts, amounts: Mapping[str, int]) -> None:
    """Subtract amounts from others, in place."""
    for name, amount in amounts.items():
        into[name] = into.get(name, 0) - amount

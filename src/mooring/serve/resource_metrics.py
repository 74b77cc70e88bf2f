"""/metrics/resources: the requests and limits of every pod."""

# kube-scheduler: pkg/scheduler/metrics/resources/resources.go

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.metrics_core import GaugeMetricFamily

from mooring.api import Pod
from mooring.api.pod_resource_requests import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGE_PAGES_PREFIX,
    MEMORY,
    RequestOptions,
    container_limits,
    container_requests,
    is_pod_level_resource,
)
from mooring.api.quantity import parse_nanos
from mooring.observe.exposition import expose

_LABELS = ("namespace", "node", "pod", "priority", "resource", "scheduler", "unit")
_HELP = (
    "broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod "
    "for resources along with the unit for the resource if any."
)
_BYTES = frozenset((MEMORY, EPHEMERAL_STORAGE, "storage"))
# The amounts in the spec, not those that the kubelet has allocated.
_OPTIONS = RequestOptions(use_status_resources=False, in_place_pod_level_resources=False)


def expose_resources(pods: Iterable[Pod]) -> bytes:
    """Return the body of /metrics/resources for these pods; finished pods are left out."""
    requests = GaugeMetricFamily(
        "kube_pod_resource_request",
        f"[STABLE] Resources requested by workloads on the cluster, {_HELP}",
        labels=_LABELS,
    )
    limits = GaugeMetricFamily(
        "kube_pod_resource_limit",
        f"[STABLE] Resources limit for workloads on the cluster, {_HELP}",
        labels=_LABELS,
    )
    for pod in sorted(pods, key=_place):
        if pod.spec.node_name and pod.status.phase in ("Succeeded", "Failed"):
            continue
        _add(requests, pod, _requests(pod))
        _add(limits, pod, _limits(pod))
    return expose((requests, limits))


def _place(pod: Pod) -> tuple[str, str, str]:
    return pod.metadata.namespace, pod.spec.node_name or "", pod.metadata.name


def _add(family: GaugeMetricFamily, pod: Pod, amounts: dict[str, int]) -> None:
    spec, priority = pod.spec, pod.spec.priority
    before = [
        pod.metadata.namespace,
        spec.node_name or "",
        pod.metadata.name,
        "" if priority is None else str(priority),
    ]
    for name, nanos in sorted(amounts.items()):
        if nanos:
            family.add_metric([*before, name, spec.scheduler_name, _unit(name)], nanos / 1e9)


def _unit(name: str) -> str:
    if name == CPU:
        return "cores"
    if name in _BYTES or name.startswith(HUGE_PAGES_PREFIX):
        return "bytes"
    return "integer" if name.startswith("attachable-volumes-") else ""


def _requests(pod: Pod) -> dict[str, int]:
    total = container_requests(pod, _OPTIONS)
    if pod.spec.resources is not None:
        total.update(_pod_level(pod.spec.resources.requests))
    for name, quantity in pod.spec.overhead.items():
        total[name] = total.get(name, 0) + parse_nanos(quantity)
    return total


def _limits(pod: Pod) -> dict[str, int]:
    total = container_limits(pod)
    if pod.spec.resources is not None:
        total.update(_pod_level(pod.spec.resources.limits))
    for name, quantity in pod.spec.overhead.items():
        if total.get(name):
            total[name] += parse_nanos(quantity)
    return total


def _pod_level(amounts: dict[str, str | int | float]) -> dict[str, int]:
    return {
        name: parse_nanos(quantity)
        for name, quantity in amounts.items()
        if is_pod_level_resource(name)
    }

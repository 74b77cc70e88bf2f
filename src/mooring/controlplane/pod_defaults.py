"""The defaults that the API server sets when a pod is created."""

# kubernetes: pkg/apis/core/v1/defaults.go (SetDefaults_Pod), pkg/registry/core/pod/strategy.go,
# plugin/pkg/admission/priority/admission.go

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.api.containers import Container, ContainerPort, ResourceRequirements
from mooring.api.meta import Condition, LabelSelector, LabelSelectorRequirement
from mooring.api.pod import Pod, PodSpec
from mooring.api.pod_resource_requests import (
    HUGE_PAGES_PREFIX,
    RequestOptions,
    container_limits,
    container_requests,
    is_pod_level_resource,
)
from mooring.api.quantity import Format, Quantity, QuantityText, ResourceList, parse_nanos
from mooring.api.scheduling import (
    Affinity,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from mooring.api.workload_pod_group import (
    DisruptionMode,
    SchedulingGroup,
    SingleDisruptionMode,
)
from mooring.api.workloads import PriorityClass
from mooring.controlplane.field_defaults import CONTAINER_PORT, POD_SPEC, filled
from mooring.controlplane.priority_classes import (
    PREEMPT_LOWER_PRIORITY,
    default_priority_class,
    no_priority_class,
)
from mooring.errors import ObjectError

Object = dict[str, Any]

#: The condition of a new pod with scheduling gates.
GATED_CONDITION = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}

T = TypeVar("T")

_NANOS_PER_MILLI = 1_000_000
_SPEC_ONLY = RequestOptions(use_status_resources=False)


def default_pod(pod: Pod, priority_classes: Mapping[str, PriorityClass]) -> Pod:
    """Return a pod as the API server would store it."""
    spec = pod.spec
    spec = replace(
        filled(spec, POD_SPEC),
        containers=tuple(_container(c, spec.host_network) for c in spec.containers),
        init_containers=tuple(_container(c, spec.host_network) for c in spec.init_containers),
        overhead=rounded(spec.overhead),
        affinity=_affinity(spec.affinity, pod.labels),
        topology_spread_constraints=tuple(
            _constraint(constraint, pod.labels) for constraint in spec.topology_spread_constraints
        ),
    )
    spec = _priority(spec, priority_classes)
    pod = replace(pod, spec=_pod_level(replace(pod, spec=spec)))
    return _status(pod)


def rounded(resources: ResourceList) -> ResourceList:
    """Round amounts finer than a thousandth up, as the API server does before storing them."""
    if all(parse_nanos(quantity) % _NANOS_PER_MILLI == 0 for quantity in resources.values()):
        return resources
    return {name: _round(quantity) for name, quantity in resources.items()}


def _round(text: QuantityText) -> QuantityText:
    quantity = Quantity(text)
    return str(Quantity.from_nanos(quantity.milli_value() * _NANOS_PER_MILLI, quantity.format))


def _container(container: Container, host_network: bool) -> Container:
    resources = container.resources
    limits = rounded(resources.limits)
    requests = with_limits(rounded(resources.requests), limits)
    return replace(
        container,
        resources=replace(resources, limits=limits, requests=requests),
        ports=tuple(_port(port, host_network) for port in container.ports),
    )


def with_limits(requests: Mapping[str, T], limits: Mapping[str, T]) -> dict[str, T]:
    """Return the requests of a container, which are its limits where it has none."""
    return {**requests, **{name: limits[name] for name in limits if name not in requests}}


def _port(port: ContainerPort, host_network: bool) -> ContainerPort:
    port = filled(port, CONTAINER_PORT)
    host_port = port.host_port or (port.container_port if host_network else 0)
    return port if host_port == port.host_port else replace(port, host_port=host_port)


def _pod_level(pod: Pod) -> PodSpec:
    """Complete pod-level requests from the containers' requests and the pod's limits."""
    resources = pod.spec.resources
    if resources is None or not (resources.limits or resources.requests):
        return pod.spec
    limits = dict(rounded(resources.limits))
    requests = dict(rounded(resources.requests))
    for name, nanos in container_limits(pod).items():
        if name.startswith(HUGE_PAGES_PREFIX) and name not in requests:
            limits.setdefault(name, str(Quantity.from_nanos(nanos, "BinarySI")))
    if limits:
        for name, nanos in container_requests(pod, _SPEC_ONLY).items():
            if is_pod_level_resource(name) and not name.startswith(HUGE_PAGES_PREFIX):
                requests.setdefault(name, str(Quantity.from_nanos(nanos, _format(pod, name))))
        for name, limit in limits.items():
            if is_pod_level_resource(name):
                requests.setdefault(name, limit)
    return replace(
        pod.spec,
        resources=ResourceRequirements(limits=limits, requests=requests, claims=resources.claims),
    )


def _format(pod: Pod, name: str) -> Format:
    """Return the format of the first container's request; a sum is printed in that format."""
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        if name in container.resources.requests:
            return Quantity(container.resources.requests[name]).format
    return "DecimalSI"


def default_pod_group(
    group: SchedulingGroup, priority_classes: Mapping[str, PriorityClass]
) -> SchedulingGroup:
    """Return a group, of pods or of groups, with its priority and disruption mode; raise
    ObjectError if its PriorityClass is unknown."""
    spec, name = group.spec, group.spec.priority_class_name
    found = priority_classes.get(name) if name else _default_class(priority_classes)
    if spec.priority is None:
        if name and found is None:
            raise ObjectError(
                f"{group.kind} {group.key}: {no_priority_class(name)}",
                path="spec.priorityClassName",
            )
        spec = replace(spec, priority=0 if found is None else found.value)
    if spec.disruption_mode is None:
        spec = replace(spec, disruption_mode=DisruptionMode(single=SingleDisruptionMode()))
    return replace(group, spec=spec)


def _priority(spec: PodSpec, classes: Mapping[str, PriorityClass]) -> PodSpec:
    name = spec.priority_class_name
    found = classes.get(name) if name else _default_class(classes)
    policy = PREEMPT_LOWER_PRIORITY if found is None else found.preemption_policy
    policy = spec.preemption_policy or policy or PREEMPT_LOWER_PRIORITY
    if spec.priority is not None:
        # The API server has computed it already, perhaps from a class that is not in `classes`.
        return replace(spec, preemption_policy=policy)
    if found is not None:
        return replace(
            spec,
            priority_class_name=found.name,
            priority=found.value,
            preemption_policy=policy,
        )
    if name:
        raise ObjectError(no_priority_class(name), path="spec.priorityClassName")
    return replace(spec, priority=0, preemption_policy=policy)


def _default_class(classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    return default_priority_class((c, c.global_default, c.value) for c in classes.values())


def label_requirements(
    keys: Iterable[str], operator: str, labels: Mapping[str, str]
) -> list[Object]:
    """Return requirements that pods have (In) or lack (NotIn) a pod's own values of labels.

    The API server adds them to selectors beside `matchLabelKeys` and `mismatchLabelKeys`.
    """
    # kubernetes: pkg/registry/core/pod/strategy.go
    return [
        {"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels
    ]


def _merge(
    selector: LabelSelector | None, keys: Iterable[str], operator: str, labels: Mapping[str, str]
) -> LabelSelector | None:
    if selector is None:
        return None
    found = label_requirements(keys, operator, labels)
    merged = msgspec.convert(found, tuple[LabelSelectorRequirement, ...])
    # If the object came from a server, they are merged already.
    merged = tuple(r for r in merged if r not in selector.match_expressions)
    if not merged:
        return selector
    return replace(selector, match_expressions=selector.match_expressions + merged)


def _constraint(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str]
) -> TopologySpreadConstraint:
    selector = _merge(constraint.label_selector, constraint.match_label_keys, "In", labels)
    return replace(constraint, label_selector=selector)


def _term(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    selector = _merge(term.label_selector, term.match_label_keys, "In", labels)
    selector = _merge(selector, term.mismatch_label_keys, "NotIn", labels)
    return replace(term, label_selector=selector)


def _weighted(term: WeightedPodAffinityTerm, labels: Mapping[str, str]) -> WeightedPodAffinityTerm:
    return replace(term, pod_affinity_term=_term(term.pod_affinity_term, labels))


_Terms = TypeVar("_Terms", PodAffinity, PodAntiAffinity)


def _terms(terms: _Terms, labels: Mapping[str, str]) -> _Terms:
    required = terms.required_during_scheduling_ignored_during_execution
    preferred = terms.preferred_during_scheduling_ignored_during_execution
    return replace(
        terms,
        required_during_scheduling_ignored_during_execution=tuple(
            _term(term, labels) for term in required
        ),
        preferred_during_scheduling_ignored_during_execution=tuple(
            _weighted(term, labels) for term in preferred
        ),
    )


def _affinity(affinity: Affinity | None, labels: Mapping[str, str]) -> Affinity | None:
    if affinity is None:
        return None
    toward, away = affinity.pod_affinity, affinity.pod_anti_affinity
    if toward is not None:
        toward = _terms(toward, labels)
    if away is not None:
        away = _terms(away, labels)
    return replace(affinity, pod_affinity=toward, pod_anti_affinity=away)


def _status(pod: Pod) -> Pod:
    status = pod.status
    conditions = status.conditions
    if pod.spec.scheduling_gates and not any(c.type == "PodScheduled" for c in conditions):
        conditions += (msgspec.convert(GATED_CONDITION, Condition),)
    return replace(
        pod, status=replace(status, phase=status.phase or "Pending", conditions=conditions)
    )

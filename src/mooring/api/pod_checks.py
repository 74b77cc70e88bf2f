"""Validation errors for which the API server would refuse a pod.

Only what affects placement is checked: a requirement with a misspelt operator would otherwise match
nothing, silently.
"""

# kubernetes: pkg/apis/core/validation/validation.go

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mooring.api.field_errors import FieldError, each, forbidden, invalid, not_supported, required
from mooring.api.labels import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NOT_IN,
    OPERATORS,
    Selector,
)
from mooring.api.meta import LabelSelector
from mooring.api.names import label_key_problems
from mooring.api.pod import Pod
from mooring.api.scheduling import (
    NodeAffinity,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    Toleration,
    TopologySpreadConstraint,
)
from mooring.errors import ObjectError

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_TOLERATION_OPERATORS = ("Equal", "Exists", "Gt", "Lt")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SCHEDULE_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION_POLICIES = ("Honor", "Ignore")

_NOT_POSITIVE = "must be greater than zero"
_WEIGHT_RANGE = "must be in the range 1-100"


def pod_problems(pod: Pod) -> list[FieldError]:
    """Return what is wrong with a pod's requirements."""
    spec = pod.spec
    problems = [
        problem
        for i, toleration in enumerate(spec.tolerations)
        for problem in _toleration(toleration, f"spec.tolerations[{i}]")
    ]
    for i, constraint in enumerate(spec.topology_spread_constraints):
        problems += _constraint(constraint, f"spec.topologySpreadConstraints[{i}]")
    affinity = spec.affinity
    if affinity is not None:
        if affinity.node_affinity is not None:
            problems += _node_affinity(affinity.node_affinity, "spec.affinity.nodeAffinity")
        if affinity.pod_affinity is not None:
            problems += _pod_affinity(affinity.pod_affinity, "spec.affinity.podAffinity")
        if affinity.pod_anti_affinity is not None:
            problems += _pod_affinity(affinity.pod_anti_affinity, "spec.affinity.podAntiAffinity")
    return problems


def _toleration(toleration: Toleration, path: str) -> Iterator[FieldError]:
    operator = toleration.operator
    if not toleration.key and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and '
        yield invalid(f"{path}.operator", operator, why + 'all keys"')
    if operator == "Exists" and toleration.value:
        why = "value must be empty when `operator` is 'Exists'"
        yield invalid(f"{path}.operator", toleration.value, why)
    if operator and operator not in _TOLERATION_OPERATORS:
        yield not_supported(f"{path}.operator", operator, _TOLERATION_OPERATORS)
    if toleration.effect and toleration.effect not in _EFFECTS:
        yield not_supported(f"{path}.effect", toleration.effect, _EFFECTS)


def _constraint(constraint: TopologySpreadConstraint, path: str) -> Iterator[FieldError]:
    if constraint.max_skew <= 0:
        yield invalid(f"{path}.maxSkew", constraint.max_skew, _NOT_POSITIVE)
    if not constraint.topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    action = constraint.when_unsatisfiable
    if action not in _SCHEDULE_ACTIONS:
        yield not_supported(f"{path}.whenUnsatisfiable", action, _SCHEDULE_ACTIONS)
    if constraint.min_domains is not None:
        if constraint.min_domains <= 0:
            yield invalid(f"{path}.minDomains", constraint.min_domains, _NOT_POSITIVE)
        if action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(f"{path}.minDomains", constraint.min_domains, why)
    for name, policy in (
        ("nodeAffinityPolicy", constraint.node_affinity_policy),
        ("nodeTaintsPolicy", constraint.node_taints_policy),
    ):
        if policy is not None and policy not in _INCLUSION_POLICIES:
            yield not_supported(f"{path}.{name}", policy, _INCLUSION_POLICIES)
    yield from _selector(constraint.label_selector, f"{path}.labelSelector")


def _selector(selector: LabelSelector | None, path: str) -> Iterator[FieldError]:
    try:
        Selector.from_label_selector(selector)
    except ObjectError as error:
        yield FieldError(path, error.message)


def _node_affinity(affinity: NodeAffinity, path: str) -> Iterator[FieldError]:
    selector = affinity.required_during_scheduling_ignored_during_execution
    if selector is not None:
        place = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        if not selector.node_selector_terms:
            yield required(place, "must have at least one node selector term")
        for i, term in enumerate(selector.node_selector_terms):
            yield from _node_term(term, f"{place}[{i}]")
    for i, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        place = f"{path}.{_PREFERRED}[{i}]"
        if not 1 <= preferred.weight <= 100:
            yield invalid(f"{place}.weight", preferred.weight, _WEIGHT_RANGE)
        yield from _node_term(preferred.preference, f"{place}.preference")


def _node_term(term: NodeSelectorTerm, path: str) -> Iterator[FieldError]:
    for i, expression in enumerate(term.match_expressions):
        place = f"{path}.matchExpressions[{i}]"
        operator, values = expression.operator, expression.values
        if operator in (IN, NOT_IN) and not values:
            yield required(
                f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'"
            )
        elif operator in (EXISTS, DOES_NOT_EXIST) and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{place}.values", why)
        elif operator in (GT, LT) and len(values) != 1:
            yield required(
                f"{place}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"
            )
        elif operator not in OPERATORS:
            yield invalid(f"{place}.operator", operator, "not a valid selector operator")
        yield from each(f"{place}.key", expression.key, label_key_problems(expression.key))
    for i, expression in enumerate(term.match_fields):
        place = f"{path}.matchFields[{i}]"
        if expression.operator not in (IN, NOT_IN):
            yield invalid(f"{place}.operator", expression.operator, "not a valid selector operator")
        elif len(expression.values) != 1:
            yield required(
                f"{place}.values",
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            )
        if expression.key != "metadata.name":
            yield invalid(f"{place}.key", expression.key, "not a valid field selector key")


def _pod_affinity(affinity: PodAffinity | PodAntiAffinity, path: str) -> Iterator[FieldError]:
    required_terms = affinity.required_during_scheduling_ignored_during_execution
    for i, term in enumerate(required_terms):
        yield from _pod_term(term, f"{path}.{_REQUIRED}[{i}]")
    for i, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        place = f"{path}.{_PREFERRED}[{i}]"
        if not 1 <= weighted.weight <= 100:
            yield invalid(f"{place}.weight", weighted.weight, _WEIGHT_RANGE)
        yield from _pod_term(weighted.pod_affinity_term, f"{place}.podAffinityTerm")


def _pod_term(term: PodAffinityTerm, path: str) -> Iterator[FieldError]:
    if not term.topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from _selector(term.label_selector, f"{path}.labelSelector")
    yield from _selector(term.namespace_selector, f"{path}.namespaceSelector")
    yield from _keys(term.match_label_keys, f"{path}.matchLabelKeys")
    yield from _keys(term.mismatch_label_keys, f"{path}.mismatchLabelKeys")


def _keys(keys: Iterable[str], path: str) -> Iterator[FieldError]:
    for i, key in enumerate(keys):
        yield from each(f"{path}[{i}]", key, label_key_problems(key))

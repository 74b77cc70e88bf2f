"""Pod disruption budgets, priority classes, roles, leases and runtime classes."""

# kubernetes: pkg/apis/{policy,scheduling,rbac,coordination,node}/validation/validation.go

from __future__ import annotations

from mooring.api.field_errors import FieldError, each, forbidden, invalid, not_supported, required
from mooring.apiserver.validation.field_problems import Object, immutable, non_negative
from mooring.apiserver.validation.formats import (
    label_problems,
    path_segment_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.metadata import check_labels, check_selector
from mooring.apiserver.validation.resource_amounts import check_requirements
from mooring.apiserver.validation.scheduling import check_tolerations
from mooring.apiserver.validation.workloads import check_amount, not_over_all
from mooring.controlplane.priority_classes import SYSTEM_PRIORITIES

_RBAC = "rbac.authorization.k8s.io"
_HIGHEST = 1_000_000_000
_EVICTION = ("AlwaysAllow", "IfHealthyBudget")


def check_budget(budget: Object) -> list[FieldError]:
    """Check a pod disruption budget."""
    spec = budget["spec"]
    problems: list[FieldError] = []
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        problems.append(invalid("spec", spec, why))
    for field, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            problems += check_amount(value, f"spec.{field}")
            problems += not_over_all(value, f"spec.{field}")
    problems += check_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION:
        problems.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION))
    return problems


def check_priority_class(priority_class: Object) -> list[FieldError]:
    """Check a priority class."""
    problems: list[FieldError] = []
    name, value = priority_class["metadata"].get("name", ""), priority_class["value"]
    if name.startswith("system-"):
        if SYSTEM_PRIORITIES.get(name) != value:
            known = name in SYSTEM_PRIORITIES
            error = f"value of {name} PriorityClass must be {SYSTEM_PRIORITIES.get(name)}"
            error = error if known else f"{name} is not a known system priority class"
            why = (
                "priority class names with 'system-' prefix are reserved for system use only. "
                f"error: {error}"
            )
            problems.append(forbidden("metadata.name", why))
    elif value > _HIGHEST:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        problems.append(forbidden("value", why))
    policy, policies = priority_class.get("preemptionPolicy"), ("PreemptLowerPriority", "Never")
    if policy == "":
        problems.append(required("preemptionPolicy"))
    elif policy is not None and policy not in policies:
        problems.append(not_supported("preemptionPolicy", policy, policies))
    return problems


def check_priority_class_update(priority_class: Object, old: Object) -> list[FieldError]:
    """Check an update of a priority class: its value may not change."""
    problems: list[FieldError] = []
    if priority_class["value"] != old["value"]:
        problems.append(forbidden("value", "may not be changed in an update."))
    policies = (priority_class.get("preemptionPolicy"), old.get("preemptionPolicy"))
    return problems + immutable("preemptionPolicy", *policies)


def check_role(role: Object) -> list[FieldError]:
    """Check the rules of a role."""
    return _rules(role, namespaced=True)


def check_cluster_role(role: Object) -> list[FieldError]:
    """Check the rules of a cluster role."""
    problems = _rules(role, namespaced=False)
    aggregation = role.get("aggregationRule")
    if aggregation is not None:
        selectors = aggregation.get("clusterRoleSelectors") or []
        where = "aggregationRule.clusterRoleSelectors"
        if not selectors:
            why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            problems.append(required(where, why))
        for i, selector in enumerate(selectors):
            found = check_selector(selector, f"{where}[{i}]")
            problems += found
            if found:
                why = "invalid label selector."
                problems.append(invalid(f"{where}[{i}]", None, why))
    return problems


def _rules(role: Object, *, namespaced: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    for i, rule in enumerate(role.get("rules") or ()):
        path = f"rules[{i}]"
        if not rule.get("verbs"):
            problems.append(required(f"{path}.verbs"))
        if urls := rule.get("nonResourceURLs"):
            where = f"{path}.nonResourceURLs"
            if namespaced:
                why = "namespaced rules cannot apply to non-resource URLs"
                problems.append(invalid(where, urls, why))
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                why = "rules cannot apply to both regular resources and non-resource URLs"
                problems.append(invalid(where, urls, why))
            continue
        if not rule.get("apiGroups"):
            why = "resource rules must supply at least one api group"
            problems.append(required(f"{path}.apiGroups", why))
        if not rule.get("resources"):
            why = "resource rules must supply at least one resource"
            problems.append(required(f"{path}.resources", why))
    return problems


def check_role_binding(binding: Object) -> list[FieldError]:
    """Check a role binding."""
    return _binding(binding, ("Role", "ClusterRole"))


def check_cluster_role_binding(binding: Object) -> list[FieldError]:
    """Check a cluster role binding."""
    return _binding(binding, ("ClusterRole",))


def _binding(binding: Object, kinds: tuple[str, ...]) -> list[FieldError]:
    role = binding["roleRef"]
    problems: list[FieldError] = []
    if role["apiGroup"] != _RBAC:
        problems.append(not_supported("roleRef.apiGroup", role["apiGroup"], (_RBAC,)))
    if role["kind"] not in kinds:
        problems.append(not_supported("roleRef.kind", role["kind"], kinds))
    if not role["name"]:
        problems.append(required("roleRef.name"))
    else:
        problems += each("roleRef.name", role["name"], path_segment_problems(role["name"]))
    for i, subject in enumerate(binding.get("subjects") or ()):
        problems += _subject(subject, f"subjects[{i}]", len(kinds) == 2)
    return problems


def _subject(subject: Object, path: str, namespaced: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    kind, group = subject["kind"], subject.get("apiGroup") or ""
    if not subject["name"]:
        problems.append(required(f"{path}.name"))
    if kind == "ServiceAccount":
        if subject["name"]:
            whys = subdomain_problems(subject["name"])
            problems += each(f"{path}.name", subject["name"], whys)
        if group:
            problems.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            problems.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _RBAC:
            problems.append(not_supported(f"{path}.apiGroup", group, (_RBAC,)))
    else:
        supported = ("ServiceAccount", "User", "Group")
        problems.append(not_supported(f"{path}.kind", kind, supported))
    return problems


def check_role_binding_update(binding: Object, old: Object) -> list[FieldError]:
    """Check an update of a role binding: its role may not change."""
    return check_role_binding(binding) + _same_role(binding, old)


def check_cluster_role_binding_update(binding: Object, old: Object) -> list[FieldError]:
    """Check an update of a cluster role binding: its role may not change."""
    return check_cluster_role_binding(binding) + _same_role(binding, old)


def _same_role(binding: Object, old: Object) -> list[FieldError]:
    return immutable("roleRef", binding["roleRef"], old["roleRef"])


def check_lease(lease: Object) -> list[FieldError]:
    """Check a lease."""
    problems: list[FieldError] = []
    seconds = lease["spec"].get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        problems.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    return problems + non_negative("spec.leaseTransitions", lease["spec"].get("leaseTransitions"))


def check_runtime_class(runtime_class: Object) -> list[FieldError]:
    """Check a runtime class."""
    handler = runtime_class["handler"]
    problems = each("handler", handler, label_problems(handler)) if handler else []
    if not handler:
        problems.append(required("handler"))
    if (overhead := runtime_class.get("overhead")) is not None:
        problems += check_requirements({"limits": overhead.get("podFixed")}, "overhead")
    if (scheduling := runtime_class.get("scheduling")) is not None:
        problems += check_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
        problems += check_tolerations(scheduling.get("tolerations"), "scheduling.tolerations")
    return problems


def check_runtime_class_update(runtime_class: Object, old: Object) -> list[FieldError]:
    """Check an update of a runtime class: its handler may not change."""
    problems = immutable("handler", runtime_class["handler"], old["handler"], shown=False)
    return problems + check_runtime_class(runtime_class)

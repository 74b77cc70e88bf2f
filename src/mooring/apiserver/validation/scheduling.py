"""What a pod requires of nodes: tolerations, affinity, spreading, gates."""

# kubernetes: pkg/apis/core/validation/validation.go

from __future__ import annotations

from collections.abc import Sequence

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import (
    label_key_problems,
    label_problems,
    label_value_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.metadata import check_selector

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATOR = "not a valid selector operator"
_WEIGHT = "must be in the range 1-100"
_POSITIVE = "must be greater than zero"
_EMPTY = "can not be empty"


def check_tolerations(tolerations: Sequence[Object] | None, path: str) -> list[FieldError]:
    """Check tolerations."""
    problems: list[FieldError] = []
    for i, toleration in enumerate(tolerations or ()):
        problems += _toleration(toleration, f"{path}[{i}]")
    return problems


def _toleration(toleration: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        problems += each(f"{path}.key", key, label_key_problems(key))
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and '
        problems.append(invalid(f"{path}.operator", operator, why + 'all keys"'))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        problems.append(invalid(f"{path}.effect", effect, why))
    if operator in ("Equal", ""):
        if whys := label_value_problems(value):
            problems.append(invalid(f"{path}.operator", value, ";".join(whys)))
    elif operator == "Exists":
        if value:
            why = "value must be empty when `operator` is 'Exists'"
            problems.append(invalid(f"{path}.operator", value, why))
    elif operator in ("Lt", "Gt"):
        supported = ("Equal", "Exists", "Lt", "Gt")
        problems.append(not_supported(f"{path}.operator", operator, supported))
    else:
        problems.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    if effect:
        problems += check_effect(effect, f"{path}.effect")
    return problems


def check_effect(effect: str, path: str, *, empty: bool = True) -> list[FieldError]:
    """Check the effect of a taint or toleration."""
    if not effect and not empty:
        return [required(path)]
    return [] if effect in EFFECTS else [not_supported(path, effect, EFFECTS)]


def check_affinity(affinity: Object | None, path: str) -> list[FieldError]:
    """Check the affinity of a pod."""
    problems: list[FieldError] = []
    if affinity is None:
        return problems
    if (node := affinity.get("nodeAffinity")) is not None:
        problems += _node_affinity(node, f"{path}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.get(name)) is not None:
            problems += _pod_affinity(pods, f"{path}.{name}")
    return problems


def _node_affinity(affinity: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if (selector := affinity.get(_REQUIRED)) is not None:
        problems += check_node_selector(selector, f"{path}.{_REQUIRED}")
    for i, preferred in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{i}]"
        if not 1 <= preferred["weight"] <= 100:
            problems.append(invalid(f"{where}.weight", preferred["weight"], _WEIGHT))
        problems += _node_term(preferred["preference"], f"{where}.preference", values=False)
    return problems


def check_node_selector(selector: Object, path: str) -> list[FieldError]:
    """Check the node selector of a pod or of a volume."""
    terms = selector.get("nodeSelectorTerms") or []
    where = f"{path}.nodeSelectorTerms"
    if not terms:
        return [required(where, "must have at least one node selector term")]
    return [
        problem
        for i, term in enumerate(terms)
        for problem in _node_term(term, f"{where}[{i}]", values=True)
    ]


def _node_term(term: Object, path: str, *, values: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        problems += _node_requirement(requirement, f"{path}.matchExpressions[{i}]", values=values)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        problems += _node_field(requirement, f"{path}.matchFields[{i}]")
    return problems


def _node_requirement(requirement: Object, path: str, *, values: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    operator, given = requirement["operator"], requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not given:
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            problems.append(required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if given:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            problems.append(forbidden(f"{path}.values", why))
    elif operator in ("Gt", "Lt"):
        if len(given) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            problems.append(required(f"{path}.values", why))
    else:
        problems.append(invalid(f"{path}.operator", operator, _OPERATOR))
    problems += each(f"{path}.key", requirement["key"], label_key_problems(requirement["key"]))
    if values:
        for i, value in enumerate(given):
            problems += each(f"{path}.values[{i}]", value, label_value_problems(value))
    return problems


def _node_field(requirement: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    operator, given = requirement["operator"], requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if len(given) != 1:
            why = "must be only one value when `operator` is 'In' or 'NotIn' for node field "
            problems.append(required(f"{path}.values", f"{why}selector"))
    else:
        problems.append(invalid(f"{path}.operator", operator, _OPERATOR))
    if requirement["key"] != "metadata.name":
        why = "not a valid field selector key"
        problems.append(invalid(f"{path}.key", requirement["key"], why))
    else:
        for i, value in enumerate(given):
            problems += each(f"{path}.values[{i}]", value, subdomain_problems(value))
    return problems


def _pod_affinity(affinity: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for i, term in enumerate(affinity.get(_REQUIRED) or ()):
        problems += _pod_term(term, f"{path}.{_REQUIRED}[{i}]")
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{i}]"
        if not 1 <= weighted["weight"] <= 100:
            problems.append(invalid(f"{where}.weight", weighted["weight"], _WEIGHT))
        problems += _pod_term(weighted["podAffinityTerm"], f"{where}.podAffinityTerm")
    return problems


def _pod_term(term: Object, path: str) -> list[FieldError]:
    problems = check_selector(term.get("labelSelector"), f"{path}.labelSelector")
    problems += check_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        problems += each(f"{path}.namespace", name, label_problems(name))
    problems += _label_keys(term, path)
    key = term["topologyKey"]
    if not key:
        problems.append(required(f"{path}.topologyKey", _EMPTY))
    return problems + each(f"{path}.topologyKey", key, label_key_problems(key))


def _label_keys(term: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    selector = term.get("labelSelector")
    match, mismatch = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    for name, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            why = "must not be specified when labelSelector is not set"
            problems.append(forbidden(f"{path}.{name}", why))
            continue
        for i, key in enumerate(keys):
            problems += each(f"{path}.{name}[{i}]", key, label_key_problems(key))
    if selector is not None:
        seen = set(selector.get("matchLabels") or ())
        first = {key: i for i, key in reversed(list(enumerate(match)))}
        for expression in selector.get("matchExpressions") or ():
            key = expression["key"]
            if key in first and key in seen:
                why = "exists in both matchLabelKeys and labelSelector"
                problems.append(invalid(f"{path}[{first[key]}]", key, why))
            seen.add(key)
    mismatched = set(mismatch)
    for i, key in enumerate(match):
        if key in mismatched:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            problems.append(invalid(f"{path}.matchLabelKeys[{i}]", key, why))
    return problems


def check_spreading(constraints: Sequence[Object] | None, path: str) -> list[FieldError]:
    """Check topology spread constraints."""
    problems: list[FieldError] = []
    last = {_spread_of(constraint): i for i, constraint in enumerate(constraints or ())}
    for i, constraint in enumerate(constraints or ()):
        where = f"{path}[{i}]"
        problems += _constraint(constraint, where)
        mine = _spread_of(constraint)
        if last[mine] > i:
            text = f"{{{mine[0]}, {mine[1]}}}"
            problems.append(duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", text))
        problems += _domains(constraint, where)
        problems += _label_keys(constraint, where)
        problems += check_selector(constraint.get("labelSelector"), f"{where}.labelSelector")
    return problems


def _spread_of(constraint: Object) -> tuple[str, str]:
    return constraint["topologyKey"], constraint["whenUnsatisfiable"]


def _constraint(constraint: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if constraint["maxSkew"] <= 0:
        problems.append(invalid(f"{path}.maxSkew", constraint["maxSkew"], _POSITIVE))
    if not constraint["topologyKey"]:
        problems.append(required(f"{path}.topologyKey", _EMPTY))
    action = constraint["whenUnsatisfiable"]
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        supported = ("DoNotSchedule", "ScheduleAnyway")
        problems.append(not_supported(f"{path}.whenUnsatisfiable", action, supported))
    return problems


def _domains(constraint: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    domains, action = constraint.get("minDomains"), constraint["whenUnsatisfiable"]
    if domains is not None:
        if domains <= 0:
            problems.append(invalid(f"{path}.minDomains", domains, _POSITIVE))
        if action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            problems.append(invalid(f"{path}.minDomains", domains, why))
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(name)
        if policy is not None and policy not in ("Honor", "Ignore"):
            problems.append(not_supported(f"{path}.{name}", policy, ("Honor", "Ignore")))
    return problems


def check_gates(gates: Sequence[Object] | None, path: str) -> list[FieldError]:
    """Check scheduling gates."""
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, gate in enumerate(gates or ()):
        name = gate["name"]
        problems += each(f"{path}[{i}]", name, label_key_problems(name))
        if name in seen:
            problems.append(duplicate(f"{path}[{i}]", name))
        seen.add(name)
    return problems

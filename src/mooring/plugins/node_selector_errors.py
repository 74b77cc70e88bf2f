"""Validation of the node selectors in a configuration."""

# kube-scheduler: component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go,
# apimachinery pkg/labels/selector.go (NewRequirement)

from __future__ import annotations

import re
from collections.abc import Sequence

from mooring.api.scheduling import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from mooring.framework.fields import (
    FieldError,
    child,
    invalid,
    label_name_errors,
    label_value_errors,
    not_supported,
)

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")


def node_selector_errors(path: str, selector: NodeSelector) -> list[FieldError]:
    """Return the errors of a selector; an empty term selects nothing and is no error."""
    errors = []
    for index, term in enumerate(selector.node_selector_terms):
        errors += _term_errors(f"{child(path, 'nodeSelectorTerms')}[{index}]", term)
    return errors


def preferred_term_errors(path: str, terms: Sequence[PreferredSchedulingTerm]) -> list[FieldError]:
    """Return the errors of preferred terms; those of weight 0 are not checked."""
    errors = []
    for index, term in enumerate(terms):
        if term.weight:
            errors += _term_errors(f"{path}[{index}]", term.preference)
    return errors


def _term_errors(path: str, term: NodeSelectorTerm) -> list[FieldError]:
    errors = []
    for index, requirement in enumerate(term.match_expressions):
        errors += _label_errors(f"{child(path, 'matchExpressions')}[{index}]", requirement)
    for index, requirement in enumerate(term.match_fields):
        errors += _field_errors(f"{child(path, 'matchFields')}[{index}]", requirement)
    return errors


def _label_errors(path: str, requirement: NodeSelectorRequirement) -> list[FieldError]:
    operator, values = requirement.operator, requirement.values
    if operator not in _LABEL_OPERATORS:
        return [not_supported(child(path, "operator"), operator, _LABEL_OPERATORS)]
    errors = []
    problems = label_name_errors(requirement.key)
    if problems:
        errors.append(invalid(child(path, "key"), requirement.key, "; ".join(problems)))
    where = child(path, "values")
    if operator in ("In", "NotIn") and not values:
        text = "for 'in', 'notin' operators, values set can't be empty"
        errors.append(invalid(where, values or None, text))
    if operator in ("Exists", "DoesNotExist") and values:
        text = "values set must be empty for exists and does not exist"
        errors.append(invalid(where, values or None, text))
    if operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "for 'Gt', 'Lt' operators, exactly one value is required"
            errors.append(invalid(where, values or None, text))
        for index, value in enumerate(values):
            if not _is_int64(value):
                text = "for 'Gt', 'Lt' operators, the value must be an integer"
                errors.append(invalid(f"{where}[{index}]", value, text))
    for index, value in enumerate(values):
        problems = label_value_errors(value)
        if problems:
            place = f"{where}[{index}][{requirement.key}]"
            errors.append(invalid(place, value, "; ".join(problems)))
    return errors


def _field_errors(path: str, requirement: NodeSelectorRequirement) -> list[FieldError]:
    if requirement.operator not in _FIELD_OPERATORS:
        where = child(path, "operator")
        return [not_supported(where, requirement.operator, _FIELD_OPERATORS)]
    if len(requirement.values) != 1:
        return [invalid(child(path, "values"), requirement.values or None, "must have one element")]
    return []


def _is_int64(text: str) -> bool:
    return bool(re.fullmatch(r"[-+]?[0-9]+", text)) and -(2**63) <= int(text) < 2**63

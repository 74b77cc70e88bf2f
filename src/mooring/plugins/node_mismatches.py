"""Texts that say which labels of a node do not match what a pod or a volume asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mooring.api import NodeTerms
from mooring.api.labels import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, Requirement
from mooring.api.meta import KubeObject
from mooring.api.node_selectors import NAME_FIELD, Term

_BOUND = {GT: "above", LT: "below"}


def mismatch(requirement: Requirement, found: str | None) -> str:
    """Return why a label with this value, or an absent label (None), is not what is required.

    >>> mismatch(Requirement("zone", "In", ["b", "c"]), "a")
    'zone is a, not b or c'
    >>> mismatch(Requirement("gpu", "Exists"), None)
    'gpu is not set'
    """
    key, operator = requirement.key, requirement.operator
    wanted = " or ".join(requirement.values)
    if operator in (NOT_IN, DOES_NOT_EXIST):
        return f"{key} is {found}" if found else f"{key} is set"
    if operator == EXISTS:
        return f"{key} is not set"
    found = "not set" if found is None else found or '""'
    if operator == IN:
        return f"{key} is {found}, not {wanted}"
    return f"{key} is {found}, not {_BOUND[operator]} {wanted}"


def unmet_labels(wanted: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """Return which labels of a nodeSelector a node does not have; empty if it has all."""
    return ", ".join(
        mismatch(Requirement.trusted(key, IN, (value,)), labels.get(key))
        for key, value in wanted.items()
        if labels.get(key) != value
    )


def nearest_term(terms: NodeTerms, node: KubeObject) -> str:
    """Return what a node does not satisfy of the term of which it satisfies most."""
    unmet = [tuple(_unmet(term, node)) for term in terms.terms if not term.errors]
    if not unmet:
        return "no term can match"
    unmet.sort(key=len)
    return ", ".join(unmet[0])


def keys_of_terms(terms: NodeTerms | None) -> tuple[str, ...]:
    """Return the keys of all labels and fields that terms are about, matched or not."""
    if terms is None:
        return ()
    keys = (one.key for term in terms.terms for one in (*term.labels, *term.fields))
    return tuple(dict.fromkeys(keys))


def _unmet(term: Term, node: KubeObject) -> Iterable[str]:
    labels = node.metadata.labels
    for requirement in term.labels:
        if not requirement.matches(labels):
            yield mismatch(requirement, labels.get(requirement.key))
    for requirement in term.fields:
        found = node.metadata.name if requirement.key == NAME_FIELD else ""
        if not requirement.matches_value(found):
            yield mismatch(requirement, found)

"""Node selectors, compiled: terms are ORed, the requirements of one term are ANDed.

A term that cannot be parsed matches no node; its error is reported only if no other term matches,
as in kube-scheduler.
"""

# component-helpers: scheduling/corev1/nodeaffinity/nodeaffinity.go

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from mooring.api.field_errors import FieldError, aggregate, invalid, not_supported
from mooring.api.labels import (
    IN,
    NOT_IN,
    OPERATORS,
    Requirement,
    requirement_problems,
)
from mooring.api.meta import KubeObject
from mooring.api.pod import Pod
from mooring.api.scheduling import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from mooring.errors import ObjectError

NAME_FIELD = "metadata.name"


class Term:
    """One parsed term: requirements on labels and on fields. Immutable and hashable.

    If the term could not be parsed, `errors` is not empty and the term matches nothing.
    """

    __slots__ = ("errors", "fields", "labels")

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]
    errors: tuple[FieldError, ...]

    def __init__(
        self,
        labels: Iterable[Requirement] = (),
        fields: Iterable[Requirement] = (),
        errors: Iterable[FieldError] = (),
    ) -> None:
        self.labels = _canonical(labels)
        self.fields = _canonical(fields)
        self.errors = tuple(errors)

    @classmethod
    def parse(cls, term: NodeSelectorTerm, path: str = "") -> Term:
        """Parse a term; `path` is the prefix of the errors."""
        labels: list[Requirement] = []
        fields: list[Requirement] = []
        errors: list[FieldError] = []
        for i, expression in enumerate(term.match_expressions):
            _parse_expression(expression, f"{path}matchExpressions[{i}]", labels, errors)
        for i, expression in enumerate(term.match_fields):
            _parse_field(expression, f"{path}matchFields[{i}]", fields, errors)
        return cls(errors=errors) if errors else cls(labels, fields)

    def matches(self, node: KubeObject) -> bool:
        """Return whether a node satisfies every requirement of a well-formed term."""
        if self.errors:
            return False
        get = node.metadata.labels.get
        for requirement in self.labels:
            if not requirement.matches_value(get(requirement.key)):
                return False
        name = node.metadata.name
        if not self.fields or not name:
            return True
        return all(
            requirement.matches_value(name if requirement.key == NAME_FIELD else "")
            for requirement in self.fields
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Term)
            and self.labels == other.labels
            and self.fields == other.fields
            and self.errors == other.errors
        )

    def __hash__(self) -> int:
        return hash((self.labels, self.fields, self.errors))

    def __repr__(self) -> str:
        return f"Term({', '.join(map(str, (*self.labels, *self.fields)))})"


def _canonical(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Return the requirements sorted and without repetitions."""
    listed = tuple(requirements)
    return tuple(sorted(set(listed), key=_order)) if len(listed) > 1 else listed


def _order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, requirement.values


def _parse_expression(
    expression: NodeSelectorRequirement,
    path: str,
    into: list[Requirement],
    errors: list[FieldError],
) -> None:
    if expression.operator not in OPERATORS:
        errors.append(not_supported(f"{path}.operator", expression.operator, OPERATORS))
        return
    problems = requirement_problems(expression.key, expression.operator, expression.values, path)
    if problems:
        errors.extend(problems)
    else:
        into.append(Requirement.trusted(expression.key, expression.operator, expression.values))


def _parse_field(
    expression: NodeSelectorRequirement,
    path: str,
    into: list[Requirement],
    errors: list[FieldError],
) -> None:
    if expression.operator not in (IN, NOT_IN):
        errors.append(not_supported(f"{path}.operator", expression.operator, (IN, NOT_IN)))
    elif len(expression.values) != 1:
        errors.append(invalid(f"{path}.values", expression.values or None, "must have one element"))
    else:
        into.append(Requirement.trusted(expression.key, expression.operator, expression.values))


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


class NodeTerms:
    """A node selector: any of its terms suffices; without terms it matches no node. Hashable."""

    __slots__ = ("terms",)

    terms: tuple[Term, ...]

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(terms)

    @classmethod
    def parse(cls, selector: NodeSelector, path: str = "") -> NodeTerms:
        """Parse a node selector; empty terms are dropped, malformed ones kept with their errors."""
        return cls(
            Term.parse(term, f"{path}nodeSelectorTerms[{i}].")
            for i, term in enumerate(selector.node_selector_terms)
            if not _is_empty(term)
        )

    @classmethod
    def parse_strictly(cls, selector: NodeSelector, path: str = "") -> NodeTerms:
        """Parse a node selector, raising on the errors of any term."""
        parsed = cls.parse(selector, path)
        parsed.check()
        return parsed

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """Return the errors of all terms."""
        return tuple(error for term in self.terms for error in term.errors)

    def check(self) -> None:
        """Raise ObjectError if any term could not be parsed."""
        if self.errors:
            raise ObjectError(aggregate(self.errors))

    def matches(self, node: KubeObject) -> bool:
        """Return whether any term matches; malformed terms never do."""
        return any(term.matches(node) for term in self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeTerms) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        return f"NodeTerms({', '.join(map(repr, self.terms))})"


class PreferredTerms:
    """Node preferences: a node's score is the sum of the weights of the terms that match."""

    __slots__ = ("terms",)

    terms: tuple[tuple[int, Term], ...]

    def __init__(self, terms: Iterable[tuple[int, Term]]) -> None:
        self.terms = tuple(terms)

    @classmethod
    def parse(cls, terms: Iterable[PreferredSchedulingTerm], path: str = "") -> PreferredTerms:
        """Parse preferences; empty ones and those of weight 0 are skipped without being checked."""
        parsed = [
            (term.weight, Term.parse(term.preference, f"{path}[{i}]."))
            for i, term in enumerate(terms)
            if term.weight != 0 and not _is_empty(term.preference)
        ]
        errors = [error for _, term in parsed for error in term.errors]
        if errors:
            raise ObjectError(aggregate(errors))
        return cls(parsed)

    def score(self, node: KubeObject) -> int:
        """Return the sum of the weights of all matching terms."""
        return sum(weight for weight, term in self.terms if term.matches(node))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreferredTerms) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)


class RequiredNodeAffinity:
    """A pod's nodeSelector and its required node affinity. Hashable.

    `labels` is empty if the pod has no nodeSelector, `terms` is None if it has no required
    affinity.
    """

    __slots__ = ("labels", "terms")

    def __init__(self, labels: Mapping[str, str], terms: NodeTerms | None) -> None:
        self.labels = labels
        self.terms = terms

    def selects(self, node: KubeObject) -> bool:
        """Return whether a node has the labels of the nodeSelector."""
        get = node.metadata.labels.get
        return all(get(key) == text for key, text in self.labels.items())

    def matches(self, node: KubeObject) -> bool:
        """Return whether a node satisfies both."""
        return self.selects(node) and (self.terms is None or self.terms.matches(node))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RequiredNodeAffinity)
            and self.labels == other.labels
            and self.terms == other.terms
        )

    def __hash__(self) -> int:
        return hash((frozenset(self.labels.items()), self.terms))


@lru_cache(maxsize=4096)
def _parse_terms(selector: NodeSelector) -> NodeTerms:
    """Parse a selector. Cached: the pods of one workload all carry the same selector."""
    return NodeTerms.parse(selector)


def required_node_affinity(pod: Pod) -> RequiredNodeAffinity:
    """Return what a pod requires of its node: nodeSelector and required node affinity."""
    spec = pod.spec
    terms = None
    if spec.affinity is not None and spec.affinity.node_affinity is not None:
        required = spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
        if required is not None:
            terms = _parse_terms(required)
    return RequiredNodeAffinity(spec.node_selector, terms)

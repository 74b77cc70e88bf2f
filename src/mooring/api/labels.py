"""Label selectors, compiled: hashable, canonical, fast to match.

Equal selectors compare equal however they were written (order of requirements and of values does
not matter, `=` is `in` with one value), because selectors are the keys of counters.
"""

# apimachinery: pkg/labels/selector.go, pkg/apis/meta/v1/helpers.go

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from mooring.api.field_errors import FieldError, aggregate, invalid, not_supported
from mooring.api.go_numbers import parse_int64
from mooring.api.meta import LabelSelector
from mooring.api.names import (
    label_key_problems,
    label_value_problems,
)
from mooring.errors import ObjectError

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
GT = "Gt"
LT = "Lt"

#: Every operator of a requirement; label selectors support the first four.
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)

_EQUIVALENT = {"=": IN, "==": IN, "!=": NOT_IN}


def requirement_problems(
    key: str, operator: str, values: Sequence[str], path: str = ""
) -> list[FieldError]:
    """Return why these are not a valid requirement; empty if they are."""
    prefix = f"{path}." if path else ""
    problems = []
    if why := label_key_problems(key):
        problems.append(invalid(f"{prefix}key", key, "; ".join(why)))
    place = f"{prefix}values"
    if operator in (IN, NOT_IN):
        if not values:
            why_not = "for 'in', 'notin' operators, values set can't be empty"
            problems.append(invalid(place, values or None, why_not))
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            why_not = "values set must be empty for exists and does not exist"
            problems.append(invalid(place, values or None, why_not))
    elif operator in (GT, LT):
        if len(values) != 1:
            why_not = "for 'Gt', 'Lt' operators, exactly one value is required"
            problems.append(invalid(place, values or None, why_not))
        for i, text in enumerate(values):
            if parse_int64(text) is None:
                why_not = "for 'Gt', 'Lt' operators, the value must be an integer"
                problems.append(invalid(f"{place}[{i}]", text, why_not))
    else:
        problems.append(not_supported(f"{prefix}operator", operator, OPERATORS))
    for i, text in enumerate(values):
        if why := label_value_problems(text):
            problems.append(invalid(f"{place}[{i}][{key}]", text, "; ".join(why)))
    return problems


class Requirement:
    """A requirement on one label: immutable, hashable, values sorted.

    Operators are In, NotIn, Exists, DoesNotExist, Gt, Lt; `=`, `==` and `!=` become In and NotIn.
    NotIn matches an absent label; Gt and Lt compare integers and match nothing else.
    """

    __slots__ = ("_bound", "_hash", "_set", "key", "operator", "values")

    key: str
    operator: str
    values: tuple[str, ...]

    def __init__(self, key: str, operator: str, values: Iterable[str] = ()) -> None:
        listed = tuple(values)
        operator = _EQUIVALENT.get(operator, operator)
        if problems := requirement_problems(key, operator, listed):
            raise ObjectError(aggregate(problems))
        self._fill(key, operator, listed)

    @classmethod
    def trusted(cls, key: str, operator: str, values: Iterable[str] = ()) -> Requirement:
        """Return a requirement without validating its key and values."""
        requirement = cls.__new__(cls)
        requirement._fill(key, operator, values)
        return requirement

    def _fill(self, key: str, operator: str, values: Iterable[str]) -> None:
        self.key = key
        self.operator = operator
        self._set = frozenset(values)
        self.values = tuple(sorted(self._set) if len(self._set) > 1 else self._set)
        self._bound = parse_int64(self.values[0]) if operator in (GT, LT) else None
        self._hash = hash((key, operator, self.values))

    def matches_value(self, value: str | None) -> bool:
        """Return whether a label with this value, or an absent label (None), satisfies this."""
        operator = self.operator
        if operator == IN:
            return value in self._set
        if operator == NOT_IN:
            return value not in self._set
        if operator == EXISTS:
            return value is not None
        if operator == DOES_NOT_EXIST:
            return value is None
        if value is None or self._bound is None:
            return False
        number = parse_int64(value)
        if number is None:
            return False
        return number > self._bound if operator == GT else number < self._bound

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether a set of labels satisfies this."""
        return self.matches_value(labels.get(self.key))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Requirement)
            and self._hash == other._hash
            and self.key == other.key
            and self.operator == other.operator
            and self.values == other.values
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Requirement({self})"

    def __str__(self) -> str:
        """Return the text form: `a in (x,y)`, `b=1`, `!c`, `d>3`."""
        operator, values = self.operator, self.values
        if operator == EXISTS:
            return self.key
        if operator == DOES_NOT_EXIST:
            return f"!{self.key}"
        if operator in (GT, LT):
            return f"{self.key}{'>' if operator == GT else '<'}{values[0]}"
        if len(values) == 1:
            return f"{self.key}{'=' if operator == IN else '!='}{values[0]}"
        return f"{self.key} {'in' if operator == IN else 'notin'} ({','.join(values)})"


class Selector:
    """A label selector: all requirements must hold. Immutable and hashable.

    `EVERYTHING` has no requirements; `NOTHING` matches no labels at all.
    """

    __slots__ = ("_equal", "_hash", "_other", "nothing", "requirements")

    requirements: tuple[Requirement, ...]
    nothing: bool

    def __init__(self, requirements: Iterable[Requirement] = (), *, nothing: bool = False) -> None:
        ordered = tuple(requirements)
        if len(ordered) > 1:
            ordered = tuple(sorted(set(ordered), key=lambda r: (r.key, r.operator, r.values)))
        self.requirements = ordered
        self.nothing = nothing
        # Plain equality is by far the most frequent requirement: test it first, without a call.
        equal: list[tuple[str, str]] = []
        other: list[Requirement] = []
        for requirement in ordered:
            if requirement.operator == IN and len(requirement.values) == 1:
                equal.append((requirement.key, requirement.values[0]))
            else:
                other.append(requirement)
        self._equal = tuple(equal)
        self._other = tuple(other)
        self._hash = hash((ordered, nothing))

    @classmethod
    def from_label_selector(cls, selector: LabelSelector | None) -> Selector:
        """Compile a LabelSelector: None matches nothing, an empty one everything."""
        if selector is None:
            return NOTHING
        if not selector.match_labels and not selector.match_expressions:
            return EVERYTHING
        requirements = [_equality(key, text) for key, text in selector.match_labels.items()]
        for expression in selector.match_expressions:
            if expression.operator not in (IN, NOT_IN, EXISTS, DOES_NOT_EXIST):
                raise ObjectError(f'"{expression.operator}" is not a valid label selector operator')
            requirements.append(Requirement(expression.key, expression.operator, expression.values))
        return cls(requirements)

    @classmethod
    def from_map(cls, labels: Mapping[str, str]) -> Selector:
        """Compile a map of labels that must all be present; an empty map matches everything."""
        if not labels:
            return EVERYTHING
        return cls(Requirement.trusted(key, IN, (text,)) for key, text in labels.items())

    @classmethod
    def from_text(cls, text: str) -> Selector:
        """Compile the text form: `a=b,c in (x,y),!d,e!=f,g>1`; empty text matches everything."""
        return cls(_parse_text(text)) if text.strip() else EVERYTHING

    def add(self, *requirements: Requirement) -> Selector:
        """Return a selector that has these requirements too."""
        if self.nothing:
            return self
        return Selector((*self.requirements, *requirements))

    @property
    def empty(self) -> bool:
        """Return whether this matches everything, like `EVERYTHING`."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether a set of labels satisfies every requirement."""
        if self.nothing:
            return False
        get = labels.get
        for key, text in self._equal:
            if get(key) != text:
                return False
        for requirement in self._other:  # noqa: SIM110 (a generator costs as much as a match)
            if not requirement.matches_value(get(requirement.key)):
                return False
        return True

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Selector)
            and self._hash == other._hash
            and self.nothing == other.nothing
            and self.requirements == other.requirements
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return "Selector.NOTHING" if self.nothing else f"Selector({self})"

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _equality(key: str, text: str) -> Requirement:
    """Return the requirement that a label has a value; faster than `Requirement` if valid."""
    if label_key_problems(key) or label_value_problems(text):
        return Requirement(key, IN, (text,))
    return Requirement.trusted(key, IN, (text,))


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)

_TOKEN = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")


def _parse_text(text: str) -> list[Requirement]:
    tokens = _tokenize(text)
    requirements: list[Requirement] = []
    at = 0
    while True:
        requirement, at = _parse_requirement(text, tokens, at)
        requirements.append(requirement)
        if at == len(tokens):
            return requirements
        if tokens[at] != ",":
            raise _unexpected(text, tokens, at, "',' or the end")
        at += 1


def _tokenize(text: str) -> list[str]:
    return [match[1] for match in _TOKEN.finditer(text)]


def _unexpected(text: str, tokens: list[str], at: int, expected: str) -> ObjectError:
    found = f"'{tokens[at]}'" if at < len(tokens) else "the end"
    return ObjectError(f"selector {text!r}: found {found}, expected {expected}")


def _word(text: str, tokens: list[str], at: int, expected: str) -> str:
    if at >= len(tokens) or tokens[at] in ("==", "!=", *"=!<>(),"):
        raise _unexpected(text, tokens, at, expected)
    return tokens[at]


def _parse_requirement(text: str, tokens: list[str], at: int) -> tuple[Requirement, int]:
    if at < len(tokens) and tokens[at] == "!":
        key = _word(text, tokens, at + 1, "a label key")
        return Requirement(key, DOES_NOT_EXIST), at + 2
    key = _word(text, tokens, at, "a label key or '!'")
    at += 1
    if at == len(tokens) or tokens[at] == ",":
        return Requirement(key, EXISTS), at
    operator = tokens[at]
    if operator in ("in", "notin"):
        values, at = _parse_values(text, tokens, at + 1)
        return Requirement(key, IN if operator == "in" else NOT_IN, values), at
    if operator in ("=", "==", "!=", ">", "<"):
        named = {">": GT, "<": LT}.get(operator, operator)
        # "a=" requires the empty value.
        if at + 1 == len(tokens) or tokens[at + 1] == ",":
            return Requirement(key, named, ("",)), at + 1
        value = _word(text, tokens, at + 1, "a value")
        return Requirement(key, named, (value,)), at + 2
    raise _unexpected(text, tokens, at, "one of in, notin, =, ==, !=, >, <")


def _parse_values(text: str, tokens: list[str], at: int) -> tuple[list[str], int]:
    if at >= len(tokens) or tokens[at] != "(":
        raise _unexpected(text, tokens, at, "'('")
    values: list[str] = []
    current = ""
    at += 1
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in (",", ")"):
            values.append(current)
            current = ""
            if token == ")":
                return values, at
        elif current or token in ("==", "!=", *"=!<>("):
            raise _unexpected(text, tokens, at - 1, "',' or ')'")
        else:
            current = token
    raise _unexpected(text, tokens, at, "')'")

"""Declared rules: validation of newer kinds, written as a table of rules for each field.

kube-apiserver generates the checks of these kinds from marks on their Go types. On an update only
what changed is checked: a field that equals its old value is skipped. The rules in `stops` of a
field come first and are all asked; if one of them stops, the rules in `checks` and those of the
field's type are not asked.
"""

# apimachinery: pkg/api/validate; kubernetes: pkg/apis/*/zz_generated.validations.go

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import msgspec

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from mooring.apiserver.validation.field_problems import IMMUTABLE, Object, repeated

ADDED = "item may not be added"
REMOVED = "item may not be removed"
SET_LATE = "field cannot be set once created"
CLEARED = "field cannot be cleared once set"


class CheckedValue(msgspec.Struct, frozen=True):
    """A value to check: where it is, what it was, and which feature gates are on."""

    path: str
    value: Any
    old: Any
    #: Whether the request updates an object, rather than creating one.
    updates: bool
    #: The feature gates that are on.
    features: Collection[str]

    def at(self, part: str, value: Any, old: Any) -> CheckedValue:
        """Return the place of a part of this value; `part` is `.name` or `[0]`."""
        path = f"{self.path}{part}" if self.path else part.removeprefix(".")
        return CheckedValue(path, value, old, self.updates, self.features)


#: A rule that may stop: it returns its problems, or None if the other rules are to be asked.
Stop = Callable[[CheckedValue], list[FieldError] | None]
Check = Callable[[CheckedValue], list[FieldError]]


class FieldRules(msgspec.Struct, frozen=True):
    """The rules of one field.

    Set `is_pointer` for a struct or a scalar that may be absent: an empty struct then counts as
    set. Of other fields, an empty value counts as absent.
    """

    name: str
    stops: tuple[Stop, ...] = ()
    checks: tuple[Check, ...] = ()
    #: The name of the rules of the field's type, or of its items if it is a list.
    type: str = ""
    #: The field that identifies an item of a list.
    key: str = ""
    is_list: bool = False
    is_pointer: bool = False

    def read(self, obj: Object | None) -> Any:
        """Return the field's value in an object, or None if it is absent."""
        value = None if obj is None else obj.get(self.name)
        return value if self.is_pointer or value else None


class TypeRules(msgspec.Struct, frozen=True):
    """The rules of one struct: its fields, and the groups of fields of which exactly one is set."""

    fields: tuple[FieldRules, ...]
    unions: tuple[tuple[str, ...], ...] = ()


Rules = Mapping[str, TypeRules]


def check_declared(rules: Rules, type: str, place: CheckedValue) -> list[FieldError]:
    """Return the problems of a struct, by the rules of its type."""
    found = rules[type]
    problems: list[FieldError] = []
    by_name = {field.name: field for field in found.fields}
    for members in found.unions:
        problems += _union(tuple(by_name[name] for name in members), place)
    for field in found.fields:
        value, old = field.read(place.value), field.read(place.old)
        if place.updates and place.old is not None and value == old:
            continue
        problems += _field(rules, field, place.at(f".{field.name}", value, old))
    return problems


def _union(members: tuple[FieldRules, ...], place: CheckedValue) -> list[FieldError]:
    given = [field.name for field in members if field.read(place.value) is not None]
    before = [field.name for field in members if field.read(place.old) is not None]
    if len(given) == 1 or (place.updates and place.old is not None and given == before):
        return []
    names = ", ".join(f"`{field.name}`" for field in members)
    if not given:
        return [invalid(place.path, "", f"must specify one of: {names}")]
    why = f"must specify exactly one of: {names}"
    return [invalid(place.path, f"{{{', '.join(given)}}}", why)]


def _field(rules: Rules, field: FieldRules, place: CheckedValue) -> list[FieldError]:
    stopped = [found for stop in field.stops if (found := stop(place)) is not None]
    if stopped:
        return [problem for found in stopped for problem in found]
    if field.is_list:
        return _items(rules, field, place)
    problems = [problem for check in field.checks for problem in check(place)]
    if field.type:
        problems += check_declared(rules, field.type, _struct(place))
    return problems


def _struct(place: CheckedValue) -> CheckedValue:
    """Return the place of a struct that is always there, even if the object leaves it out."""
    return place if place.value is not None else place.at("", {}, place.old)


def _items(rules: Rules, field: FieldRules, place: CheckedValue) -> list[FieldError]:
    items, key = place.value or (), field.key
    problems: list[FieldError] = []
    if key:
        problems += [
            duplicate(f"{place.path}[{i}]", items[i])
            for i in repeated(item.get(key) for item in items)
        ]
    before: dict[str, Object] = {}
    for item in (place.old or ()) if key else ():
        before.setdefault(item.get(key), item)
    for i, item in enumerate(items):
        old = before.get(item.get(key)) if key else None
        if not (place.updates and old is not None and item == old):
            problems += check_declared(rules, field.type, place.at(f"[{i}]", item, old))
    return problems


def optional(place: CheckedValue) -> list[FieldError] | None:
    """Stop at an absent value."""
    return [] if place.value is None else None


def needed(place: CheckedValue) -> list[FieldError] | None:
    """Refuse an absent value."""
    return [required(place.path)] if place.value is None else None


def fixed(place: CheckedValue) -> list[FieldError] | None:
    """Refuse any change."""
    return [invalid(place.path, None, IMMUTABLE)] if place.updates else None


def kept(place: CheckedValue) -> list[FieldError] | None:
    """Refuse to set a value later, or to remove it; it may change."""
    if not place.updates or (place.value is None) == (place.old is None):
        return None
    return [invalid(place.path, None, SET_LATE if place.old is None else CLEARED)]


def gated(gate: str) -> Stop:
    """Return a rule that refuses a value unless a feature gate is on."""

    def stop(place: CheckedValue) -> list[FieldError] | None:
        if gate in place.features:
            return optional(place)
        return [] if place.value is None else [forbidden(place.path, "")]

    return stop


def if_on(gate: str, rule: Stop) -> Stop:
    """Return a rule that applies only if a feature gate is on."""
    return lambda place: rule(place) if gate in place.features else None


def at_most(limit: int) -> Stop:
    """Return a rule that limits the number of items."""

    def stop(place: CheckedValue) -> list[FieldError] | None:
        count = len(place.value or ())
        return [too_many(place.path, count, limit)] if count > limit else None

    return stop


def same_items(key: str) -> Stop:
    """Return a rule that refuses new items in a list, and the removal of items."""

    def stop(place: CheckedValue) -> list[FieldError] | None:
        if not place.updates:
            return None
        names = [item.get(key) for item in place.value or ()]
        before = [item.get(key) for item in place.old or ()]
        added = [
            forbidden(f"{place.path}[{i}]", ADDED)
            for i, name in enumerate(names)
            if name not in before
        ]
        removed = [forbidden(place.path, REMOVED) for name in before if name not in names]
        return added + removed or None

    return stop


def formatted(problems_of: Callable[[str], Iterable[str]]) -> Check:
    """Return a rule about the format of a text."""
    return lambda place: each(place.path, place.value, map(_in_bytes, problems_of(place.value)))


def _in_bytes(problem: str) -> str:
    """Return a problem with a limit in bytes; the checks of other kinds say characters."""
    if problem.startswith("must be no more than "):
        return problem.replace(" characters", " bytes")
    return problem


def minimum(limit: int) -> Check:
    """Return a rule that refuses smaller numbers."""
    why = f"must be greater than or equal to {limit}"
    return lambda place: [invalid(place.path, place.value, why)] if place.value < limit else []


def maximum(limit: int) -> Check:
    """Return a rule that refuses larger numbers."""
    why = f"must be less than or equal to {limit}"
    return lambda place: [invalid(place.path, place.value, why)] if place.value > limit else []


def one_of(*values: str) -> Check:
    """Return a rule that refuses all but some texts."""
    return lambda place: (
        [] if place.value in values else [not_supported(place.path, place.value, values)]
    )

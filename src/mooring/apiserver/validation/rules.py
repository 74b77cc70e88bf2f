"""The CEL rules of custom resource definitions (x-kubernetes-validations).

A rule that this CEL does not support is not checked.
"""

# apiextensions-apiserver: pkg/apiserver/schema/cel/{validation,values}.go

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mooring.api.field_errors import OMITTED, FieldError, duplicate, forbidden, invalid, required
from mooring.api.go_format import go_quote
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.rule_names import escape
from mooring.apiserver.validation.rule_programs import Rule, RuleNode, rules_of
from mooring.apiserver.validation.rule_types import Schema
from mooring.cel.meter import Bill, CostExceeded
from mooring.cel.values import NO_OVERLOAD, EvaluationError, Optional

#: The most that all rules together may cost for one object.
BUDGET = 10_000_000
#: The most elements and characters that functions may process for one object without cost. An API
#: server counts only the cost, which is not always in proportion to the time.
MOST_WORK = 50_000_000
OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_MESSAGE_OUT_OF_BUDGET = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation "
    "rules will be run"
)
_MESSAGE_TOO_EXPENSIVE = (
    "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
)
_MAX_MESSAGE = 5 * 1024
_ROOT = ("apiVersion", "kind", "metadata")


def check_rules(schema: Schema, obj: Object, old: Object | None) -> list[FieldError]:
    """Return the problems that rules find in a new or updated object."""
    node = rules_of(schema)
    if node is None:
        return []
    check = _Check()
    with suppress(_Over):
        check.node(node, _root(obj), _root(old) if old is not None else None, "")
    return check.problems


def _root(obj: Object) -> Object:
    """Return an object as rules see it: with only name and generateName in its metadata."""
    metadata = obj.get("metadata") or {}
    kept = {key: metadata[key] for key in ("name", "generateName") if key in metadata}
    return obj | {"metadata": kept}


class _Over(Exception):
    """The end of a check: no more rules are evaluated."""


class _Check:
    """The check of one object: the problems found, and what is left of the budget."""

    def __init__(self) -> None:
        self.problems: list[FieldError] = []
        self._budget = BUDGET
        self._work = 0

    def node(self, node: RuleNode, value: Any, old: Any, path: str) -> None:
        """Check a value and everything below it."""
        if value is None:
            return
        if node.rules:
            self._rules(node, value, old, path)
        if isinstance(value, list):
            self._items(node, value, old, path)
        elif isinstance(value, dict):
            self._fields(node, value, old, path)

    def _items(self, node: RuleNode, value: list[Any], old: Any, path: str) -> None:
        if node.items is None:
            return
        correlated = _Correlated(node.schema, old)
        for i, item in enumerate(value):
            self.node(node.items, item, correlated.find(item), f"{path}[{i}]")

    def _fields(self, node: RuleNode, value: Object, old: Any, path: str) -> None:
        atomic = node.schema.get("x-kubernetes-map-type") == "atomic"
        before = old if isinstance(old, dict) and not atomic else {}
        for name, item in value.items():
            if name in node.properties:
                where = f"{path}.{name}" if path else name
                self.node(node.properties[name], item, before.get(name), where)
            elif node.additional is not None:
                self.node(node.additional, item, before.get(name), f"{path}[{name}]")

    def _rules(self, node: RuleNode, value: Any, old: Any, path: str) -> None:
        kind = node.schema.get("type") or ""
        if self._budget <= 0:
            self._end(invalid(path, kind, OUT_OF_BUDGET))
        root = node.root or not path
        given = to_cel(node.schema, value, root=root)
        before = to_cel(node.schema, old, root=root) if old is not None else None
        for rule in node.rules:
            self._rule(node, rule, value, old, (given, before), path)

    def _end(self, problem: FieldError) -> None:
        self.problems.append(problem)
        raise _Over

    def _rule(
        self, node: RuleNode, rule: Rule, value: Any, old: Any, seen: tuple[Any, Any], path: str
    ) -> None:
        program, (given, before) = rule.program, seen
        if program is None:
            return
        if rule.given.get("optionalOldSelf"):
            before = Optional(old is not None, before)
        elif rule.uses_old and old is None:
            return
        variables = {"self": given, "oldSelf": before}
        said = str(rule.given.get("message") or rule.given["rule"]).strip()
        kind = node.schema.get("type") or ""
        bill = Bill()
        try:
            found, cost = program.evaluate(variables, bill=bill)
            failed = None
        except EvaluationError as error:
            found, cost, failed = None, error.cost, error
        self._work += bill.work
        if cost > self._budget or self._work > MOST_WORK:
            self._end(invalid(path, kind, OUT_OF_BUDGET))
        self._budget -= cost
        if failed is not None:
            self._failed(failed, kind, said, path)
            return
        if found is True:
            return
        where = f"{path}{_place(node.schema, rule.given.get('fieldPath') or '')}"
        message, over = self._message(rule, variables)
        # An unchanged value that already violated the rule is not refused.
        if rule.uses_old or old is None or old != value:
            if over:
                self.problems.append(invalid(where, kind, message))
            else:
                default = said if rule.given.get("message") else f"failed rule: {said}"
                self.problems.append(_problem(rule.given, kind, value, where, message or default))
        if over:
            raise _Over

    def _failed(self, error: EvaluationError, kind: str, said: str, path: str) -> None:
        if isinstance(error, CostExceeded):
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._end(invalid(path, kind, f"'{error}': {why}: {said}"))
        if str(error).startswith(NO_OVERLOAD):
            why = "call arguments did not match a supported operator, function or macro signature"
            self.problems.append(invalid(path, kind, f"'{error}': {why} for rule: {said}"))
        else:
            self.problems.append(invalid(path, kind, f"{error} evaluating rule: {said}"))

    def _message(self, rule: Rule, variables: Mapping[str, Any]) -> tuple[str, bool]:
        """Return the message that a rule computes, and whether computing it ended the check."""
        if rule.message_program is None:
            return "", False
        bill = Bill()
        try:
            found, cost = rule.message_program.evaluate(variables, bill=bill)
        except EvaluationError as error:
            self._work += bill.work
            if error.cost > self._budget:
                return _MESSAGE_OUT_OF_BUDGET, True
            if isinstance(error, CostExceeded):
                source = go_quote(rule.given["messageExpression"])
                return f"{_MESSAGE_TOO_EXPENSIVE}{source}", True
            self._budget -= error.cost
            return "", False
        self._work += bill.work
        if cost > self._budget:
            return _MESSAGE_OUT_OF_BUDGET, True
        self._budget -= cost
        text = found.strip() if isinstance(found, str) else ""
        usable = "\n" not in text and len(text.encode()) <= _MAX_MESSAGE
        return text if usable else "", False


class _Correlated:
    """The items of an old list by their keys, if the schema declares keys."""

    def __init__(self, schema: Schema, old: Any) -> None:
        self._keys = schema.get("x-kubernetes-list-map-keys") or ()
        self._old: dict[str, Any] = {}
        if schema.get("x-kubernetes-list-type") == "map" and isinstance(old, list):
            for one in reversed(old):
                if isinstance(one, dict):
                    self._old[self._key(one)] = one

    def _key(self, item: Object) -> str:
        return json.dumps([item.get(key) for key in self._keys], sort_keys=True)

    def find(self, item: Any) -> Any:
        """Return the old item with the same keys, or None."""
        if not self._old or not isinstance(item, dict):
            return None
        return self._old.get(self._key(item))


def _problem(rule: Object, kind: str, value: Any, path: str, message: str) -> FieldError:
    reason = rule.get("reason")
    if reason == "FieldValueForbidden":
        return forbidden(path, message)
    if reason == "FieldValueRequired":
        return required(path, message)
    given = OMITTED if kind in ("object", "array") else value
    if reason == "FieldValueDuplicate":
        return duplicate(path, given)
    return invalid(path, given, message)


def _place(schema: Schema, path: str) -> str:
    """Return a rule's fieldPath as messages write it: keys of maps are in brackets."""
    found, known = "", schema
    for name in path.lstrip(".").split(".") if path else ():
        properties = known.get("properties")
        found += f".{name}" if properties else f".[{name}]" if not found else f"[{name}]"
        known = (properties or {}).get(name) or known.get("additionalProperties") or {}
        known = known if isinstance(known, Mapping) else {}
    return found


def to_cel(schema: Schema, value: Any, *, root: bool = False) -> Any:
    """Return a value as rules see it, according to its schema."""
    if value is None or schema.get("x-kubernetes-int-or-string"):
        return value
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, list):
        items = schema.get("items")
        known = items if isinstance(items, Mapping) else {}
        return [to_cel(known, item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    named = root or schema.get("x-kubernetes-embedded-resource")
    found: Object = {}
    for name, item in value.items():
        if name in properties and not (named and name in _ROOT):
            written = escape(name)
            if written is not None:
                found[written] = to_cel(properties[name], item)
        elif named and name in _ROOT:
            found[name] = item
        elif isinstance(additional, Mapping):
            found[name] = to_cel(additional, item)
    return found

"""The rules that custom resource definitions write in CEL (x-kubernetes-validations).

A rule that the CEL we have does not understand is not checked: the real server would have refused
a definition with a rule that is none.
"""

# apiextensions-apiserver: pkg/apiserver/schema/cel/{validation,values}.go

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from mooring.apiserver.validation.field_problems import (
    Object,
    Problem,
    duplicate,
    forbidden,
    invalid,
    required,
)
from mooring.plugins.dynamic_resources.cel.evaluator import Program, build
from mooring.plugins.dynamic_resources.cel.parser import parse
from mooring.plugins.dynamic_resources.cel.values import CompileError, EvaluationError, Optional

Schema = Mapping[str, Any]

_NAMES = frozenset({"self", "oldSelf"})
_OLD = re.compile(r"\boldSelf\b")
_ROOT = ("apiVersion", "kind", "metadata")
_RESERVED = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    }
)
_NO_OVERLOAD = "no such overload"


def check_rules(schema: Schema, obj: Object, old: Object | None) -> list[Problem]:
    """Say which rules an object, or a change of one, does not keep."""
    return _check(schema, _root(obj), _root(old) if old is not None else None, "")


def _root(obj: Object) -> Object:
    """Return what rules see of an object: of its metadata, only how it is called."""
    metadata = obj.get("metadata") or {}
    kept = {key: metadata[key] for key in ("name", "generateName") if key in metadata}
    return obj | {"metadata": kept}


def _check(schema: Schema, value: Any, old: Any, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if schema.get("x-kubernetes-validations") and value is not None:
        given = to_cel(schema, value, root=not path)
        before = to_cel(schema, old, root=not path) if old is not None else None
        for rule in schema["x-kubernetes-validations"]:
            problems += _check_rule(schema, rule, value, old, (given, before), path)
    if isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            for i, item in enumerate(value):
                was = _correlated(schema, item, old)
                problems += _check(items, item, was, f"{path}[{i}]")
    elif isinstance(value, dict):
        problems += _check_fields(schema, value, old, path)
    return problems


def _check_fields(schema: Schema, value: Object, old: Any, path: str) -> list[Problem]:
    problems: list[Problem] = []
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    before = old if isinstance(old, dict) and not atomic else {}
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    for name, item in value.items():
        if name in properties:
            where = f"{path}.{name}" if path else name
            problems += _check(properties[name], item, before.get(name), where)
        elif isinstance(additional, Mapping):
            problems += _check(additional, item, before.get(name), f"{path}[{name}]")
    return problems


def _correlated(schema: Schema, item: Any, old: Any) -> Any:
    """Return the item of an old list that has the same keys, None where lists have none."""
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(item, dict):
        return None
    for one in old if isinstance(old, list) else ():
        if isinstance(one, dict) and all(one.get(key) == item.get(key) for key in keys):
            return one
    return None


def _check_rule(
    schema: Schema, rule: Object, value: Any, old: Any, seen: tuple[Any, Any], path: str
) -> list[Problem]:
    text = rule.get("rule") or ""
    program = _program(text)
    if program is None:
        return []
    transition, (given, before) = bool(_OLD.search(text)), seen
    if rule.get("optionalOldSelf"):
        before = Optional(old is not None, before)
    elif transition and old is None:
        return []
    variables = {"self": given, "oldSelf": before}
    said = str(rule.get("message") or text).strip()
    kind = schema.get("type") or ""
    try:
        if program(variables) is True:
            return []
    except EvaluationError as error:
        if str(error).startswith(_NO_OVERLOAD):
            why = "call arguments did not match a supported operator, function or macro signature"
            return [invalid(path, kind, f"'{error}': {why} for rule: {said}")]
        return [invalid(path, kind, f"{error} evaluating rule: {said}")]
    if not transition and old is not None and old == value:
        return []  # what was wrong before and has not changed is let be
    message = _message(rule, variables) or (said if rule.get("message") else f"failed rule: {said}")
    where = _place(schema, rule.get("fieldPath") or "")
    return [_problem(rule, kind, value, f"{path}{where}", message)]


def _problem(rule: Object, kind: str, value: Any, path: str, message: str) -> Problem:
    reason = rule.get("reason")
    if reason == "FieldValueForbidden":
        return forbidden(path, message)
    if reason == "FieldValueRequired":
        return required(path, message)
    whole = kind in ("object", "array")
    if reason == "FieldValueDuplicate":
        return ("FieldValueDuplicate", path, "Duplicate value") if whole else duplicate(path, value)
    if whole:
        return ("FieldValueInvalid", path, f"Invalid value: {message}")
    return invalid(path, value, message)


def _place(schema: Schema, path: str) -> str:
    """Return the path that a rule blames, as refusals write it: keys of maps are in brackets."""
    found, known = "", schema
    for name in path.lstrip(".").split(".") if path else ():
        properties = known.get("properties")
        found += f".{name}" if properties else f".[{name}]" if not found else f"[{name}]"
        known = (properties or {}).get(name) or known.get("additionalProperties") or {}
        known = known if isinstance(known, Mapping) else {}
    return found


def _message(rule: Object, variables: Mapping[str, Any]) -> str:
    program = _program(rule.get("messageExpression") or "")
    if program is None:
        return ""
    try:
        found = program(variables)
    except EvaluationError:
        return ""
    text = found.strip() if isinstance(found, str) else ""
    return "" if "\n" in text else text


@lru_cache(maxsize=1024)
def _program(text: str) -> Program | None:
    try:
        return build(parse(text), _NAMES) if text.strip() else None
    except CompileError:
        return None


def escape(name: str) -> str:
    """Return a property's name as rules write it."""
    if name in _RESERVED:
        return f"__{name}__"
    for mark, word in (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__")):
        name = name.replace(mark, word)
    return name.replace("/", "__slash__")


def to_cel(schema: Schema, value: Any, *, root: bool = False) -> Any:
    """Return a value as rules see it, by its schema."""
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
            found[escape(name)] = to_cel(properties[name], item)
        elif named and name in _ROOT:
            found[name] = item
        elif isinstance(additional, Mapping):
            found[name] = to_cel(additional, item)
    return found

"""Compile the validation rules of a schema, with the types that the schema declares."""

# apiextensions-apiserver: pkg/apiserver/schema/cel/compilation.go

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.rule_names import escape
from mooring.apiserver.validation.rule_types import Schema, declare
from mooring.cel.declared import Declared, sizes_below
from mooring.cel.environment import Environment, Expression, Program
from mooring.cel.types import optional_type
from mooring.cel.values import CompileError

NOT_BOOLEAN = "cel expression must evaluate to a bool"
NOT_TEXT = "messageExpression must evaluate to a string"
_REMEMBERED = 64


class Rule(msgspec.Struct):
    """A rule with its programs, which are None if this CEL does not support the expression."""

    given: Object
    expression: Expression | None = None
    program: Program | None = None
    message: Expression | None = None
    message_program: Program | None = None
    error: str = ""
    message_error: str = ""

    @property
    def uses_old(self) -> bool:
        """Whether the rule refers to the old value."""
        return self.expression is not None and "oldSelf" in self.expression.variables


class RuleNode(msgspec.Struct):
    """The rules of a schema and of the schemas below it."""

    schema: Schema
    root: bool
    declared: Declared
    rules: list[Rule]
    items: RuleNode | None = None
    properties: dict[str, RuleNode] = {}
    additional: RuleNode | None = None

    def __bool__(self) -> bool:
        return bool(self.rules or self.items or self.properties or self.additional)

    def max_cost(self, expression: Expression) -> int:
        """Return the most that a rule or its message can cost."""
        return expression.max_cost(sizes_below(self.declared))

    def below(self) -> Iterator[tuple[str, RuleNode]]:
        """Yield the child nodes, with the last part of their paths in the definition."""
        if self.items is not None:
            yield "items", self.items
        if self.additional is not None:
            yield "additionalProperties", self.additional
        for name, node in self.properties.items():
            yield f"properties[{name}]", node


class _Identity:
    """A key for a schema, which is equal only to itself."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


def rules_of(schema: Schema) -> RuleNode | None:
    """Return the rules in the schema of a custom resource, or None if it has none."""
    return _rules_of(_Identity(schema))


@lru_cache(maxsize=_REMEMBERED)
def _rules_of(key: _Identity) -> RuleNode | None:
    declared = declare(key.schema, root=True)
    return None if declared is None else _node(key.schema, declared, root=True)


def _node(schema: Schema, declared: Declared, *, root: bool) -> RuleNode | None:
    node = RuleNode(schema, root, declared, _compile(schema, declared))
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, Mapping) and declared.element is not None:
        node.items = _inner(items, declared.element)
    elif isinstance(additional, Mapping) and declared.element is not None:
        node.additional = _inner(additional, declared.element)
    fields = declared.fields or {}
    for name, inner in (schema.get("properties") or {}).items():
        escaped = escape(name)
        found = declare(inner) if escaped is None else fields.get(escaped)
        below = None if found is None else _inner(inner, found)
        if below is not None:
            node.properties[name] = below
    return node if node else None


def _inner(schema: Schema, declared: Declared) -> RuleNode | None:
    return _node(schema, declared, root=bool(schema.get("x-kubernetes-embedded-resource")))


def _compile(schema: Schema, declared: Declared) -> list[Rule]:
    rules = schema.get("x-kubernetes-validations") or ()
    if not rules:
        return []
    plain = {"self": declared.type, "oldSelf": declared.type}
    environments = [
        Environment(variables, declared)
        for variables in (plain, plain | {"oldSelf": optional_type(declared.type)})
    ]
    return [_rule(rule, environments[bool(rule.get("optionalOldSelf"))]) for rule in rules]


def _rule(given: Object, environment: Environment) -> Rule:
    rule, source = Rule(given), given.get("rule") or ""
    if not source.strip():
        return rule
    try:
        rule.expression = environment.compile(source)
    except CompileError as error:
        rule.error = f"compilation failed: {error}"
        return rule
    if rule.expression.type.kind != "bool":
        rule.expression, rule.error = None, NOT_BOOLEAN
        return rule
    rule.program, rule.error = _program(rule.expression)
    if not rule.error and (text := given.get("messageExpression")):
        _message(rule, text, environment)
    return rule


def _message(rule: Rule, source: str, environment: Environment) -> None:
    try:
        rule.message = environment.compile(source)
    except CompileError as error:
        rule.message_error = f"messageExpression compilation failed: {error}"
        return
    if rule.message.type.kind != "string":
        rule.message, rule.message_error = None, NOT_TEXT
        return
    rule.message_program, rule.message_error = _program(rule.message)


def _program(expression: Expression) -> tuple[Program | None, str]:
    """Return the program of an expression, or the error in its constants.

    Return neither if this CEL does not support the expression.
    """
    try:
        return expression.program(), ""
    except CompileError as error:
        text = str(error)
        return None, text if text.startswith("program instantiation failed") else ""

"""Expressions over one variable of any type, `x`."""

from __future__ import annotations

from typing import Any

from mooring.cel import types
from mooring.cel.checker import Checked, Declarations, check
from mooring.cel.declarations import functions
from mooring.cel.declared import Declared
from mooring.cel.environment import Environment
from mooring.cel.parser import parse
from mooring.cel.syntax import Node

ENVIRONMENT = Environment({"x": types.DYN}, Declared(types.DYN))


def evaluate(source: str, x: Any = None, **given: Any) -> tuple[Any, int]:
    """Return the value of an expression, and its cost."""
    return ENVIRONMENT.compile(source).program().evaluate({"x": x}, **given)


def checked(source: str, **variables: str) -> tuple[Node, Checked]:
    """Parse and check an expression; the types of its variables are given as text."""
    known = {name: types.read_type(text) for name, text in variables.items()}
    fields = {"test.Pod": {"name": types.STRING}}
    node = parse(source)
    return node, check(node, Declarations(known, fields, functions()))

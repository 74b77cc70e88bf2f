"""Compile expressions for the variables and functions of the place in which they are used."""

# cel-go: cel/env.go, cel/program.go; apiserver: pkg/cel/environment

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooring.cel.call_estimates import Sizes
from mooring.cel.checker import Checked, Declarations, check
from mooring.cel.declarations import functions, read_overload
from mooring.cel.declared import Declared, object_fields
from mooring.cel.depth import SHALLOW, room_for
from mooring.cel.estimator import estimate
from mooring.cel.evaluation import build
from mooring.cel.issues import describe
from mooring.cel.meter import PER_CALL_LIMIT, Bill, Frame
from mooring.cel.parser import parse
from mooring.cel.reads import Reads, find_reads
from mooring.cel.syntax import Node, depth_of
from mooring.cel.types import Type
from mooring.cel.values import CompileError, EvaluationError

#: Python frames per level of a tree, in the checker, the estimator and the evaluator.
_FRAMES = 5


class Expression:
    """An expression that passed the type check."""

    def __init__(self, node: Node, checked: Checked) -> None:
        self._node = node
        self._checked = checked
        self._levels = depth_of(node)

    @property
    def type(self) -> Type:
        """The type of the expression's value."""
        return self._checked.types[self._node.id]

    @property
    def work(self) -> int:
        """Return what compiling the constant patterns took so far."""
        return self._checked.patterns.work

    @property
    def variables(self) -> frozenset[str]:
        """The variables that the expression reads."""
        return frozenset(self._checked.read)

    def reads(self) -> Reads:
        """Return the parts of the variables that the expression reads."""
        with room_for(self._levels, _FRAMES):
            return find_reads(self._node)

    def max_cost(self, sizes: Sizes) -> int:
        """Return the most that an evaluation can cost."""
        with room_for(self._levels, _FRAMES):
            return estimate(self._node, self._checked, sizes).high

    def program(self) -> Program:
        """Return a program that evaluates the expression, or raise CompileError."""
        try:
            with room_for(self._levels, _FRAMES):
                run, slots = build(self._node, self._checked)
        except CompileError as error:
            error.work = self.work
            raise
        return Program(run, slots, self._levels)


class Program:
    """An expression that can be evaluated."""

    __slots__ = ("_levels", "_run", "_slots")

    def __init__(self, run: Any, slots: int, levels: int) -> None:
        self._run = run
        self._slots = slots
        self._levels = levels

    def evaluate(
        self,
        variables: Mapping[str, Any],
        limit: int = PER_CALL_LIMIT,
        bill: Bill | None = None,
    ) -> tuple[Any, int]:
        """Return the value and its cost; raise EvaluationError if there is no value.

        Raise CostExceeded once more than `limit` has been spent. What the evaluation took is
        recorded in `bill`, if there is one.
        """
        frame = Frame(variables, self._slots, limit)
        try:
            if self._levels <= SHALLOW:
                return self._run(frame), frame.cost
            with room_for(self._levels, _FRAMES):
                return self._run(frame), frame.cost
        except EvaluationError as error:
            error.cost = frame.cost
            raise
        finally:
            if bill is not None:
                bill.take(frame)


class Environment:
    """Variables and functions that expressions may use."""

    def __init__(self, variables: Mapping[str, Type], declared: Declared, *more: str) -> None:
        known = dict(functions())
        for line in more:
            name, overload = read_overload(line)
            known[name] = (*known.get(name, ()), overload)
        self._declarations = Declarations(variables, object_fields(declared), known)

    def compile(self, source: str) -> Expression:
        """Parse and check an expression, or raise CompileError."""
        node = parse(source)
        with room_for(depth_of(node), _FRAMES):
            checked = check(node, self._declarations)
        if checked.issues:
            error = CompileError(describe(source, checked.issues))
            error.work = checked.patterns.work
            raise error
        return Expression(node, checked)

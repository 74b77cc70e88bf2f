"""Mutants: all small changes to a source file that a test should notice, and a draw among them.

A mutant replaces one node of a file's syntax tree. Some code is never changed, because no test can
or should notice. Only the rules of `_skipped` and `_kept_fields`, and the variants, decide that:

- docstrings, strings, annotations, imports, decorators and the options of a class (`frozen=True`);
- `if TYPE_CHECKING:` and assertions, which only state what holds anyway;
- log lines, with all their arguments, and the test of a log level around them;
- `__repr__`; `validate`, which tests call to check a state's invariants, and `recount.py`, which
  only `validate` uses;
- `strict=` of zip, which guards against what cannot happen;
- 0 to -1, and -1 to -2: counts and positions are not negative, and a mark for "none" may be any
  negative number;
- an empty collection that is returned: for callers that test its truth None is the same, and mypy
  refuses None;
- names such as `__slots__` and `__all__`.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

#: Calls that only write to the log.
LOGGERS = {"log", "logger", "logging", "vlog", "verbose", "log_error"}
#: Functions that describe an object, or check its invariants for tests.
UNTESTED_FUNCTIONS = {"__repr__", "validate"}
UNTESTED_FILES = {"recount.py"}

NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


class Mutant(msgspec.Struct, frozen=True):
    """One change to one file."""

    path: Path
    line: int
    before: str
    after: str
    #: The function or class around it, and how many equal changes precede it in there.
    scope: str
    ordinal: int
    #: Index of the changed node in the order of `_nodes`, and of this variant among its variants.
    position: int
    variant: int
    #: The lines of the statement, without those of the statements in it.
    lines: range
    #: Whether the changed code runs when the module is imported.
    at_import: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before} → {self.after}"

    def tree(self) -> ast.Module:
        """Return the syntax tree of the changed file."""
        tree = ast.parse(self.path.read_bytes())
        for number, found in enumerate(_nodes(tree)):
            if number == self.position:
                replacement = list(_variants(found))[self.variant]
                ast.copy_location(replacement, found.node)
                found.replace(replacement)
                return ast.fix_missing_locations(tree)
        raise LookupError(f"{self.path} has changed")

    def rank(self, seed: int) -> bytes:
        """Return the mutant's sort key in the draw of a seed.

        It depends only on the change, so edits elsewhere do not change a draw.
        """
        key = (seed, self.path.as_posix(), self.scope, self.before, self.after, self.ordinal)
        return hashlib.sha256(repr(key).encode()).digest()


_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Around(msgspec.Struct, frozen=True):
    """The surroundings of a node."""

    #: Names of the functions and classes.
    scope: tuple[str, ...]
    #: The functions that must be called to reach it.
    functions: tuple[_Function, ...]
    #: Lines of the innermost statement, without those of the statements in it.
    lines: range

    def within(self, node: ast.AST) -> _Around:
        """Return the surroundings of the children of a node."""
        scope, functions, lines = self.scope, self.functions, self.lines
        if isinstance(node, ast.stmt):
            lines = _lines(node)
        if isinstance(node, ast.ClassDef | _Function):
            scope = (*scope, node.name)
        if isinstance(node, _Function):
            functions = (*functions, node)
        elif isinstance(node, ast.arguments):
            # Defaults are evaluated when the function is defined.
            functions = functions[:-1]
        return _Around(scope, functions, lines)


def _lines(statement: ast.stmt) -> range:
    end = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if isinstance(body, list):
        end = max(statement.lineno, body[0].lineno - 1)
    return range(statement.lineno, end + 1)


class _Found(msgspec.Struct, frozen=True):
    """A node of a tree that may be changed, and its position."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    around: _Around

    def replace(self, node: ast.AST) -> None:
        """Put another node in its place."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def draw(paths: list[Path], seed: int, count: int) -> list[Mutant]:
    """Return `count` mutants of some files, chosen by a seed, in the order of the files."""
    every = [mutant for path in paths for mutant in mutants(path)]
    chosen = sorted(every, key=lambda mutant: mutant.rank(seed))[:count]
    return sorted(chosen, key=lambda mutant: (mutant.path, mutant.line, mutant.position))


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    if path.name in UNTESTED_FILES:
        return
    seen: dict[tuple[str, str, str], int] = {}
    for position, found in enumerate(_nodes(ast.parse(path.read_bytes()))):
        for variant, replacement in enumerate(_variants(found)):
            before, after = _text(found.node), _text(replacement)
            scope = ".".join(found.around.scope)
            key = (scope, before, after)
            seen[key] = ordinal = seen.get(key, -1) + 1
            yield Mutant(
                path,
                getattr(found.node, "lineno", 1),
                before,
                after,
                scope,
                ordinal,
                position,
                variant,
                found.around.lines,
                not found.around.functions,
            )


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:99] + "…"


def _nodes(tree: ast.Module) -> Iterator[_Found]:
    """Yield the nodes that may be changed, each before those below it."""
    yield from _below(tree, _Around((), (), range(0)))


def _below(parent: ast.AST, around: _Around) -> Iterator[_Found]:
    for field in _kept_fields(parent):
        value = getattr(parent, field, None)
        several = isinstance(value, list)
        for index, node in enumerate(value if several else [value]):
            if isinstance(node, ast.AST) and not _skipped(node):
                inside = around.within(node)
                place = index if several else None
                yield _Found(
                    node, parent, field, place, msgspec.structs.replace(around, lines=inside.lines)
                )
                yield from _below(node, inside)


def _kept_fields(node: ast.AST) -> tuple[str, ...]:
    """Return the fields of a node below which something may be changed."""
    if isinstance(node, ast.ClassDef):
        return ("body",)
    if isinstance(node, _Function):
        return ("args", "body")
    if isinstance(node, ast.arguments):
        return ("defaults", "kw_defaults")
    if isinstance(node, ast.AnnAssign):
        return ("target", "value")
    if isinstance(node, ast.JoinedStr | ast.FormattedValue):
        return ("values", "value")
    return node._fields


def _skipped(node: ast.AST) -> bool:
    """Return whether a node and all below it stay as they are."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Global() | ast.Nonlocal():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name in UNTESTED_FUNCTIONS
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.If(test=ast.Call() | ast.BoolOp() as test):
            parts = test.values if isinstance(test, ast.BoolOp) else [test]
            return any(isinstance(part, ast.Call) and _logs(part) for part in parts)
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Call():
            return _logs(node)
        case ast.keyword(arg="strict"):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name.startswith("__") and name.endswith("__")
    return False


def _logs(call: ast.Call) -> bool:
    name: ast.expr = call.func
    while isinstance(name, ast.Attribute):
        name = name.value
    return isinstance(name, ast.Name) and name.id in LOGGERS


def _variants(found: _Found) -> Iterator[ast.AST]:
    """Yield the nodes that a node is changed to."""
    match found.node:
        case ast.Compare() as node:
            yield from _comparisons(node)
        case ast.BinOp() | ast.AugAssign() as node:
            if type(node.op) in ARITHMETIC:
                yield _with(node, op=ARITHMETIC[type(node.op)]())
            if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
                yield ast.Pass()
        case ast.BoolOp() as node:
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield copy.deepcopy(operand)
            if isinstance(operand, ast.Constant) and type(operand.value) is int:
                yield ast.Constant(1 - operand.value)
        case ast.Constant(value=value) if not isinstance(value, str | bytes):
            if not isinstance(found.parent, ast.UnaryOp):
                yield from _constants(value)
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call()) as value):
            call = value.value if isinstance(value, ast.Await) else value
            if not _logs(call):
                yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.AnnAssign(target=ast.Attribute(), value=ast.expr()):
            yield ast.Pass()
        case ast.Delete():
            yield ast.Pass()
        case ast.Return(value=value):
            yield from _returns(value, found.around.functions)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
            yield ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for index, operator in enumerate(node.ops):
        for table in (NEGATED, BOUNDARY):
            if type(operator) in table:
                operators = [*node.ops]
                operators[index] = table[type(operator)]()
                yield _with(node, ops=operators)


def _constants(value: object) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1)
        if value > 0:
            yield ast.Constant(value - 1)
        if isinstance(value, int) and value in (0o600, 0o700):
            yield ast.Constant(value | 0o044)


def _returns(value: ast.expr | None, functions: tuple[_Function, ...]) -> Iterator[ast.AST]:
    if value is None:
        yield ast.Pass()
    elif ast.unparse(value) in ("[]", "()", "{}"):
        return
    elif isinstance(value, ast.Constant):
        if value.value is not None and not isinstance(value.value, bool | int | float):
            yield ast.Return(ast.Constant(None))
    elif functions and _text(functions[-1].returns or ast.Pass()) == "bool":
        yield ast.Return(ast.UnaryOp(ast.Not(), copy.deepcopy(value)))
    else:
        yield ast.Return(ast.Constant(None))

"""Which parts of its variables an expression reads.

Two values of a variable that agree in these parts give the same result. A part is a path of
constant keys: `device.attributes["a"].b` reads `("device", "attributes", "a", "b")`. A read of a
path is a read of everything below it.
"""

from __future__ import annotations

from collections.abc import Mapping

from mooring.cel.syntax import (
    EQUALS,
    IN,
    INDEX,
    NOT_EQUALS,
    OPT_INDEX,
    OPT_SELECT,
    Call,
    Comprehension,
    Ident,
    ListOf,
    Literal,
    Node,
    Select,
    children,
)

#: A variable and the constant keys that lead to one of its parts.
Path = tuple[str, ...]

#: For each path, the strings that its value is compared with, if the expression does nothing else
#: with the value; None if it does. Two strings that are not among these give the same result.
Reads = dict[Path, frozenset[str] | None]

_Names = Mapping[str, Path | None]


def find_reads(node: Node) -> Reads:
    """Return the paths that an expression reads."""
    found = _Reader()
    found.read(node, {})
    if found.loops:
        # Comparing longer strings costs more, and loops repeat it: lengths could matter.
        return dict.fromkeys(found.reads)
    return found.reads


class _Reader:
    def __init__(self) -> None:
        self.reads: Reads = {}
        self.loops = False

    def read(self, node: Node, names: _Names) -> None:
        """Record what a node reads; `names` are the local variables that stand for a path."""
        path = self._path(node, names)
        if path is not None:
            self._add(path, None)
        elif isinstance(node, Comprehension):
            self._comprehension(node, names)
        elif not (isinstance(node, Call) and self._comparison(node, names)):
            for child in children(node):
                self.read(child, names)

    def _add(self, path: Path, compared: frozenset[str] | None) -> None:
        before = self.reads.get(path, frozenset())
        self.reads[path] = None if before is None or compared is None else before | compared

    def _path(self, node: Node, names: _Names) -> Path | None:
        """Return the path that a node spells; None if it is anything else."""
        if isinstance(node, Ident):
            return names.get(node.name, (node.name,))
        if isinstance(node, Select):
            operand = self._path(node.operand, names)
            return None if operand is None else (*operand, node.field)
        if isinstance(node, Call) and node.function in (INDEX, OPT_INDEX, OPT_SELECT):
            operand, key = self._path(node.args[0], names), _text(node.args[1])
            return None if operand is None or key is None else (*operand, key)
        return None

    def _comparison(self, node: Call, names: _Names) -> bool:
        """Record a path that is compared with constants, or in which a key is looked up."""
        if node.function == IN:
            left, right = node.args
            key, holder = _text(left), self._path(right, names)
            if key is not None and holder is not None:
                self._add((*holder, key), None)
                return True
            texts = _texts(right)
        elif node.function in (EQUALS, NOT_EQUALS):
            left, right = node.args
            if _text(left) is not None:
                left, right = right, left
            text = _text(right)
            texts = None if text is None else frozenset((text,))
        else:
            return False
        path = self._path(left, names)
        if path is None or texts is None:
            return False
        self._add(path, texts)
        return True

    def _comprehension(self, node: Comprehension, names: _Names) -> None:
        if node.binds():
            path = self._path(node.init, names)
            if path is None:
                self.read(node.init, names)
            self.read(node.result, {**names, node.accumulator: path})
            return
        self.loops = True
        self.read(node.range, names)
        self.read(node.init, names)
        inner = {**names, **dict.fromkeys((node.variable, node.second, node.accumulator))}
        for part in (node.condition, node.step, node.result):
            self.read(part, inner)


def _text(node: Node) -> str | None:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else None


def _texts(node: Node) -> frozenset[str] | None:
    if not isinstance(node, ListOf):
        return None
    found = [_text(element) for element in node.elements]
    return None if None in found else frozenset(text for text in found if text is not None)

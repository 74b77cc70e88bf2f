"""The types of CEL, and how they unify."""

# cel-go: common/types/types.go, checker/types.go, checker/format.go

from __future__ import annotations

from collections.abc import Iterable

#: Kinds of types that unify with every type.
_WILD = ("dyn", "any", "error")
_NULLABLE = ("opaque", "struct", "any", "duration", "timestamp")


#: The most characters of a type's text. Each bind can double a type, so a limit is needed; cel-go
#: has none.
_MAX_TEXT = 20_000


class TypeFault(Exception):
    """A type that is too large."""


class Type:
    """A type: its kind, its name, and its type parameters."""

    __slots__ = ("free", "kind", "name", "parameters", "text")
    text: str
    free: bool

    def __init__(self, kind: str, name: str, parameters: tuple[Type, ...] = ()) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters
        shown = {"error": "!error!", "null_type": "null"}.get(kind, name)
        inner = ", ".join([parameter.text for parameter in parameters])
        #: The type as messages show it; types with the same text are equal.
        self.text = f"{shown}({inner})" if parameters else shown
        if len(self.text) > _MAX_TEXT:
            raise TypeFault("the type of a part of the expression is too large")
        #: Whether it contains unresolved type parameters.
        self.free = kind == "param" or any([parameter.free for parameter in parameters])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


BOOL, INT, UINT, DOUBLE = (Type(kind, kind) for kind in ("bool", "int", "uint", "double"))
STRING, BYTES, NULL, DYN, ANY = (
    Type(kind, kind) for kind in ("string", "bytes", "null_type", "dyn", "any")
)
DURATION, TIMESTAMP, ERROR = (Type(kind, kind) for kind in ("duration", "timestamp", "error"))
QUANTITY = Type("struct", "kubernetes.Quantity")
_SIMPLE = {
    found.name: found
    for found in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, DYN, ANY, DURATION, TIMESTAMP)
} | {"null": NULL, "null_type": NULL}
_OPAQUE = ("net.IP", "net.CIDR")


def list_type(element: Type) -> Type:
    """Return the type of lists with elements of a type."""
    return Type("list", "list", (element,))


def map_type(key: Type, value: Type) -> Type:
    """Return the type of maps."""
    return Type("map", "map", (key, value))


def optional_type(value: Type) -> Type:
    """Return the type of values that may be missing."""
    return Type("opaque", "optional_type", (value,))


def struct_type(name: str) -> Type:
    """Return the type of objects with that name."""
    return Type("struct", name)


def type_parameter(name: str) -> Type:
    """Return a type parameter."""
    return Type("param", name)


def read_type(text: str) -> Type:
    """Return the type that a text denotes, such as `map(K, list(V))`.

    >>> read_type("map(K, list(V))")
    map(K, list(V))
    """
    head, opened, rest = text.partition("(")
    if not opened:
        if head in _SIMPLE:
            return _SIMPLE[head]
        if len(head) == 1:
            return type_parameter(head)
        return Type("opaque" if head in _OPAQUE else "struct" if "." in head else head, head)
    parts = tuple(read_type(part) for part in split_types(rest[:-1]))
    return Type({"optional_type": "opaque"}.get(head, head), head, parts)


def split_types(text: str) -> list[str]:
    """Return the parts of a comma-separated list of types."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        if character in "()":
            depth += 1 if character == "(" else -1
        elif character == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def is_dyn(found: Type) -> bool:
    """Return whether a type admits every value."""
    return found.kind in ("dyn", "any")


def unwrap_optional(found: Type) -> tuple[Type, bool]:
    """Return the type inside an optional type, and whether it was optional."""
    if found.kind == "opaque" and found.name == "optional_type":
        return found.parameters[0], True
    return found, False


class Substitutions:
    """The known values of type parameters, which a failed attempt leaves unchanged."""

    def __init__(self) -> None:
        self._known: dict[str, Type] = {}
        self._undo: list[tuple[str, Type | None]] = []

    def _set(self, parameter: Type, found: Type) -> None:
        self._undo.append((parameter.text, self._known.get(parameter.text)))
        self._known[parameter.text] = found

    def assignable(self, given: Iterable[Type], wanted: Iterable[Type]) -> bool:
        """Return whether given types can be used as the wanted ones; if so, set the parameters."""
        self._undo.clear()
        if self._all(list(given), list(wanted)):
            return True
        for name, before in reversed(self._undo):
            if before is None:
                del self._known[name]
            else:
                self._known[name] = before
        return False

    def apply(self, found: Type, *, unknown_is_dyn: bool = False) -> Type:
        """Return a type with its known type parameters replaced."""
        if not found.free:
            return found
        if found.kind == "param":
            known = self._known.get(found.text)
            if known is not None:
                return self.apply(known, unknown_is_dyn=unknown_is_dyn)
            return DYN if unknown_is_dyn else found
        inner = tuple([self.apply(one, unknown_is_dyn=unknown_is_dyn) for one in found.parameters])
        return Type(found.kind, found.name, inner)

    def _all(self, given: list[Type], wanted: list[Type]) -> bool:
        if len(given) != len(wanted):
            return False
        return all(self._one(a, b) for a, b in zip(given, wanted, strict=True))

    def _one(self, a: Type, b: Type) -> bool:
        if b.kind == "param":
            valid, known = self._substitute(a, b)
            if valid or known:
                return valid
        if a.kind == "param":
            return self._substitute(b, a)[0]
        if a.kind in _WILD or b.kind in _WILD:
            return True
        if a.kind == "null_type" or b.kind == "null_type":
            other = b if a.kind == "null_type" else a
            return other.kind == "null_type" or other.kind in _NULLABLE
        if a.kind == "type":
            return b.kind == "type"
        if a.kind in ("opaque", "list", "map"):
            same = a.kind == b.kind and a.name == b.name
            return same and self._all([*a.parameters], [*b.parameters])
        return a == b

    def _substitute(self, a: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether a type fits a parameter, and whether the parameter was already known."""
        if a == parameter:
            return True, True
        known = self._known.get(parameter.text)
        if known is not None:
            if a == known:
                return True, True
            if not self._one(a, known):
                return False, True
            general = a if _less_specific(a, known) else known
            if self._absent(parameter, general):
                self._set(parameter, general)
            return True, True
        if self._absent(parameter, a):
            self._set(parameter, a)
            return True, False
        return False, False

    def _absent(self, parameter: Type, within: Type) -> bool:
        """Return whether a parameter does not occur in a type."""
        if parameter == within:
            return False
        if within.kind == "param":
            known = self._known.get(within.text)
            return known is None or self._absent(parameter, known)
        if not within.free:
            return True
        return all(self._absent(parameter, inner) for inner in within.parameters)


def most_general(a: Type, b: Type) -> Type:
    """Return the more general of two types that unify."""
    return a if _less_specific(a, b) else b


def _less_specific(a: Type, b: Type) -> bool:
    if is_dyn(a) or a.kind == "param":
        return True
    if is_dyn(b) or b.kind == "param" or a.kind != b.kind:
        return False
    if a.kind == "type":
        return True
    if a.kind in ("opaque", "list", "map"):
        if a.name != b.name or len(a.parameters) != len(b.parameters):
            return False
        pairs = zip(a.parameters, b.parameters, strict=True)
        return all(_less_specific(one, other) for one, other in pairs)
    return a == b

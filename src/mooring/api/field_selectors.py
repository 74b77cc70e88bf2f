"""Field selectors: `spec.nodeName=x,status.phase!=Failed`."""

# apimachinery: pkg/fields/selector.go

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.errors import ObjectError

_PART = re.compile(r"((?:[^\\,=!]|\\.)+?)(==|!=|=)((?:[^\\,=]|\\.)*)")
_SPECIAL = re.compile(r"([\\,=])")
_ESCAPE = re.compile(r"\\(.)")


class FieldRequirement(msgspec.Struct, frozen=True):
    """A requirement that a field equals a value, or does not."""

    path: str
    value: str
    equal: bool = True


class FieldSelector:
    """A selector of objects by their fields; all requirements must hold. Hashable."""

    __slots__ = ("requirements",)

    requirements: tuple[FieldRequirement, ...]

    def __init__(self, requirements: tuple[FieldRequirement, ...] = ()) -> None:
        self.requirements = requirements

    @classmethod
    def from_text(cls, text: str) -> FieldSelector:
        r"""Parse the text form; `\` escapes a comma, an equal sign or itself in a value."""
        requirements = []
        # Sorted as in Go, which decides the name that a request with several names is for.
        for part in sorted(_split(text)):
            match = _PART.fullmatch(part)
            if match is None:
                raise ObjectError(
                    f"invalid field selector {text!r}: can't understand {part!r}; "
                    "expected path=value, path==value or path!=value"
                )
            path, operator, value = match.groups()
            requirements.append(
                FieldRequirement(path.strip(), _ESCAPE.sub(r"\1", value), operator != "!=")
            )
        return cls(tuple(requirements))

    @property
    def empty(self) -> bool:
        """Return whether this restricts nothing."""
        return not self.requirements

    def required(self, path: str) -> str:
        """Return the value that a field must equal, "" if none is required."""
        return next((one.value for one in self.requirements if one.path == path and one.equal), "")

    def matches(self, obj: msgspec.Struct | Mapping[str, Any]) -> bool:
        """Return whether an object satisfies this; an absent field is the empty string."""
        return all(
            (field_text(obj, requirement.path) == requirement.value) is requirement.equal
            for requirement in self.requirements
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and set(self.requirements) == set(
            other.requirements
        )

    def __hash__(self) -> int:
        return hash(frozenset(self.requirements))

    def __str__(self) -> str:
        return ",".join(
            r.path + ("=" if r.equal else "!=") + _SPECIAL.sub(r"\\\1", r.value)
            for r in self.requirements
        )


def _split(text: str) -> list[str]:
    """Split at commas that are not escaped, dropping empty parts."""
    return [part for part in re.findall(r"(?:[^\\,]|\\.|\\$)+", text) if part]


def field_text(obj: msgspec.Struct | Mapping[str, Any], path: str) -> str:
    """Return the field at a dotted path of wire names as text; "" if it is absent."""
    found: Any = obj
    for step in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(step)
        elif isinstance(found, msgspec.Struct):
            found = _attribute(found, step)
        else:
            return ""
    if found is None:
        return ""
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found)


def _attribute(struct: msgspec.Struct, wire: str) -> Any:
    for name, encoded in zip(
        struct.__struct_fields__, struct.__struct_encode_fields__, strict=True
    ):
        if encoded == wire:
            return getattr(struct, name)
    return None

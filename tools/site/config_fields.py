"""The page of every field of KubeSchedulerConfiguration and of the plugins' arguments."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.config.types import KubeSchedulerConfiguration
from mooring.registry import default_registry
from tools.site.attribute_comments import of_class

_INTRODUCTION = (
    "Every field of the file, with its default. [Configuration](../configuration.md) explains how "
    "they work together. `pluginConfig` holds the arguments of plugins, which follow below."
)


def page() -> str:
    """Return the page as Markdown."""
    blocks = ["# Configuration fields", _INTRODUCTION]
    for struct in _reachable(KubeSchedulerConfiguration):
        blocks += [f"## {struct.__name__}", struct.__doc__ or "", _table(struct)]
    blocks.append("## Arguments of plugins")
    registry = default_registry()
    for name in registry.names():
        args = getattr(registry.get(name), "Args", None)
        if args is None or not msgspec.structs.fields(args):
            continue
        for struct in _reachable(args):
            title = f"{name}Args" if struct is args else struct.__name__
            blocks += [f"### {title}", struct.__doc__ or "", _table(struct)]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _reachable(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """Yield a Struct and every Struct that its fields hold, each once, depth first."""
    seen: set[type] = set()

    def visit(one: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
        if one in seen:
            return
        seen.add(one)
        yield one
        for field in msgspec.structs.fields(one):
            for kind in _kinds(field.type):
                yield from visit(kind)

    return visit(struct)


def _kinds(annotation: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        # The Kubernetes API documents its own types.
        if not annotation.__module__.startswith("mooring.api"):
            yield annotation
        return
    for part in typing.get_args(annotation):
        yield from _kinds(part)


def _table(struct: type[msgspec.Struct]) -> str:
    described = of_class(struct)
    rows = ["| Field | Type | Default | Meaning |", "|---|---|---|---|"]
    for field in msgspec.structs.fields(struct):
        text = described.get(field.name, "")
        rows.append(f"| `{field.encode_name}` | {_type(field.type)} | {_default(field)} | {text} |")
    return "\n".join(rows)


def _type(annotation: Any) -> str:
    """Return the name of a type as the file's author knows it."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(parts[0])
    if origin in (typing.Union, types.UnionType):
        return _type(next(part for part in parts if part is not type(None)))
    if origin in (tuple, list):
        return f"list of {_type(parts[0])}"
    if origin is dict:
        return f"map of {_type(parts[1])}"
    if origin is typing.Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if annotation is Any:
        return "arguments"
    names = {
        "str": "string",
        "int": "integer",
        "float": "number",
        "bool": "boolean",
        "bytes": "base64",
    }
    return names.get(annotation.__name__, annotation.__name__)


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is msgspec.NODEFAULT:
        return "" if field.default_factory is not msgspec.NODEFAULT else "required"
    value = field.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, msgspec.Struct | tuple) or value in (None, "", b""):
        return ""
    return f"`{value}`"

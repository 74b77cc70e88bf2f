"""The field tree of the Kubernetes API, parsed lazily from one compact table.

The table's text is split into packages and types at the first call of `types`; the fields of a type
are parsed when the type is first used. The header of `types.txt` describes its format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final

import msgspec

STRUCT: Final = "struct"
LIST: Final = "list"
MAP: Final = "map"
#: The form of a value without a schema: fields are granular, lists are atomic.
ANY: Final = "any"

INTEGERS: Final = frozenset({"int32", "int64", "uint64"})
FLOATS: Final = frozenset({"float32", "float64"})

_MARK = re.compile(r"\*|\[\]|\{\}")


class TypeKind:
    """The kind of a value. `form` is a scalar's name, or struct, list, map or any.

    `pointer` says that Go distinguishes null from the zero value; `atomic`, that the value has one
    owner as a whole.
    """

    __slots__ = ("atomic", "form", "item", "keys", "list_type", "pointer", "type")

    def __init__(
        self,
        form: str,
        *,
        type: StructType | None = None,
        item: TypeKind | None = None,
        pointer: bool = False,
    ) -> None:
        self.form = form
        self.type = type
        self.item = item
        self.pointer = pointer
        self.atomic = False
        self.list_type = "atomic" if form == LIST else ""
        self.keys: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Kind({self.form!r}, type={self.type!r}, item={self.item!r})"


class Field(msgspec.Struct):
    """One field of a struct."""

    name: str
    kind: TypeKind
    number: int = 0
    always: bool = False
    required: bool = False
    inline: bool = False
    #: Whether the table states the list type; if not, it is derived from `strategies`.
    listed: bool = False
    strategies: tuple[str, ...] = ()
    merge_key: str = ""
    default: Any = None
    #: The names of the inlined structs that contain the field.
    via: tuple[str, ...] = ()


class StructType:
    """A struct with its fields, which are parsed at first use."""

    def __init__(
        self, table: Table | None, package: str, name: str, flags: str, lines: list[str]
    ) -> None:
        self._table = table
        self._lines = lines
        self.package = package
        self.name = name
        self.atomic = "atomic" in flags
        self.wrapped = "wrapped" in flags
        #: Whether unknown fields are kept (custom resources).
        self.preserve = False

    def __repr__(self) -> str:
        return f"<{self.package}.{self.name}>"

    @property
    def openapi_name(self) -> str:
        """Return the type's name in OpenAPI documents."""
        prefix = self._table.packages[self.package].prefix if self._table else self.package
        return f"{prefix}.{self.name}"

    @property
    def is_object(self) -> bool:
        """Return whether the type is a kind, with its own `kind` and `apiVersion`."""
        return [line.split() for line in self._lines[:2]] == [
            ["kind", "string", "0"],
            ["apiVersion", "string", "0"],
        ]

    @cached_property
    def members(self) -> tuple[Field, ...]:
        """Return the fields as in protobuf: an inlined struct is one field."""
        assert self._table is not None
        return tuple(_parse_field(self._table, self.package, line) for line in self._lines)

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Return the fields by name, as in JSON."""
        return {field.name: field for field in self._flat()}

    def _flat(self) -> Iterator[Field]:
        for field in self.members:
            if field.inline and field.kind.type is not None:
                inner = field.kind.type
                for one in inner.fields.values():
                    yield msgspec.structs.replace(one, via=(inner.name, *one.via))
            else:
                yield field

    @cached_property
    def by_number(self) -> dict[int, Field]:
        """Return the fields by protobuf number."""
        return {field.number: field for field in self.members if field.number}

    @cached_property
    def always(self) -> tuple[Field, ...]:
        """Return the fields that are written even if they are empty."""
        return tuple(field for field in self.fields.values() if field.always)


class ServedResource(msgspec.Struct, frozen=True):
    """The discovery entry of a resource or, with a slash in its name, of a subresource."""

    group_version: str
    name: str
    singular: str
    kind: str
    kind_group_version: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    storage_version_hash: str


class Package(msgspec.Struct):
    """The types of one group version, or of a package that others refer to."""

    alias: str
    group_version: str
    prefix: str
    resources: list[str]
    types: dict[str, StructType]


class Table:
    """All packages. Read once by `types`."""

    def __init__(self, text: str) -> None:
        self.packages: dict[str, Package] = {}
        self._by_group_version: dict[str, Package] = {}
        self._resources: dict[str, tuple[ServedResource, ...]] = {}
        lines: list[str] = []
        for line in text.splitlines():
            mark = line[0]
            if mark == " ":
                lines.append(line)
            elif mark == "@":
                alias, group_version, prefix = line[1:].split()
                package = Package(alias, group_version, prefix, [], {})
                self.packages[alias] = self._by_group_version[group_version] = package
            elif mark == "%":
                package.resources.append(line)
            elif mark != "#":
                name, _, flags = line.partition(" ")
                lines = []
                package.types[name] = StructType(self, package.alias, name, flags, lines)

    @property
    def group_versions(self) -> tuple[str, ...]:
        """Return every group version that has resources; the core group's is `v1`."""
        return tuple(p.group_version for p in self.packages.values() if p.resources)

    def get(self, name: str, package: str = "") -> StructType:
        """Return a type by its name in the table, `core.v1.PodSpec`, or in a package, `PodSpec`."""
        alias, _, last = name.rpartition(".")
        return self.packages[alias or package].types[last]

    def find(self, group_version: str, kind: str) -> StructType | None:
        """Return the type of a kind, or None if there is none."""
        package = self._by_group_version.get(group_version)
        if package is not None and kind in package.types:
            found = package.types[kind]
            return found if found.is_object else None
        # Every group has the kinds of request options, such as DeleteOptions.
        return self.packages["meta.v1"].types.get(kind) if kind.endswith("Options") else None

    def package_of(self, group_version: str) -> Package | None:
        """Return the package of a group version, or None if there is none."""
        return self._by_group_version.get(group_version)

    def resources(self, group_version: str) -> tuple[ServedResource, ...]:
        """Return the resources of a group version in discovery's order."""
        found = self._resources.get(group_version)
        if found is None:
            package = self._by_group_version.get(group_version)
            lines = package.resources if package is not None else ()
            found = tuple(_parse_resource(group_version, line) for line in lines)
            self._resources[group_version] = found
        return found


@cache
def types() -> Table:
    """Return the table, which is read once from the package's data."""
    file = resources.files("mooring.controlplane").joinpath("types.txt")
    return Table(file.read_text(encoding="utf-8"))


def _split(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))


def _parse_resource(group_version: str, line: str) -> ServedResource:
    name, singular, kind, scope, verbs, short, categories, storage = line[1:].split()
    where, _, last = kind.rpartition("/")
    return ServedResource(
        group_version,
        name,
        "" if singular == "-" else singular,
        last,
        where or group_version,
        scope == "N",
        _split(verbs),
        _split(short),
        _split(categories),
        "" if storage == "-" else storage,
    )


def _parse_field(table: Table, package: str, line: str) -> Field:
    name, kind, number, *flags = line.split()
    field = Field(name, _parse_kind(table, package, kind), int(number), inline=name == "~")
    for flag in flags:
        key, _, value = flag.partition("=")
        if key == "list":
            field.listed = True
            field.kind.list_type, _, keys = value.partition(":")
            field.kind.keys = tuple(keys.split(",")) if keys else ()
        elif key == "patch":
            strategies, _, field.merge_key = value.partition(":")
            field.strategies = tuple(strategies.split(","))
        elif key == "map":
            field.kind.atomic = value == "atomic"
        elif key == "default":
            field.default = json.loads(value)
        else:
            field.always = "+" in key
            field.required = "!" in key
    made = field.kind
    # kube-openapi: pkg/schemaconv/smd.go (getListElementRelationship)
    if made.form == LIST and "merge" in field.strategies and not field.listed:
        made.keys = (field.merge_key,) if field.merge_key else ()
        made.list_type = "map" if made.keys else "set"
    return field


def _parse_kind(table: Table, package: str, text: str) -> TypeKind:
    mark = _MARK.match(text)
    if mark is None:
        return _named_kind(table, package, text)
    inner = _parse_kind(table, package, text[mark.end() :])
    if mark[0] == "*":
        inner.pointer = True
        return inner
    return TypeKind(LIST if mark[0] == "[]" else MAP, item=inner)


def _named_kind(table: Table, package: str, name: str) -> TypeKind:
    if "." in name or name[0].isupper():
        found = table.get(name, package)
        if found.wrapped:
            kind = TypeKind(LIST, item=found.members[0].kind.item)
            kind.type = found
            return kind
        kind = TypeKind(STRUCT, type=found)
        kind.atomic = found.atomic
        return kind
    return TypeKind(name)

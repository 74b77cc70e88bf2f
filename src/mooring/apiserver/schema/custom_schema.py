"""The kinds of custom resource definitions, in the same field tree as the built-in kinds."""

# apiextensions-apiserver: pkg/apiserver/schema

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

from mooring.controlplane.type_table import (
    ANY,
    LIST,
    MAP,
    STRUCT,
    Field,
    ServedResource,
    StructType,
    TypeKind,
    types,
)

Object = dict[str, Any]

_SCALARS = {"string": "string", "boolean": "bool", "integer": "int64", "number": "float64"}


class CustomKind(msgspec.Struct, dict=True):
    """One served version of a custom resource definition."""

    group: str
    version: str
    kind: str
    list_kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    schema: Object | None
    preserve: bool
    subresources: Object
    selectable: tuple[str, ...] = ()
    columns: list[Object] = msgspec.field(default_factory=list)

    @property
    def group_version(self) -> str:
        """Return the apiVersion of the kind's objects."""
        return f"{self.group}/{self.version}"

    @property
    def gvk(self) -> dict[str, str]:
        """Return group, version and kind in OpenAPI's form."""
        return {"group": self.group, "version": self.version, "kind": self.kind}

    @property
    def openapi_name(self) -> str:
        """Return the name of the kind in OpenAPI: the group reversed, version, kind."""
        return ".".join([*reversed(self.group.split(".")), self.version, self.kind])

    @property
    def fingerprint(self) -> str:
        """Return a text that differs if the kind's OpenAPI schema differs."""
        parts = [self.gvk, self.plural, self.namespaced, self.schema, self.subresources]
        return json.dumps(parts, sort_keys=True)

    @cached_property
    def type(self) -> StructType:
        """Return the field tree, including the metadata that every object has."""
        return root_type(self)

    @property
    def resources(self) -> tuple[ServedResource, ...]:
        """Return the resource and its subresources for discovery."""
        every = (
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        )
        found = [self._resource(self.plural, self.kind, self.group_version, every, main=True)]
        some = ("get", "patch", "update")
        if self.subresources.get("status") is not None:
            found.append(
                self._resource(f"{self.plural}/status", self.kind, self.group_version, some)
            )
        if self.subresources.get("scale") is not None:
            found.append(self._resource(f"{self.plural}/scale", "Scale", "autoscaling/v1", some))
        return tuple(found)

    def _resource(
        self, name: str, kind: str, version: str, verbs: tuple[str, ...], *, main: bool = False
    ) -> ServedResource:
        return ServedResource(
            group_version=self.group_version,
            name=name,
            singular=self.singular if main else "",
            kind=kind,
            kind_group_version=version,
            namespaced=self.namespaced,
            verbs=verbs,
            short_names=self.short_names if main else (),
            categories=self.categories if main else (),
            storage_version_hash="",
        )


def custom_kinds(definition: Object) -> list[CustomKind]:
    """Return the served versions of a custom resource definition."""
    spec = definition["spec"]
    # Once the server has checked the names, the accepted ones count.
    names = (definition.get("status") or {}).get("acceptedNames") or {}
    names = names if names.get("plural") else spec["names"]
    found = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        found.append(
            CustomKind(
                group=spec["group"],
                version=version["name"],
                kind=names["kind"],
                list_kind=names.get("listKind") or f"{names['kind']}List",
                plural=names["plural"],
                singular=names.get("singular") or names["kind"].lower(),
                namespaced=spec["scope"] == "Namespaced",
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                schema=schema,
                preserve=bool(spec.get("preserveUnknownFields")) or schema is None,
                subresources=version.get("subresources") or {},
                selectable=tuple(one["jsonPath"] for one in version.get("selectableFields") or ()),
                columns=list(version.get("additionalPrinterColumns") or ()),
            )
        )
    return found


def root_type(kind: CustomKind) -> StructType:
    """Return the field tree of a custom resource."""
    root = _struct(kind.schema or {}, kind.kind)
    root.preserve = root.preserve or kind.preserve
    root.fields["apiVersion"] = Field("apiVersion", TypeKind("string"))
    root.fields["kind"] = Field("kind", TypeKind("string"))
    meta = types().get("meta.v1.ObjectMeta")
    root.fields["metadata"] = Field("metadata", TypeKind(STRUCT, type=meta), always=True)
    return root


def _struct(schema: Mapping[str, Any], name: str) -> StructType:
    made = StructType(None, "", name, "", [])
    made.preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    fields: dict[str, Field] = {}
    for key, inner in (schema.get("properties") or {}).items():
        fields[key] = Field(key, kind_of(inner, key), default=inner.get("default"))
    if schema.get("x-kubernetes-embedded-resource"):
        meta = types().get("meta.v1.ObjectMeta")
        fields.setdefault("apiVersion", Field("apiVersion", TypeKind("string")))
        fields.setdefault("kind", Field("kind", TypeKind("string")))
        fields["metadata"] = Field("metadata", TypeKind(STRUCT, type=meta))
    made.fields = fields
    made.members = tuple(fields.values())
    return made


def kind_of(schema: Mapping[str, Any], name: str = "") -> TypeKind:
    """Return the kind that a structural schema describes."""
    # apiextensions-apiserver: pkg/apiserver/schema/kubeopenapi.go, kube-openapi: pkg/schemaconv
    if schema.get("x-kubernetes-int-or-string"):
        return TypeKind("intOrString", pointer=True)
    what = schema.get("type")
    if what == "array":
        kind = TypeKind(LIST, item=kind_of(schema.get("items") or {}, name), pointer=True)
        kind.list_type = schema.get("x-kubernetes-list-type") or "atomic"
        kind.keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        return kind
    if what == "object":
        return _object_kind(schema, name)
    if what in _SCALARS:
        return TypeKind(_SCALARS[what], pointer=True)
    return TypeKind(ANY, pointer=True)


def _object_kind(schema: Mapping[str, Any], name: str) -> TypeKind:
    additional = schema.get("additionalProperties")
    if schema.get("properties") or schema.get("x-kubernetes-embedded-resource"):
        kind = TypeKind(STRUCT, type=_struct(schema, name), pointer=True)
    elif schema.get("x-kubernetes-preserve-unknown-fields"):
        kind = TypeKind(ANY, pointer=True)
    elif isinstance(additional, dict):
        kind = TypeKind(MAP, item=kind_of(additional, name), pointer=True)
    elif additional is True:
        kind = TypeKind(MAP, item=TypeKind(ANY, pointer=True), pointer=True)
    else:
        kind = TypeKind(STRUCT, type=_struct(schema, name), pointer=True)
    kind.atomic = schema.get("x-kubernetes-map-type") == "atomic"
    return kind

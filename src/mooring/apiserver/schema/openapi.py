"""OpenAPI v3 documents for clients: one per group version, built from the table.

kubectl reads the field tree from them to compute patches and to explain kinds, and the parameters
of PATCH to detect that the server validates fields.
"""

# kubernetes: api/openapi-spec/v3, kube-openapi: pkg/generators

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from mooring.api.kubernetes_version import MAJOR, MINOR
from mooring.apiserver.schema.custom_schema import CustomKind
from mooring.controlplane.type_table import (
    LIST,
    MAP,
    STRUCT,
    Field,
    ServedResource,
    StructType,
    TypeKind,
    types,
)

Schema = dict[str, Any]

_REF = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SPECIAL: dict[str, tuple[str, Schema]] = {
    "time": (f"{_META}Time", {"type": "string", "format": "date-time"}),
    "microTime": (f"{_META}MicroTime", {"type": "string", "format": "date-time"}),
    "duration": (f"{_META}Duration", {"type": "string"}),
    "fields": (f"{_META}FieldsV1", {"type": "object"}),
    "quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    "intOrString": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "object": ("io.k8s.apimachinery.pkg.runtime.RawExtension", {"type": "object"}),
    "json": ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", {}),
    "schemaOrArray": (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
        {},
    ),
    "schemaOrBool": (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
        {},
    ),
    "schemaOrStrings": (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
        {},
    ),
}
_SCALARS: dict[str, Schema] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "uint64": {"type": "integer", "format": "int64"},
    "float32": {"type": "number", "format": "float"},
    "float64": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_ZEROS = {"string": "", "bool": False, "bytes": ""}
_STRING: Schema = {"type": "string", "uniqueItems": True}
_BOOLEAN: Schema = {"type": "boolean", "uniqueItems": True}
_INTEGER: Schema = {"type": "integer", "uniqueItems": True}
_LIST_PARAMETERS = {
    "allowWatchBookmarks": _BOOLEAN,
    "continue": _STRING,
    "fieldSelector": _STRING,
    "labelSelector": _STRING,
    "limit": _INTEGER,
    "resourceVersion": _STRING,
    "resourceVersionMatch": _STRING,
    "sendInitialEvents": _BOOLEAN,
    "timeoutSeconds": _INTEGER,
    "watch": _BOOLEAN,
}
_WRITE_PARAMETERS = {"dryRun": _STRING, "fieldManager": _STRING, "fieldValidation": _STRING}
_DELETE_PARAMETERS = {
    "dryRun": _STRING,
    "gracePeriodSeconds": _INTEGER,
    "orphanDependents": _BOOLEAN,
    "propagationPolicy": _STRING,
}
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC = "application/strategic-merge-patch+json"
_ACTIONS = {
    "get": ("get", "get"),
    "update": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
}


def split_group_version(group_version: str) -> tuple[str, str]:
    """Return group and version; the core group is ""."""
    group, _, version = group_version.rpartition("/")
    return group, version


def root_of(group_version: str) -> str:
    """Return the path under which a group version is served, without the first slash."""
    return f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"


def index(
    group_versions: Iterable[str], custom: Mapping[str, Iterable[CustomKind]] | None = None
) -> Schema:
    """Return the response of `/openapi/v3`: the URLs of the documents, each with a hash."""
    custom = custom or {}
    names = [*group_versions, *(name for name in custom if name not in set(group_versions))]
    paths = {}
    for name in names:
        root = root_of(name)
        digest = document_hash(name, custom.get(name, ()))
        paths[root] = {"serverRelativeURL": f"/openapi/v3/{root}?hash={digest}"}
    return {"paths": paths}


def document_hash(group_version: str, custom: Iterable[CustomKind] = ()) -> str:
    """Return a hash that changes when a document does."""
    digest = hashlib.sha512(f"1 {group_version}".encode())
    for kind in custom:
        digest.update(kind.fingerprint.encode())
    return digest.hexdigest().upper()


def document(group_version: str, custom: Iterable[CustomKind] = ()) -> Schema:
    """Return the OpenAPI v3 document of a group version."""
    builder = _Builder(group_version)
    for resource in types().resources(group_version):
        builder.add_resource(resource)
    package = types().package_of(group_version)
    if package is not None and package.resources:
        for found in package.types.values():
            builder.add_type(found)
    for kind in custom:
        builder.add_custom(kind)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": f"{MAJOR}.{MINOR}"},
        "paths": dict(sorted(builder.paths.items())),
        "components": {"schemas": dict(sorted(builder.schemas.items()))},
    }


class _Builder:
    """The paths and schemas of one document while it is built."""

    def __init__(self, group_version: str) -> None:
        self.group_version = group_version
        self.paths: Schema = {}
        self.schemas: Schema = {}

    def add_type(self, type: StructType) -> None:
        """Add a type and all types that it refers to."""
        pending = [type]
        while pending:
            found = pending.pop()
            if found.openapi_name in self.schemas or found.wrapped:
                continue
            self.schemas[found.openapi_name] = type_schema(found)
            for kind in _leaves(found):
                if kind.form == STRUCT and kind.type is not None:
                    pending.append(kind.type)
                elif kind.form in _SPECIAL:
                    name, schema = _SPECIAL[kind.form]
                    self.schemas[name] = schema

    def add_meta(self, *names: str) -> None:
        """Add types of the meta package that every document has."""
        for name in names:
            self.add_type(types().get(f"meta.v1.{name}"))
        self.schemas.setdefault(f"{_META}Patch", {"type": "object"})

    def add_resource(self, resource: ServedResource) -> None:
        """Add the paths of a built-in resource."""
        table = types()
        found = table.find(resource.kind_group_version, resource.kind)
        if found is None:
            return
        self.add_type(found)
        self.add_meta("DeleteOptions", "Status")
        listed = table.find(resource.group_version, f"{resource.kind}List")
        names = (found.openapi_name, listed.openapi_name if listed is not None else "")
        self._add_paths(resource, names, (*_PATCHES, _STRATEGIC))

    def add_custom(self, kind: CustomKind) -> None:
        """Add the paths and schemas of a custom resource."""
        self.add_meta("DeleteOptions", "Status", "ObjectMeta", "ListMeta")
        self.schemas[kind.openapi_name] = custom_schema(kind)
        self.schemas[f"{kind.openapi_name}List"] = _custom_list(kind)
        names = (kind.openapi_name, f"{kind.openapi_name}List")
        for resource in kind.resources:
            if resource.kind == "Scale":
                self.add_resource(resource)
            else:
                self._add_paths(resource, names, _PATCHES)

    def _add_paths(
        self, resource: ServedResource, names: tuple[str, str], patches: tuple[str, ...]
    ) -> None:
        root = f"/{root_of(self.group_version)}"
        name, _, subresource = resource.name.partition("/")
        scope = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
        group, version = split_group_version(resource.kind_group_version)
        gvk = {"group": group, "version": version, "kind": resource.kind}
        path_parameters = ["namespace"] if resource.namespaced else []
        item: Schema = {}
        for verb in resource.verbs:
            if verb in _ACTIONS:
                method, action = _ACTIONS[verb]
                item[method] = _operation(action, gvk, names[0], patches)
        if subresource:
            if "create" in resource.verbs:
                item["post"] = _operation("post", gvk, names[0], patches)
            item["parameters"] = _path_parameters(["name", *path_parameters])
            self.paths[f"{scope}/{name}/{{name}}/{subresource}"] = item
            return
        if item:
            item["parameters"] = _path_parameters(["name", *path_parameters])
            self.paths[f"{scope}/{name}/{{name}}"] = item
        whole: Schema = {}
        if "list" in resource.verbs:
            whole["get"] = _operation("list", gvk, names[1], patches)
            if resource.namespaced:
                self.paths[f"{root}/{name}"] = {"get": whole["get"]}
        if "create" in resource.verbs:
            whole["post"] = _operation("post", gvk, names[0], patches)
        if "deletecollection" in resource.verbs:
            whole["delete"] = _operation("deletecollection", gvk, names[0], patches)
        if path_parameters:
            whole["parameters"] = _path_parameters(path_parameters)
        self.paths[f"{scope}/{name}"] = whole


def _path_parameters(names: list[str]) -> list[Schema]:
    return [{"name": n, "in": "path", "required": True, "schema": _STRING} for n in names]


def _operation(action: str, gvk: Mapping[str, str], name: str, patches: tuple[str, ...]) -> Schema:
    parameters: dict[str, Schema] = {}
    operation: Schema = {}
    if action in ("post", "put", "patch"):
        parameters = dict(_WRITE_PARAMETERS)
    if action == "patch":
        parameters["force"] = _BOOLEAN
        reference = {"schema": {"$ref": f"{_REF}{_META}Patch"}}
        content = dict.fromkeys(patches, reference)
        operation["requestBody"] = {"content": content, "required": True}
    elif action in ("post", "put"):
        body = {"*/*": {"schema": {"$ref": f"{_REF}{name}"}}}
        operation["requestBody"] = {"content": body, "required": True}
    elif action in ("list", "deletecollection"):
        parameters = dict(_LIST_PARAMETERS)
    if action in ("delete", "deletecollection"):
        parameters |= _DELETE_PARAMETERS
        body = {"*/*": {"schema": {"$ref": f"{_REF}{_META}DeleteOptions"}}}
        operation["requestBody"] = {"content": body}
    if parameters:
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": schema} for name, schema in parameters.items()
        ]
    answer = f"{_META}Status" if action.startswith("delete") else name
    content = {"application/json": {"schema": {"$ref": f"{_REF}{answer}"}}}
    operation["responses"] = {"200": {"description": "OK", "content": content}}
    operation["x-kubernetes-action"] = action
    operation["x-kubernetes-group-version-kind"] = dict(gvk)
    return operation


def _leaves(type: StructType) -> Iterator[TypeKind]:
    for field in type.fields.values():
        kind = field.kind
        while kind.item is not None:
            kind = kind.item
        yield kind


@cache
def type_schema(type: StructType) -> Schema:
    """Return the schema of a type, with references to other types."""
    properties = {field.name: field_schema(field) for field in type.fields.values()}
    schema: Schema = {"type": "object"}
    if properties:
        schema["properties"] = properties
    if required := [field.name for field in type.fields.values() if field.required]:
        schema["required"] = required
    if type.atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    if type.is_object and type.package != "meta.v1":
        group, version = split_group_version(types().packages[type.package].group_version)
        gvk = {"group": group, "version": version, "kind": type.name}
        schema["x-kubernetes-group-version-kind"] = [gvk]
    return schema


def field_schema(field: Field) -> Schema:
    """Return the schema of a field, with the extensions for patches and field ownership."""
    schema = _kind_schema(field.kind, field.always, field.default)
    kind = field.kind
    if kind.form == LIST and field.listed:
        schema["x-kubernetes-list-type"] = kind.list_type
        if kind.keys:
            schema["x-kubernetes-list-map-keys"] = list(kind.keys)
    if field.strategies:
        schema["x-kubernetes-patch-strategy"] = ",".join(field.strategies)
    if field.merge_key:
        schema["x-kubernetes-patch-merge-key"] = field.merge_key
    if kind.form == MAP and kind.atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _kind_schema(kind: TypeKind, always: bool, default: Any = None) -> Schema:
    schema: Schema
    if kind.form == LIST and kind.item is not None:
        return {"type": "array", "items": _item_schema(kind.item)}
    if kind.form == MAP and kind.item is not None:
        return {"type": "object", "additionalProperties": _item_schema(kind.item)}
    if kind.form == STRUCT and kind.type is not None:
        schema = {"allOf": [{"$ref": _REF + kind.type.openapi_name}]}
        if not kind.pointer:
            schema["default"] = {}
    elif kind.form in _SPECIAL:
        schema = {"allOf": [{"$ref": _REF + _SPECIAL[kind.form][0]}]}
    else:
        schema = dict(_SCALARS[kind.form])
        if always and not kind.pointer and kind.form != "bytes":
            schema["default"] = _ZEROS.get(kind.form, 0)
    if default is not None:
        schema["default"] = default
    return schema


def _item_schema(kind: TypeKind) -> Schema:
    schema = _kind_schema(kind, always=True)
    if kind.form in _SPECIAL:
        return {"$ref": _REF + _SPECIAL[kind.form][0]}
    return schema


def custom_schema(kind: CustomKind) -> Schema:
    """Return the published schema of a custom resource."""
    # apiextensions-apiserver: pkg/controller/openapi/builder/builder.go
    schema: Schema = _published(kind.schema) if kind.schema is not None else {"type": "object"}
    if kind.schema is None:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    schema["type"] = "object"
    schema["properties"] = schema.get("properties", {}) | _as_object()
    schema["x-kubernetes-group-version-kind"] = [kind.gvk]
    return schema


def _custom_list(kind: CustomKind) -> Schema:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [{"$ref": f"{_REF}{_META}ListMeta"}]},
            "items": {"type": "array", "items": {"$ref": f"{_REF}{kind.openapi_name}"}},
        },
        "x-kubernetes-group-version-kind": [{**kind.gvk, "kind": kind.list_kind}],
    }


def _as_object() -> Schema:
    """Return the properties that every object has."""
    metadata = {"allOf": [{"$ref": f"{_REF}{_META}ObjectMeta"}]}
    return {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": metadata}


def _published(schema: Mapping[str, Any]) -> Schema:
    """Return a structural schema in the form of OpenAPI v3."""
    found = {key: value for key, value in schema.items() if key not in ("id", "$schema")}
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), Mapping):
            found[key] = _published(found[key])
    if "properties" in found:
        found["properties"] = {name: _published(one) for name, one in found["properties"].items()}
    if schema.get("x-kubernetes-embedded-resource"):
        found["properties"] = found.get("properties", {}) | _as_object()
    return found

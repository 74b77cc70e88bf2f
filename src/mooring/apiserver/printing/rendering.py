"""The forms in which objects are sent: plain, as a Table, as metadata only, or as YAML."""

# apiserver: pkg/endpoints/handlers/response.go, negotiation/negotiate.go

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from mooring.apiserver import printing, version_conversion
from mooring.apiserver.http import JSON, ApiRequest, ApiResponse, MediaType, accepted
from mooring.apiserver.printing.printer import Row
from mooring.apiserver.refusals import bad_request, not_acceptable
from mooring.apiserver.resource_store import Stored, encode
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

_META = "meta.k8s.io"
_YAML = "application/yaml"
_PARTIAL = ("PartialObjectMetadata", "PartialObjectMetadataList")
_ANY = ("*/*", "application/*")


class ObjectForm:
    """The plain JSON form of a resource's objects."""

    content_type = JSON

    def __init__(self, served: Served) -> None:
        self.served = served

    def one(self, stored: Stored) -> bytes:
        """Return one object."""
        return version_conversion.data_of(self.served, stored)

    def many(self, items: Iterable[Stored], metadata: Object) -> bytes:
        """Return a list."""
        head = encode(
            {
                "kind": self.served.list_kind,
                "apiVersion": self.served.group_version,
                "metadata": metadata,
            }
        )
        parts = [self.one(stored) for stored in items]
        if self.served.custom is None:
            # Go omits kind and apiVersion in the items of typed lists.
            kind = encode({"kind": self.served.kind, "apiVersion": self.served.group_version})
            cut = len(kind)
            parts = [b"{" + part[cut:] if part.startswith(kind[:-1]) else part for part in parts]
        body = b",".join(parts)
        return b'%s,"items":[%s]}' % (head[:-1], body)

    def bookmark(self, version: int, annotations: Object | None) -> bytes:
        """Return the object of a bookmark event."""
        metadata: Object = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        return encode(
            {
                "kind": self.served.kind,
                "apiVersion": self.served.group_version,
                "metadata": metadata,
            }
        )


class MetadataForm(ObjectForm):
    """The PartialObjectMetadata form, with only the metadata of objects."""

    def __init__(self, served: Served, version: str) -> None:
        super().__init__(served)
        self._version = version
        self.content_type = f"{JSON};as=PartialObjectMetadata;v={version};g={_META}"

    def one(self, stored: Stored) -> bytes:
        """Return one object's metadata."""
        return encode(_partial(stored.object, self._version))

    def many(self, items: Iterable[Stored], metadata: Object) -> bytes:
        """Return a list of metadata."""
        return encode(
            {
                "kind": "PartialObjectMetadataList",
                "apiVersion": f"{_META}/{self._version}",
                "metadata": metadata,
                "items": [_partial(stored.object, self._version) for stored in items],
            }
        )


def _partial(obj: Object, version: str) -> Object:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{_META}/{version}",
        "metadata": obj["metadata"],
    }


class TableForm(ObjectForm):
    """The Table form, with the columns that kubectl shows."""

    def __init__(self, cluster: ServerState, served: Served, version: str, include: str) -> None:
        super().__init__(served)
        self._cluster = cluster
        self._version = version
        self._include = include
        self._headed = False
        self.content_type = f"{JSON};as=Table;v={version};g={_META}"

    def one(self, stored: Stored) -> bytes:
        """Return a table with one row; only the first table of a watch defines the columns."""
        version = str(stored.object["metadata"].get("resourceVersion", ""))
        table = self._table([stored], {"resourceVersion": version})
        if self._headed:
            table["columnDefinitions"] = None
        self._headed = True
        return encode(table)

    def many(self, items: Iterable[Stored], metadata: Object) -> bytes:
        """Return a table."""
        listed = list(items)
        printer = printing.printer_of(self.served)
        if printer.cells_of_list is None:
            return encode(self._table(listed, metadata))
        cells = printer.cells_of_list([stored.object for stored in listed])
        return encode(self._table(listed, metadata, cells))

    def bookmark(self, version: int, annotations: Object | None) -> bytes:
        """Return an empty table with a resource version."""
        metadata: Object = {"resourceVersion": str(version)}
        table = self._table([], metadata)
        if annotations:
            # Clients read the annotations of a bookmark from the object of its row.
            partial = _partial({"metadata": metadata | {"annotations": annotations}}, "v1")
            table["rows"] = [{"cells": [], "object": partial}]
        return encode(table)

    def _table(self, items: Iterable[Stored], metadata: Object, cells: Row | None = None) -> Object:
        printer = printing.printer_of(self.served)
        cells = cells or printer.cells
        now = self._cluster.now()
        rows = []
        for stored in items:
            row: Object = {"cells": cells(stored.object, now)}
            conditions = printer.conditions(stored.object)
            if conditions:
                row["conditions"] = conditions
            if self._include == "Object":
                row["object"] = version_conversion.to_served(self.served, stored.object)
            elif self._include != "None":
                row["object"] = _partial(stored.object, self._version)
            rows.append(row)
        return {
            "kind": "Table",
            "apiVersion": f"{_META}/{self._version}",
            "metadata": metadata,
            "columnDefinitions": [column.definition() for column in printer.columns],
            "rows": rows,
        }


class YamlForm(ObjectForm):
    """The YAML form."""

    content_type = _YAML

    def one(self, stored: Stored) -> bytes:
        """Return one object."""
        return _yaml(super().one(stored))

    def many(self, items: Iterable[Stored], metadata: Object) -> bytes:
        """Return a list."""
        plain = ObjectForm(self.served)
        return _yaml(plain.many(items, metadata))


def _yaml(data: bytes) -> bytes:
    return yaml.safe_dump(msgspec.json.decode(data)).encode()


def form(cluster: ServerState, request: ApiRequest, served: Served) -> ObjectForm:
    """Return the first supported form in the Accept header; refuse (406) if there is none."""
    header = request.headers.get("accept", "")
    if not header:
        return ObjectForm(served)
    for clause in accepted(header):
        if clause.type == _YAML and not clause.parameters.get("as"):
            return YamlForm(served)
        if clause.type != JSON and clause.type not in _ANY:
            continue
        found = _transformed(cluster, request, served, clause)
        if found is not None:
            return found
    raise not_acceptable([JSON, _YAML])


def _transformed(
    cluster: ServerState, request: ApiRequest, served: Served, clause: MediaType
) -> ObjectForm | None:
    wanted = clause.parameters.get("as")
    if not wanted:
        return ObjectForm(served)
    version = clause.parameters.get("v", "")
    if clause.parameters.get("g") != _META or version not in ("v1", "v1beta1"):
        return None
    if wanted == "Table":
        include = request.parameter("includeObject")
        if include not in ("", "None", "Metadata", "Object"):
            raise bad_request(f'unrecognized includeObject value: "{include}"')
        return TableForm(cluster, served, version, include)
    return MetadataForm(served, version) if wanted in _PARTIAL else None


def respond(
    cluster: ServerState, request: ApiRequest, served: Served, obj: Object, code: int
) -> ApiResponse:
    """Return a response with one object, in the form that the request accepts."""
    chosen = form(cluster, request, served)
    # Reuse the JSON of an object that was just written; watches send it too.
    stored = cluster.store.stored(obj) or Stored("", obj, 0)
    return ApiResponse(code, chosen.one(stored), chosen.content_type)

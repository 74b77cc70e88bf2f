"""Reading Kubernetes manifests: YAML or JSON, many documents, lists of any kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.api.field_errors import invalid
from mooring.api.kinds import BY_STRUCT, decode, describe
from mooring.api.meta import KubeObject
from mooring.api.pod import Pod
from mooring.api.pod_checks import pod_problems
from mooring.api.quantity import parse_nanos
from mooring.api.yaml_documents import MAX_DEPTH, YamlDocument, load_documents
from mooring.errors import ObjectError


class Where(msgspec.Struct, frozen=True):
    """The location of an object; `path` is set for an item of a list, such as `items[3]`."""

    file: str | None = None
    document: int = 1
    line: int | None = None
    path: str = ""

    def __str__(self) -> str:
        """Return `file:line`, with the document and path."""
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        parts = (place, f"document {self.document}", self.path)
        return ": ".join(part for part in parts if part)


def read_manifests(text: str, file: str | None = None) -> list[tuple[KubeObject, Where]]:
    """Return every object of a manifest, in order. Errors name file, document, line and path."""
    found: list[tuple[KubeObject, Where]] = []
    for document in _documents(text, file):
        found.extend(_read_document(document, file))
    return found


def read_objects(text: str, file: str | None = None) -> list[tuple[dict[str, Any], Where]]:
    """Return every object of a manifest as plain data, of any kind, in order.

    Only the identity is checked: apiVersion, kind and a name.
    """
    found: list[tuple[dict[str, Any], Where]] = []
    for document in _documents(text, file):
        for raw, where in _raw_objects(document, file):
            try:
                _check_identity(raw)
            except ObjectError as error:
                raise _placed(error, where.path, document, file) from None
            found.append((raw, where))
    return found


def _check_identity(raw: dict[str, Any]) -> None:
    for name in ("apiVersion", "kind"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise ObjectError(f"{name} is missing")
    if raw["apiVersion"].startswith("kubescheduler.config.k8s.io/"):
        raise ObjectError("a scheduler's configuration is no object of a cluster: use --config")
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    if not isinstance(metadata.get("namespace") or "", str):
        raise ObjectError("metadata.namespace must be a text", path="metadata.namespace")
    if not metadata.get("name") and not metadata.get("generateName"):
        raise ObjectError(f"{raw['kind']}: metadata.name is missing", path="metadata.name")


def _documents(text: str, file: str | None) -> Iterator[YamlDocument | _JsonDocument]:
    if text.lstrip().startswith("{"):
        # A single JSON document (`kubectl get -o json`) is much faster to read as JSON.
        try:
            yield _JsonDocument(msgspec.json.decode(text))
            return
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            pass
    yield from load_documents(text, file)


class _JsonDocument:
    """A document whose line numbers are not known."""

    number = 1

    def __init__(self, value: Any) -> None:
        self.value = value

    def line_of(self, value: Any) -> int | None:
        return None

    def line(self, path: str) -> int | None:
        return None


def _read_document(
    document: YamlDocument | _JsonDocument, file: str | None
) -> Iterator[tuple[KubeObject, Where]]:
    for raw, where in _raw_objects(document, file):
        try:
            obj = decode(raw)
            _check(obj, raw)
        except ObjectError as error:
            raise _placed(error, where.path, document, file) from None
        yield obj, where


def _raw_objects(
    document: YamlDocument | _JsonDocument, file: str | None
) -> Iterator[tuple[dict[str, Any], Where]]:
    try:
        _check_depth(document.value)
        items = list(_items(document.value, ""))
    except ObjectError as error:
        raise _placed(error, "", document, file) from None
    for path, raw in items:
        if not isinstance(raw, dict):
            found = ObjectError(f"an object must be a map, got {describe(raw)}")
            raise _placed(found, path, document, file)
        yield raw, Where(file, document.number, document.line_of(raw), path)


def _check_depth(value: Any) -> None:
    """Refuse nesting that the YAML parser does not limit: in JSON, and through aliases."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for found in level
            if isinstance(found, dict | list)
            for item in (found.values() if isinstance(found, dict) else found)
        ]
        if not level:
            return
    raise ObjectError(f"must nest at most {MAX_DEPTH} levels deep")


def _placed(
    error: ObjectError, path: str, document: YamlDocument | _JsonDocument, file: str | None
) -> ObjectError:
    place = ".".join(part for part in (path, error.path) if part)
    return error.at(path=place, file=file, document=document.number, line=document.line(place))


def _items(raw: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, object) for an object, or for everything inside a list of objects."""
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in raw:
        yield path, raw
        return
    items = raw["items"]
    if items is None:
        return
    if not isinstance(items, list):
        where = f"{path}.items" if path else "items"
        raise ObjectError(f"items must be a list, got {describe(items)}", path=where)
    element = kind.removesuffix("List")
    for i, item in enumerate(items):
        place = f"{path}.items[{i}]" if path else f"items[{i}]"
        if element and isinstance(item, dict):
            # Items of a typed list may omit apiVersion and kind, which the list's kind implies.
            item.setdefault("apiVersion", raw.get("apiVersion"))
            item.setdefault("kind", element)
        yield from _items(item, place)


_QUANTITY_MAPS = frozenset(
    ("requests", "limits", "capacity", "allocatable", "overhead", "allocatedResources")
)


def _check(obj: KubeObject, raw: dict[str, Any]) -> None:
    metadata = obj.metadata
    if not metadata.name and not metadata.generate_name:
        raise ObjectError(f"{raw['kind']}: metadata.name is missing", path="metadata.name")
    row = BY_STRUCT.get(type(obj))
    # Dynamic resources are excluded: their maps hold other values than quantities, too.
    if row is not None and row.group != "resource.k8s.io":
        _check_quantities(raw, "")
    if isinstance(obj, Pod) and (problems := pod_problems(obj)):
        raise ObjectError(problems[0].message, path=problems[0].path)


def _check_quantities(value: Any, path: str) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            place = f"{path}.{key}" if path else key
            if key in _QUANTITY_MAPS and isinstance(item, dict):
                for name, quantity in item.items():
                    _check_quantity(quantity, f"{place}[{name}]")
            else:
                _check_quantities(item, place)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _check_quantities(item, f"{path}[{i}]")


def _check_quantity(quantity: Any, path: str) -> None:
    if not isinstance(quantity, str | int | float):
        return
    try:
        nanos = parse_nanos(quantity)
    except ObjectError as error:
        raise error.at(path=path) from None
    if nanos < 0:
        problem = invalid(path, str(quantity), "must be greater than or equal to 0")
        raise ObjectError(problem.message, path=path)

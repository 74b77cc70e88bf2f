"""Reading the manifests that a command line names: files, directories, standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from mooring.api import KubeObject, Pod, PriorityClass
from mooring.api.kinds import BY_STRUCT
from mooring.api.manifest_reading import Where, read_manifests
from mooring.api.timestamps import parse_time
from mooring.controlplane.default_values import NAMESPACE_DEFAULT, set_defaults
from mooring.errors import ObjectError

STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")


class Manifests(msgspec.Struct, frozen=True):
    """Objects as an API server would store them, and warnings about them."""

    objects: list[KubeObject]
    warnings: list[str]


def read_files(paths: Iterable[str], *, config: str | None = None) -> Manifests:
    """Read every object of some files; of two with the same name, the later one wins.

    A directory stands for its .yaml, .yml and .json files, sorted by name, except the scheduler's
    `config`; `-` is standard input. Errors carry file, document and path.
    """
    found: dict[tuple[str, str, str], tuple[KubeObject, Where]] = {}
    warnings = []
    for file, text in read_texts(paths, config):
        for obj, where in read_manifests(text, file):
            key = _key(obj, where)
            if key in found:
                earlier = found.pop(key)[1]
                warnings.append(f"{where}: {key[0]} {obj.key} replaces the one of {earlier}")
            found[key] = (obj, where)
    return Manifests(_complete(list(found.values())), warnings)


def read_texts(paths: Iterable[str], config: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield name and text of every file; those of a directory by name, except `config`."""
    for path in paths:
        if path == STDIN:
            yield "<stdin>", _decoded(sys.stdin.buffer.read(), "<stdin>")
        elif os.path.isdir(path):
            files = sorted(p for p in Path(path).iterdir() if p.suffix.lower() in _SUFFIXES)
            if not files:
                raise ObjectError(f"the folder holds no {', '.join(_SUFFIXES)} files", file=path)
            for file in files:
                if config is None or not os.path.samefile(file, config):
                    yield str(file), _read(file)
        else:
            yield path, _read(Path(path))


def _read(path: Path) -> str:
    try:
        return _decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise ObjectError(error.strerror or str(error), file=str(path)) from error


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ObjectError(f"not UTF-8 text: {error}", file=file) from error


def _key(obj: KubeObject, where: Where) -> tuple[str, str, str]:
    """Return what identifies an object; one without a name is identified by its place."""
    row = BY_STRUCT.get(type(obj))
    namespace = obj.metadata.namespace
    if row is not None:
        namespace = (namespace or NAMESPACE_DEFAULT) if row.namespaced else ""
    kind = row.kind if row is not None else f"{obj.api_version} {obj.kind}"  # type: ignore[attr-defined]
    return kind, namespace, obj.metadata.name or str(where)


def _complete(found: list[tuple[KubeObject, Where]]) -> list[KubeObject]:
    try:
        objects = set_defaults(obj for obj, _ in found)
    except ObjectError as error:
        raise _placed(error, found) from None
    seen: dict[str, str] = {}
    for obj, (_, where) in zip(objects, found, strict=True):
        if isinstance(obj, Pod):
            try:
                _check_times(obj)
                _check_uid(obj, seen)
            except ObjectError as error:
                raise _at(error, where) from None
    return objects


def _placed(error: ObjectError, found: list[tuple[KubeObject, Where]]) -> ObjectError:
    """Return the error with the place of the first object that causes it."""
    classes = [obj for obj, _ in found if isinstance(obj, PriorityClass)]
    for obj, where in found:
        try:
            set_defaults([*classes, obj])
        except ObjectError as again:
            return _at(again, where)
    return error


def _at(error: ObjectError, where: Where) -> ObjectError:
    path = ".".join(part for part in (where.path, error.path) if part)
    return error.at(path=path, file=where.file, document=where.document, line=where.line)


def _check_times(pod: Pod) -> None:
    for path, text in (
        ("metadata.creationTimestamp", pod.metadata.creation_timestamp),
        ("metadata.deletionTimestamp", pod.metadata.deletion_timestamp),
        ("status.startTime", pod.status.start_time),
    ):
        if text is not None:
            try:
                parse_time(text)
            except ObjectError as error:
                raise error.at(path=path) from None


def _check_uid(pod: Pod, seen: dict[str, str]) -> None:
    """Refuse pods that share a uid: a copy of `kubectl get` output with another name."""
    other = seen.setdefault(pod.uid, pod.key)
    if other != pod.key:
        message = f"Pod {pod.key} has the uid of Pod {other}; leave it out to get another"
        raise ObjectError(message, path="metadata.uid")

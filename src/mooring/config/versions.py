"""Detect a document's version, and convert older ones to v1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mooring.api.field_errors import FieldError, required
from mooring.config.config_problems import Problems
from mooring.config.decode import describe, suggest
from mooring.config.defaults import API_VERSION, KIND
from mooring.framework.releases import NEWEST, Release
from mooring.observe.files import locate

#: Returns the data of a ConfigMap by namespace and name; raises OSError or MooringError.
ReadConfigMap = Callable[[str, str], Mapping[str, Any]]

POLICY_KIND = "Policy"
OLDER_VERSIONS = tuple(
    f"kubescheduler.config.k8s.io/{version}"
    for version in ("v1beta3", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1")
)

_NOT_CURRENT = (
    'no kind "{}" is registered for version "{}"; `mooring run` reads older versions, '
    "`mooring config convert` prints the v1 form"
)


def to_current(
    data: object,
    problems: Problems,
    read_config_map: ReadConfigMap | None,
    current_only: bool = False,
    release: Release = NEWEST,
) -> dict[str, Any]:
    """Return the document in its v1 form, for a scheduler of `release`; errors go to `problems`."""
    if not isinstance(data, dict):
        found = "an empty document" if data is None else describe(data)
        problems.add([FieldError("", f"must be a {KIND}, got {found}")])
        return {}
    kind, version = data.get("kind"), data.get("apiVersion")
    errors = []
    if kind not in (KIND, POLICY_KIND):
        errors.append(_wrong("kind", kind, [KIND]))
    elif kind == KIND and version != API_VERSION and version not in OLDER_VERSIONS:
        errors.append(_wrong("apiVersion", version, [API_VERSION, *OLDER_VERSIONS]))
    elif current_only and version != API_VERSION:
        errors.append(FieldError("apiVersion", _NOT_CURRENT.format(kind, version or "")))
    problems.add(errors)
    if errors:
        return {}
    if kind == KIND and version == API_VERSION:
        return data
    from mooring.config.convert import convert  # older files are rare: loaded when needed

    converted = convert(
        data, read_file=_read_file, read_config_map=read_config_map, release=release
    )
    problems.add_original(converted.errors)
    for warning in converted.warnings:
        problems.warn("", warning)
    problems.origin = converted.origin
    return converted.doc_v1


def _wrong(field: str, found: object, expected: list[str]) -> FieldError:
    values = " or ".join(f'"{one}"' for one in expected)
    if found is None:
        return required(field, f"must be {values}")
    hint = suggest(found, expected) if isinstance(found, str) else ""
    return FieldError(field, f"must be {values}, got {describe(found)}{hint}")


def _read_file(name: str) -> str:
    return locate(name).read_text(encoding="utf-8-sig")

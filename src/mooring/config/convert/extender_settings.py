"""Extenders as the Policy file and v1alpha2 wrote them.

Their keys were case-insensitive, `enableHttps` is spelt differently in v1, and `httpTimeout` was a
number of nanoseconds.
"""

# kube-scheduler 1.22: k8s.io/kube-scheduler/config/v1/types.go, LegacyExtender.UnmarshalJSON

from __future__ import annotations

from typing import Any

from mooring.api.durations import Duration
from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.schema import fields_of
from mooring.config.convert.schema_table import TABLE
from mooring.config.positions import field_path

IGNORED = 'unknown field "{key}" is left out, as kube-scheduler did'


def fold_case(conversion: Conversion, value: Any, kind: str, version: str, path: str) -> Any:
    """Copy an extender (or a part of one), changing its keys to the version's spelling."""
    if kind.startswith("[]") and isinstance(value, list):
        return [
            fold_case(conversion, item, kind[2:], version, f"{path}[{index}]")
            for index, item in enumerate(value)
        ]
    if kind not in TABLE[version] or not isinstance(value, dict):
        return value
    fields = fields_of(version, kind)
    folded = {field.lower(): field for field in fields}
    written: Doc = {}
    for key, item in value.items():
        field = folded.get(str(key).lower())
        where = field_path(path, str(key))
        if field is None:
            conversion.warn(where, IGNORED.format(key=key))
        else:
            written[field] = fold_case(conversion, item, fields[field], version, where)
    return written


def convert_legacy_extenders(conversion: Conversion, extenders: list[Doc]) -> list[Doc]:
    """Return the v1 form of extenders whose keys `fold_case` has normalized."""
    written: list[Doc] = []
    for index, extender in enumerate(extenders):
        doc: Doc = {}
        for field, value in extender.items():
            if field == "enableHttps":
                doc["enableHTTPS"] = value
                path = f"extenders[{index}]"
                conversion.origins[f"{path}.enableHTTPS"] = f"{path}.enableHttps"
            elif field == "httpTimeout":
                doc[field] = str(Duration(value))
            else:
                doc[field] = value
        written.append(doc)
    return written

"""Objects with their defaults."""

from __future__ import annotations

from typing import Any

from mooring.apiserver.defaults import set_defaults
from mooring.apiserver.schema.decoding import decode_object
from mooring.controlplane.type_table import types


def defaulted(version: str, kind: str, **more: Any) -> dict[str, Any]:
    """Return a decoded object with its defaults."""
    found = types().find(version, kind)
    assert found is not None
    obj = decode_object({"metadata": {"name": "x"}} | more, found, kind, version).object
    set_defaults(version, kind, obj)
    return obj

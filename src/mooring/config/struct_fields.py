"""The fields of msgspec Structs."""

from __future__ import annotations

from functools import lru_cache

import msgspec


@lru_cache(maxsize=1024)
def struct_fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a Struct. Cached: msgspec evaluates all annotations on each call."""
    return msgspec.structs.fields(kind)

"""The values that stand in a journal for what it leaves out.

Digests are keyed: without the key, a short password cannot be found by trying. The key is never
written, so digests can be compared only within what one process wrote.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from typing import Any

#: The resource of Secrets, which no Struct describes.
SECRETS = "secrets.v1."

_KEY = os.urandom(32)
#: The bytes of a digest.
_SIZE = 16


def digest(content: bytes) -> str:
    """Return the digest of what is left out, in hexadecimal digits."""
    return _digest(content).hex()


def is_secret(raw: dict[str, Any], kind: str = "") -> bool:
    """Return whether an object is a Secret; items of a list may not name their own kind."""
    return kind == SECRETS or (raw.get("kind") == "Secret" and raw.get("apiVersion", "v1") == "v1")


def bare_secret(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a Secret with digests for its values, also those of annotations.

    OpenShift keeps a token in an annotation.
    """
    kept: dict[str, Any] = {
        key: raw[key] for key in ("apiVersion", "kind", "type", "immutable") if key in raw
    }
    metadata = raw.get("metadata")
    if isinstance(metadata, dict):
        kept["metadata"] = {**metadata, "annotations": _digests(metadata.get("annotations"))}
    for key in ("data", "stringData"):
        if key in raw:
            kept[key] = _digests(raw[key])
    return kept


def _digests(values: Any) -> dict[str, str]:
    """Return a map with digests for values, in base64, as the values of a Secret's data are."""
    if not isinstance(values, dict):
        return {}
    return {
        key: base64.b64encode(_digest(str(value).encode())).decode()
        for key, value in values.items()
    }


def _digest(content: bytes) -> bytes:
    return hmac.new(_KEY, content, hashlib.sha256).digest()[:_SIZE]

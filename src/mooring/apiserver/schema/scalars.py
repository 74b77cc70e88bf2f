"""Scalars with a special format: quantities and bytes.

Each function takes a JSON value and returns it as kube-apiserver would encode it, or raises
ValueError with the message of Go's decoder.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import Any

from mooring.api.quantity import Quantity
from mooring.errors import ObjectError

QUANTITY_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
QUANTITY_SUFFIX = "unable to parse quantity's suffix"
QUANTITY_NUMBER = "unable to parse numeric part of quantity"

_QUANTITY = re.compile(r"[+-]?[0-9]*(\.[0-9]*)?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_NEWLINES = re.compile(r"[\r\n]")


@lru_cache(maxsize=16384)
def quantity_text(text: str) -> str:
    """Return the canonical text of a quantity."""
    # apimachinery: pkg/api/resource/quantity.go
    match = _QUANTITY.fullmatch(text)
    if not text or match is None:
        raise ValueError(QUANTITY_FORMAT)
    try:
        return str(Quantity(text))
    except ObjectError:
        bare = text.lstrip("+-")
        if not bare or not (bare[0].isdigit() or bare[0] == "."):
            raise ValueError(QUANTITY_SUFFIX if match[2] else QUANTITY_NUMBER) from None
        raise ValueError(QUANTITY_SUFFIX) from None


def quantity(value: Any) -> str:
    """Return the canonical text of a quantity that is a string or a number in JSON."""
    if isinstance(value, str):
        return quantity_text(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(QUANTITY_FORMAT)
    return quantity_text(repr(value))


def bytes_text(text: str) -> str:
    """Return base64 text as Go encodes it."""
    bare = _NEWLINES.sub("", text)
    try:
        return base64.b64encode(base64.b64decode(bare, validate=True)).decode()
    except binascii.Error:
        wrong = _NOT_BASE64.search(bare.rstrip("="))
        at = wrong.start() if wrong else len(bare) // 4 * 4
        raise ValueError(f"illegal base64 data at input byte {at}") from None

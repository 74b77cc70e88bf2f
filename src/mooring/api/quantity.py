"""Exact quantities, as Kubernetes' resource.Quantity: "100m", "1.5Gi", "1e3".

A quantity is a whole number of billionths (Kubernetes keeps no finer amount: it rounds away from
zero) and the format it was written in. Python's integers are unbounded, so sums and comparisons
are exact; `value` and `milli_value` round away from zero and are clamped to int64.
"""

# apimachinery: pkg/api/resource/quantity.go, suffix.go

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import Literal

from mooring.errors import ObjectError

#: A quantity as JSON has it: text or a number.
QuantityText = str | int | float

#: Quantities by resource name.
ResourceList = dict[str, QuantityText]

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)

NANOS = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000

_QUANTITY = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)", re.ASCII)
# Beyond any real amount, yet cheap to compute with; 1e999999999 would exhaust the memory.
_MAX_EXPONENT = 400
# More digits than any amount has; Python refuses to read very long numbers.
_MAX_DIGITS = 1000

_EXPECTED = 'expected a number with an optional suffix, such as "100m", "1.5Gi" or "1e3"'


def _malformed(text: object, why: str) -> ObjectError:
    return ObjectError(f"quantity {text!r} is malformed: {why}; {_EXPECTED}")


def _parse(text: str) -> tuple[int, Format]:
    match = _QUANTITY.fullmatch(text)
    if match is None or not text:
        raise _malformed(text, "it is not a number with a suffix")
    sign, whole, fraction, suffix = match.groups()
    fraction = fraction or ""
    if not whole and not fraction:
        raise _malformed(text, "it has no digits")
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise _malformed(text[:40] + "...", f"it has more than {_MAX_DIGITS} digits")
    exponent, shift, form = _read_suffix(text, suffix)
    amount = int(whole + fraction or "0") << shift
    power = 9 + exponent - len(fraction)
    # Kubernetes rounds amounts finer than a billionth away from zero.
    nanos = amount * 10**power if power >= 0 else -(-amount // 10**-power)
    if form == "BinarySI":
        nanos = min(nanos, MAX_INT64 * NANOS)
        if 0 < nanos < NANOS:
            form = "DecimalSI"
    return (-nanos if sign == "-" else nanos), form


def _read_suffix(text: str, suffix: str) -> tuple[int, int, Format]:
    """Return the power of ten, the power of two and the format that a suffix denotes."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], 0, "DecimalSI"
    if suffix in _BINARY:
        return 0, _BINARY[suffix], "BinarySI"
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise _malformed(text, f"unknown suffix {suffix!r}")
    exponent = int(match[1]) if len(match[1]) < 12 else (-1 if "-" in match[1] else 1) * 10**9
    if abs(exponent) > _MAX_EXPONENT:
        raise _malformed(text, f"exponent {match[1]} is out of range")
    return exponent, 0, "DecimalExponent"


@total_ordering
class Quantity:
    """An exact amount. Immutable; ordered and hashed by amount, not by format."""

    __slots__ = ("_format", "_nanos")

    _nanos: int
    _format: Format

    def __init__(self, text: QuantityText | Quantity = 0) -> None:
        if isinstance(text, Quantity):
            self._nanos, self._format = text._nanos, text._format
        else:
            self._nanos, self._format = _parse_cached(_text(text))

    @classmethod
    def from_nanos(cls, nanos: int, form: Format = "DecimalSI") -> Quantity:
        """Return a quantity given in billionths."""
        quantity = cls.__new__(cls)
        quantity._nanos = nanos
        quantity._format = form
        return quantity

    @classmethod
    def from_milli(cls, milli: int, form: Format = "DecimalSI") -> Quantity:
        """Return a quantity given in thousandths."""
        return cls.from_nanos(milli * _NANOS_PER_MILLI, form)

    @property
    def nanos(self) -> int:
        """Return the amount in billionths."""
        return self._nanos

    @property
    def format(self) -> Format:
        """Return the format in which the amount is printed."""
        return self._format

    def value(self) -> int:
        """Return the whole amount, rounded away from zero, within int64."""
        return value_of_nanos(self._nanos)

    def milli_value(self) -> int:
        """Return the amount in thousandths, rounded away from zero, within int64."""
        return milli_value_of_nanos(self._nanos)

    def is_zero(self) -> bool:
        """Return whether the amount is zero."""
        return self._nanos == 0

    def __add__(self, other: Quantity) -> Quantity:
        form = self._format if self._nanos else other._format
        return Quantity.from_nanos(self._nanos + other._nanos, form)

    def __sub__(self, other: Quantity) -> Quantity:
        form = self._format if self._nanos else other._format
        return Quantity.from_nanos(self._nanos - other._nanos, form)

    def __mul__(self, factor: int) -> Quantity:
        return Quantity.from_nanos(self._nanos * factor, self._format)

    def __neg__(self) -> Quantity:
        return Quantity.from_nanos(-self._nanos, self._format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self._nanos == other._nanos

    def __lt__(self, other: Quantity) -> bool:
        return self._nanos < other._nanos

    def __hash__(self) -> int:
        return hash(self._nanos)

    def __bool__(self) -> bool:
        return self._nanos != 0

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __str__(self) -> str:
        """Return the canonical text that Kubernetes prints."""
        nanos = self._nanos
        if nanos == 0:
            return "0"
        # Small and fractional amounts are printed in decimal, which keeps their precision.
        if self._format == "BinarySI" and abs(nanos) >= 1024 * NANOS and nanos % NANOS == 0:
            return _print_binary(nanos // NANOS)
        return _print_decimal(nanos, self._format)


def _print_binary(amount: int) -> str:
    power = 0
    while amount % 1024 == 0 and power < len(_BINARY_SUFFIX) - 1:
        amount //= 1024
        power += 1
    return f"{amount}{_BINARY_SUFFIX[power]}"


def _print_decimal(amount: int, form: Format) -> str:
    exponent = -9
    while amount % 1000 == 0 and (form == "DecimalExponent" or exponent < 18):
        amount //= 1000
        exponent += 3
    if form == "DecimalExponent":
        return f"{amount}e{exponent}" if exponent else str(amount)
    return f"{amount}{_DECIMAL_SUFFIX[exponent]}"


def _text(quantity: QuantityText) -> str:
    if isinstance(quantity, str):
        return quantity.strip()
    if isinstance(quantity, bool) or not isinstance(quantity, int | float):
        raise _malformed(quantity, f"it is a {type(quantity).__name__}")
    return repr(quantity)


@lru_cache(maxsize=65536)
def _parse_cached(text: str) -> tuple[int, Format]:
    return _parse(text)


def parse_nanos(quantity: QuantityText) -> int:
    """Return a quantity in whole billionths, exactly."""
    if quantity.__class__ is str:
        return _parse_nanos_text(quantity)
    return _parse_cached(_text(quantity))[0]


@lru_cache(maxsize=65536)
def _parse_nanos_text(text: str) -> int:
    return _parse(text.strip())[0]


def value_of_nanos(nanos: int) -> int:
    """Round billionths to a whole amount, away from zero, within int64."""
    if nanos >= 0:
        return min(-(-nanos // NANOS), MAX_INT64)
    return max(nanos // NANOS, MIN_INT64)


def milli_value_of_nanos(nanos: int) -> int:
    """Round billionths to thousandths, away from zero, within int64."""
    if nanos >= 0:
        return min(-(-nanos // _NANOS_PER_MILLI), MAX_INT64)
    return max(nanos // _NANOS_PER_MILLI, MIN_INT64)


@lru_cache(maxsize=65536, typed=True)
def value(quantity: QuantityText) -> int:
    """Return the whole amount of a quantity, rounded away from zero, within int64.

    >>> value("1.5Gi"), value("100m"), value("1e3")
    (1610612736, 1, 1000)
    """
    return value_of_nanos(parse_nanos(quantity))


@lru_cache(maxsize=65536, typed=True)
def milli_value(quantity: QuantityText) -> int:
    """Return a quantity in thousandths, rounded away from zero, within int64.

    >>> milli_value("100m"), milli_value("1.5"), milli_value(2)
    (100, 1500, 2000)
    """
    return milli_value_of_nanos(parse_nanos(quantity))

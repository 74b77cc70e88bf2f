"""Ranges of sizes and costs, with arithmetic that saturates at the largest 64-bit number."""

# cel-go: checker/cost.go, common/cost.go

from __future__ import annotations

import math

import msgspec

MAX = 2**64 - 1

STRING_FACTOR = 0.1
REGEX_FACTOR = 0.25
LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40


def _add(a: int, b: int) -> int:
    return min(a + b, MAX)


def _multiply(a: int, b: int) -> int:
    return min(a * b, MAX)


def scale(amount: int, factor: float) -> int:
    """Return an amount times a factor, rounded up."""
    product = float(amount) * factor
    return MAX if product >= 2.0**64 else math.ceil(product)


class Range(msgspec.Struct, frozen=True):
    """The least and the most that a size or a cost can be."""

    low: int
    high: int

    def __add__(self, other: Range) -> Range:
        return Range(_add(self.low, other.low), _add(self.high, other.high))

    def __mul__(self, other: Range) -> Range:
        return Range(_multiply(self.low, other.low), _multiply(self.high, other.high))

    def scale(self, factor: float) -> Range:
        """Return the range times a factor, rounded up."""
        return Range(scale(self.low, factor), scale(self.high, factor))

    def union(self, other: Range) -> Range:
        """Return the smallest range that contains both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


def fixed(amount: int) -> Range:
    """Return the range that holds only this amount."""
    return Range(amount, amount)


UNKNOWN = Range(0, MAX)
NOTHING = fixed(0)
ONE = fixed(1)

"""The results of an expression for all devices, evaluated once per distinct combination of values.

What the evaluations cost is kept too. The total is that of the devices that exist now: it depends
neither on the order in which they came nor on what was evaluated before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.api.resource import Device
from mooring.framework.columns import grown
from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError
from mooring.plugins.dynamic_resources.device_columns import (
    Coded,
    DeviceColumns,
    distinct,
    joined,
)
from mooring.typing import Codes

#: What an evaluation takes besides the cost of the expression.
_EVALUATION = 20


class Measured(msgspec.Struct, frozen=True):
    """The result of an expression for a device, and its cost."""

    value: Hashable
    #: The cost of this evaluation by itself; None if it is not an evaluation of an expression.
    own: int | None = None
    #: By number of a part that reads no device: its cost, which counts once.
    fixed: dict[int, int] = {}


Evaluate = Callable[[str, Device], Measured]


class DeviceResults:
    """A code for each device by its result. Owned by the scheduling loop."""

    def __init__(self, columns: DeviceColumns, inputs: Sequence[Coded], evaluate: Evaluate) -> None:
        """Prepare an evaluation for devices that are told apart by `inputs`, the driver included.

        `evaluate` is called once per distinct combination.
        """
        self._columns = columns
        self._inputs = inputs
        self._evaluate = evaluate
        self.codes: Codes = np.zeros(0, dtype=np.int32)
        #: The combination of each row, 0 for a row without a device.
        self._combinations: Codes = np.zeros(0, dtype=np.int32)
        self._numbers: dict[tuple[int, ...], int] = {}
        #: By combination: its rows, one of them, its result, and the code of the result (0: none).
        self._rows = [0]
        self._examples = [0]
        self._results: list[Measured | None] = [None]
        self._codes = [0]
        #: Combinations of existing devices that are not evaluated yet.
        self._missing: dict[int, None] = {}
        self._index: dict[Hashable, int] = {}
        self._values: list[Any] = []
        self._total = 0
        #: How many combinations use each part that reads no device.
        self._users: Counter[int] = Counter()
        #: How much of the columns' logs has been read; -1 before the first refresh.
        self._written = self._freed = -1
        self._is_current = False

    @property
    def bound(self) -> int:
        """Return a number that no code reaches."""
        return len(self._values) + 1

    @property
    def evaluated(self) -> int:
        """Return how many combinations have been evaluated."""
        return sum(one is not None for one in self._results)

    def refresh(self, budget: int | None = None) -> int:
        """Evaluate what is new and return the cost for all devices that exist.

        Raise BudgetExceededError as soon as it is more than `budget`.
        """
        self._combine()
        if self._missing:
            self._evaluate_missing(budget)
        if budget is not None and self._total > budget:
            raise BudgetExceededError
        if not self._is_current:
            self.codes = np.array(self._codes, dtype=np.int32)[self._combinations]
            self._is_current = True
        return self._total

    def value(self, row: int) -> Any:
        """Return the result for the device in a row, as of the last refresh."""
        return self._values[int(self.codes[row]) - 1]

    # Which rows are the same.

    def _combine(self) -> None:
        columns = self._columns
        if self._written == len(columns.written) and self._freed == len(columns.freed):
            return
        if len(self._combinations) < columns.size:
            self._combinations = grown(self._combinations, 2 * columns.size)
        written = [(0, columns.size)]
        if self._written >= 0:
            for start, end in columns.freed[self._freed :]:
                self._assign(start, end, np.zeros(end - start, dtype=np.int32))
            written = columns.written[self._written :]
        arrays = [one.codes for one in self._inputs]
        bounds = [one.bound for one in self._inputs]
        for start, end in joined(written, columns.size):
            parts = [array[start:end] for array in arrays]
            first, groups = distinct(parts, bounds)
            table = np.fromiter(
                (
                    self._number(start + row, tuple(int(part[row]) for part in parts))
                    for row in first
                ),
                np.int32,
                len(first),
            )
            self._assign(start, end, table[groups])
        self._written, self._freed = len(columns.written), len(columns.freed)
        self._is_current = False

    def _number(self, row: int, key: tuple[int, ...]) -> int:
        """Return the number of the combination of a row."""
        if self._columns.devices[row] is None:
            return 0
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._rows)
            self._rows.append(0)
            self._results.append(None)
            self._codes.append(0)
            self._examples.append(row)
        return number

    def _assign(self, start: int, end: int, combinations: Codes) -> None:
        """Record the combinations of some rows."""
        before = self._combinations[start:end]
        for numbers, sign in ((combinations, 1), (before, -1)):
            for number, count in zip(*np.unique(numbers, return_counts=True), strict=True):
                if number:
                    self._count(int(number), sign * int(count))
        self._combinations[start:end] = combinations

    def _count(self, number: int, more: int) -> None:
        rows = self._rows[number]
        self._rows[number] = rows + more
        if rows and rows + more:
            return
        result = self._results[number]
        if result is not None:
            self._bill(result, -1 if rows else 1)
        elif rows:
            self._missing.pop(number, None)
        else:
            self._missing[number] = None

    # Evaluating, and what it cost.

    def _evaluate_missing(self, budget: int | None) -> None:
        for number in list(self._missing):
            if budget is not None and self._total > budget:
                raise BudgetExceededError
            found = self._columns.devices[self._example(number)]
            assert found is not None
            result = self._results[number] = self._evaluate(*found)
            code = self._index.get(result.value)
            if code is None:
                self._values.append(result.value)
                code = self._index[result.value] = len(self._values)
            self._codes[number] = code
            del self._missing[number]
            self._bill(result, 1)

    def _example(self, number: int) -> int:
        """Return a row with a combination."""
        row = self._examples[number]
        if self._combinations[row] != number:
            row = self._examples[number] = int(np.flatnonzero(self._combinations == number)[0])
        return row

    def _bill(self, result: Measured, sign: int) -> None:
        """Add the cost of a combination to the total, or take it away."""
        if result.own is None:
            return
        self._total += sign * (_EVALUATION + result.own)
        for part, cost in result.fixed.items():
            before = self._users[part]
            self._users[part] = before + sign
            if not before or not before + sign:
                self._total += sign * cost

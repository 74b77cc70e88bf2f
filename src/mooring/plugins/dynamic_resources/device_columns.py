"""Devices as columns: one row per device of every slice, with a code for each distinct value.

A selector or a constraint reads a few attributes of a device. Devices whose codes agree in these
columns give the same answer at the same cost, so each distinct combination is evaluated once,
however many devices there are. Rows are written when a slice arrives; they stay as they are until
`collect` is called, so that a cycle never sees a row change.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.api import ResourceSlice
from mooring.api.resource import Device, DeviceAttribute
from mooring.cel.call_costs import text_cost
from mooring.cel.values import EvaluationError
from mooring.framework.columns import grown
from mooring.plugins.dynamic_resources.selectors import attribute_value
from mooring.plugins.dynamic_resources.tracker import DeviceID
from mooring.typing import Codes

_INITIAL_CAPACITY = 1024
#: Unused rows that are tolerated, besides as many as are in use.
_SPARE = 4096
#: Up to this many distinct codes, finding each is faster than finding all at once.
_FEW = 16
#: Stands for the cost of values that are not strings; no attribute is so long.
_NO_STRING = 255
_NO_DEVICE: DeviceID = ("", "", "")


class Coded(Protocol):
    """One code per row."""

    @property
    def codes(self) -> Codes:
        """Return the codes."""
        ...

    @property
    def bound(self) -> int:
        """Return a number that no code reaches."""
        ...


class ValueCodes:
    """The distinct values of a column; code 0 is "no value"."""

    def __init__(self, capacity: int) -> None:
        self.codes: Codes = np.zeros(capacity, dtype=np.int32)
        self._index: dict[Hashable, int] = {}
        #: For each code: what comparing costs if the value is an attribute with a string.
        self._strings = bytearray((_NO_STRING,))

    @property
    def bound(self) -> int:
        """Return a number that no code reaches."""
        return len(self._strings)

    def code(self, value: Hashable) -> int:
        """Return the code of a value, a new one if it has not occurred before."""
        found = self._index.get(value)
        if found is None:
            found = self._index[value] = len(self._strings)
            text = value.string_value if isinstance(value, DeviceAttribute) else None
            is_text = text is not None and value == DeviceAttribute(string_value=text)
            cost = text_cost(len(text)) if is_text and text is not None else _NO_STRING
            self._strings.append(min(cost, _NO_STRING))
        return found

    def compared_with(self, texts: frozenset[str]) -> ComparedCodes:
        """Return codes that are the same for strings that are equally long and not in `texts`."""
        return ComparedCodes(self, texts)

    def comparison(self, texts: frozenset[str]) -> Codes:
        """Return, for each code, its code after a comparison with `texts`.

        A string that is not among them is replaced by the negative of its cost, less one: strings
        of the same cost give the same result, at the same cost.
        """
        costs = np.frombuffer(bytes(self._strings), dtype=np.uint8).astype(np.int32)
        most = max(map(text_cost, map(len, texts)), default=0)
        table = np.arange(self.bound, dtype=np.int32)
        table = np.where(costs == _NO_STRING, table, -1 - np.minimum(costs, most)).astype(np.int32)
        for text in texts:
            code = self._index.get(DeviceAttribute(string_value=text))
            if code is not None:
                table[code] = code
        return table


class ComparedCodes:
    """The codes of a column whose values are only compared with some strings."""

    def __init__(self, column: ValueCodes, texts: frozenset[str]) -> None:
        self._column = column
        self._texts = texts
        #: How many codes stand for other strings.
        self._others = 1 + max(map(text_cost, map(len, texts)), default=0)

    @property
    def bound(self) -> int:
        """Return a number that no code reaches."""
        return self._column.bound + self._others

    @property
    def codes(self) -> Codes:
        """Return one code per row."""
        # The codes of other strings must not depend on how many values there are.
        table: Codes = self._column.comparison(self._texts) + self._others
        return table[self._column.codes]


class SerialCodes:
    """A code of its own for every device, never used again."""

    def __init__(self, capacity: int) -> None:
        self.codes: Codes = np.zeros(capacity, dtype=np.int32)
        self.bound = 1

    def enter(self, start: int, end: int) -> None:
        """Give new codes to some rows."""
        self.codes[start:end] = np.arange(self.bound, self.bound + end - start)
        self.bound += end - start


class DeviceColumns:
    """The devices of all slices. Owned by the scheduling loop, shared by all profiles."""

    def __init__(self, *, lists: bool, node_resources: bool = False) -> None:
        self._lists = lists
        self._node_resources = node_resources
        self._capacity = _INITIAL_CAPACITY
        #: Rows that have ever been used.
        self.size = 0
        #: The device of each row and its driver; None for a row that is not in use.
        self.devices: list[tuple[str, Device] | None] = []
        #: Which device each row was written for.
        self.ids: list[DeviceID] = []
        #: The first row of the slice that a row belongs to.
        self.starts: Codes = np.zeros(self._capacity, dtype=np.int32)
        #: Rows by device; more than one while slices of two generations exist.
        self.rows: dict[DeviceID, list[int]] = {}
        #: Rows as they were written, first and end; `Projection` reads the new ones.
        self.written: list[tuple[int, int]] = []
        #: Rows as they lost their devices, before any of them was written again.
        self.freed: list[tuple[int, int]] = []
        #: Grows when all codes become invalid.
        self.epoch = 0
        #: Grows when the rows of all slices have moved.
        self.moves = 0
        self._slices: dict[str, tuple[ResourceSlice, int]] = {}
        self._unused: dict[int, list[int]] = {}
        self._unused_rows = 0
        self._released: list[tuple[ResourceSlice, int]] = []
        self._reset()

    def _reset(self) -> None:
        self.attributes: dict[str, ValueCodes] = {}
        self.capacities: dict[str, ValueCodes] = {}
        self.drivers = ValueCodes(self._capacity)
        #: Why a device cannot be given to a selector.
        self.faults = ValueCodes(self._capacity)
        #: What the search reads of a device beside selectors, constraints and capacity.
        self.natures = ValueCodes(self._capacity)
        #: All capacities of a device together.
        self.contents = ValueCodes(self._capacity)
        #: The node resources that a device consumes; filled only if the gate
        #: DRANodeAllocatableResources is on.
        self.node_resources = ValueCodes(self._capacity)
        #: A number of its own for every row that was ever written.
        self.serials = SerialCodes(self._capacity)

    def __len__(self) -> int:
        return self.size - self._unused_rows

    def start_of(self, one: ResourceSlice) -> int:
        """Return the first row of a slice."""
        return self._slices[one.metadata.name][1]

    def row_of(self, id: DeviceID, device: Device) -> int:
        """Return the row of a device; several slices may list devices with its id."""
        rows = self.rows[id]
        for row in rows[:-1]:
            entry = self.devices[row]
            if entry is not None and entry[1] is device:
                return row
        return rows[-1]

    def change(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """Record that a slice came, went or changed."""
        changed = new if old is None else old
        assert changed is not None
        known = self._slices.pop(changed.metadata.name, None)
        if known is not None:
            self._released.append(known)
        if new is not None:
            self._slices[new.metadata.name] = (new, self._enter(new))

    def collect(self) -> None:
        """Reuse the rows of slices that are gone; nothing may refer to them any more."""
        if not self._released:
            return
        for one, start in self._released:
            self._release(one, start)
        self._released.clear()
        limit = 4 * len(self) + _SPARE
        if self._unused_rows > len(self) + _SPARE or any(
            column.bound > limit for column in self._columns()
        ):
            self._rebuild()
        elif len(self.written) + len(self.freed) > limit:
            self.written.clear()
            self.freed.clear()
            self.epoch += 1

    def _rebuild(self) -> None:
        slices = [one for one, _ in self._slices.values()]
        self.size = self._unused_rows = 0
        self.devices.clear()
        self.ids.clear()
        self.rows.clear()
        self.written.clear()
        self.freed.clear()
        self._unused.clear()
        self._reset()
        self.epoch += 1
        self.moves += 1
        self._slices = {one.metadata.name: (one, self._enter(one)) for one in slices}

    def _release(self, one: ResourceSlice, start: int) -> None:
        devices = one.spec.devices
        end = start + len(devices)
        for row in range(start, end):
            self.devices[row] = None
            same = self.rows[self.ids[row]]
            same.remove(row)
            if not same:
                del self.rows[self.ids[row]]
        for column in self._columns():
            column.codes[start:end] = 0
        self.freed.append((start, end))
        self._unused.setdefault(len(devices), []).append(start)
        self._unused_rows += len(devices)

    def _columns(self) -> list[ValueCodes]:
        fixed = [self.drivers, self.faults, self.natures, self.contents, self.node_resources]
        return [*fixed, *self.attributes.values(), *self.capacities.values()]

    def _place(self, count: int) -> int:
        if self._unused.get(count):
            self._unused_rows -= count
            return self._unused[count].pop()
        start = self.size
        self.size += count
        self.devices += [None] * count
        self.ids += [_NO_DEVICE] * count
        if self.size > self._capacity:
            while self.size > self._capacity:
                self._capacity *= 2
            self.starts = grown(self.starts, self._capacity)
            self.serials.codes = grown(self.serials.codes, self._capacity)
            for column in self._columns():
                column.codes = grown(column.codes, self._capacity)
        return start

    def _enter(self, one: ResourceSlice) -> int:
        devices, driver = one.spec.devices, one.spec.driver
        start = self._place(len(devices))
        end = start + len(devices)
        self.starts[start:end] = start
        self.serials.enter(start, end)
        self.drivers.codes[start:end] = self.drivers.code(driver)
        natures, contents, faults = [], [], []
        for row, device in enumerate(devices, start):
            self.devices[row] = (driver, device)
            self.ids[row] = key = _id(one, device)
            self.rows.setdefault(key, []).append(row)
            content = frozenset(device.capacity.items())
            own = int(self.serials.codes[row]) if _is_ambiguous(driver, device) else 0
            skips = bool(one.spec.skip_node_operations)
            nature = (*_nature(driver, device, content), own, skips)
            natures.append(self.natures.code(nature))
            contents.append(self.contents.code(content))
            faults.append(self.faults.code(fault) if (fault := self._fault(device)) else 0)
        self.natures.codes[start:end] = natures
        self.contents.codes[start:end] = contents
        self.faults.codes[start:end] = faults
        if self._node_resources:
            self.node_resources.codes[start:end] = list(map(self._node_resource_code, devices))
        for name in {name for device in devices for name in device.attributes}:
            column = self._column(self.attributes, name)
            code = column.code
            column.codes[start:end] = [
                code(device.attributes[name]) if name in device.attributes else 0
                for device in devices
            ]
        for name in {name for device in devices for name in device.capacity}:
            column = self._column(self.capacities, name)
            code = column.code
            column.codes[start:end] = [
                code(device.capacity[name]) if name in device.capacity else 0 for device in devices
            ]
        self.written.append((start, end))
        return start

    def _column(self, columns: dict[str, ValueCodes], name: str) -> ValueCodes:
        found = columns.get(name)
        if found is None:
            found = columns[name] = ValueCodes(self._capacity)
            # What was computed without this column may depend on it.
            self.epoch += 1
        return found

    def _node_resource_code(self, device: Device) -> int:
        now, older = device.node_allocatable_resources, device.node_allocatable_resource_mappings
        if not now and not older:
            return 0
        return self.node_resources.code((frozenset(now.items()), frozenset(older.items())))

    def _fault(self, device: Device) -> str:
        for name, attribute in device.attributes.items():
            if attribute.string_value is not None or attribute.int_value is not None:
                continue
            try:
                attribute_value(attribute, lists=self._lists)
            except EvaluationError as error:
                return f"attribute {name}: {error}"
        return ""


class Projection:
    """A code per device, equal for devices that agree in some columns."""

    def __init__(self, columns: DeviceColumns, inputs: Sequence[Coded]) -> None:
        self._columns = columns
        self._inputs = inputs
        self.codes: Codes = np.zeros(0, dtype=np.int32)
        self._index: dict[tuple[int, ...], int] = {}
        #: How much of the columns' log has been read; -1 before the first refresh.
        self._read = -1

    @property
    def bound(self) -> int:
        """Return a number that no code reaches."""
        return len(self._index) + 1

    def refresh(self) -> None:
        """Compute the codes of rows that were written since the last call."""
        columns = self._columns
        if self._read == len(columns.written):
            return
        written = columns.written[self._read :] if self._read >= 0 else [(0, columns.size)]
        self._read = len(columns.written)
        if len(self.codes) < columns.size:
            self.codes = grown(self.codes, 2 * columns.size)
        for start, end in joined(written, columns.size):
            parts = [one.codes[start:end] for one in self._inputs]
            first, groups = distinct(parts, [one.bound for one in self._inputs])
            table = np.fromiter(
                (self._code(start + row, tuple(int(part[row]) for part in parts)) for row in first),
                np.int32,
                len(first),
            )
            self.codes[start:end] = table[groups]

    def _code(self, row: int, key: tuple[int, ...]) -> int:
        if self._columns.devices[row] is None:
            return 0
        return self._index.setdefault(key, len(self._index) + 1)


def joined(windows: Sequence[tuple[int, int]], size: int) -> Sequence[tuple[int, int]]:
    """Return windows of rows, or one of all rows if that takes less time."""
    if len(windows) > 1 and 4 * sum(end - start for start, end in windows) > size:
        return [(0, size)]
    return windows


def distinct(
    arrays: Sequence[Codes], bounds: Sequence[int]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the first place of each distinct combination, and the combination of each place."""
    size = len(arrays[0])
    codes = arrays[0].astype(np.intp)
    span = bounds[0]
    for array, bound in zip(arrays[1:], bounds[1:], strict=True):
        if span * bound >= 2**62:
            kept, codes = np.unique(codes, return_inverse=True)
            span = len(kept)
        codes *= bound
        codes += array
        span *= bound
    if span > 8 * size + 1024:
        _, first, groups = np.unique(codes, return_index=True, return_inverse=True)
        return first, groups
    counts = np.bincount(codes, minlength=span)
    present = np.flatnonzero(counts)
    table = np.empty(span, dtype=np.intp)
    table[present] = np.arange(len(present))
    groups = table[codes]
    if len(present) <= _FEW:
        return np.array([(codes == code).argmax() for code in present], dtype=np.intp), groups
    # Of equal codes the last one written counts: going backwards, that is the first place.
    first = np.empty(len(present), dtype=np.intp)
    first[groups[::-1]] = np.arange(size - 1, -1, -1)
    return first, groups


def _id(one: ResourceSlice, device: Device) -> DeviceID:
    return one.spec.driver, one.spec.pool.name, device.name


def _nature(driver: str, device: Device, content: Hashable) -> tuple[Hashable, ...]:
    """Return what the search reads of any device."""
    shared = bool(device.allow_multiple_allocations)
    return (
        driver,
        tuple((taint.key, taint.value, taint.effect) for taint in device.taints),
        bool(device.binding_conditions),
        msgspec.json.encode(device.consumes_counters) if device.consumes_counters else b"",
        shared,
        # Requests share its capacity, so what is left depends on all of it.
        content if shared else None,
    )


def _is_ambiguous(driver: str, device: Device) -> bool:
    """Return whether a device lists a name with and without its driver's domain.

    Which of the two counts depends on their order.
    """
    return any(
        f"{driver}/{name}" in group
        for group in (device.attributes, device.capacity)
        for name in group
    )

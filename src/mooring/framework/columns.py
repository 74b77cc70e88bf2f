"""Columns: the cluster as one array per property, with a row per node.

The vector form of a plugin evaluates all nodes at once. Two ideas make that cheap:

- one contiguous array per resource, so a comparison over 5,000 nodes is a few microseconds;
- a label column holds small integer codes into the list of values that occur, so a requirement is
  evaluated once per distinct value and the results are gathered by code.

A changed node or pod rewrites one row. Rows are dense: removing a node moves the last row into
the hole. Nothing is copied for a cycle: state changes between cycles only, so the columns are the
snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from mooring.api import Taint
from mooring.api.labels import Requirement
from mooring.api.quantity import MAX_INT64
from mooring.framework.node_classes import KindIndex
from mooring.framework.node_info import NodeInfo
from mooring.framework.pod_info import HostPort
from mooring.typing import Codes, Floats, Ints, Mask

V = TypeVar("V", bound=Hashable)
A = TypeVar("A", bound=npt.NDArray[Any])
T = TypeVar("T")


_INITIAL_CAPACITY = 64
#: Above this many label keys, those that no longer occur on any node are dropped.
_LABEL_KEYS = 4096
_NO_PORTS: frozenset[HostPort] = frozenset()
#: Answers remembered per column; the older half is dropped when the limit is reached.
_ANSWER_LIMIT = 512


def grown(array: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    """Return the array with room for `capacity` rows; new rows are zero."""
    bigger = np.zeros(capacity, dtype=array.dtype)
    bigger[: len(array)] = array
    return bigger


def _read_only(view: A) -> A:
    view.flags.writeable = False
    return view


#: The most that the pods of a node may request of a resource. A node that exceeds it counts as
#: full; in kube-scheduler the sum wraps around and is negative.
MOST_REQUESTED = MAX_INT64
#: The same for amounts that scores are computed from: a pod's own request can be added to it.
MOST_NON_ZERO = MAX_INT64 // 2


class ValueColumn(Generic[V]):
    """One value per node, kept as codes into the distinct values; code 0 is "no value".

    Answers computed from the values are remembered until a row changes.
    """

    def __init__(self, capacity: int, codes: Codes | None = None) -> None:
        self._codes: Codes = np.zeros(capacity, dtype=np.int32) if codes is None else codes
        #: Distinct values by code; the first entry stands for "no value".
        self.values: list[V | None] = [None]
        self._index: dict[V, int] = {}
        self._answers: dict[Hashable, npt.NDArray[Any]] = {}
        self._size = 0

    def code_of(self, value: V) -> int:
        """Return the code of a value, or -1 if it is not among the distinct values."""
        return self._index.get(value, -1)

    def resize(self, capacity: int) -> None:
        """Grow the column to `capacity` rows."""
        self._codes = cast(Codes, grown(self._codes, capacity))

    def set_size(self, size: int) -> None:
        """Set how many rows are in use."""
        if size != self._size:
            self._size = size
            self._answers.clear()

    def write(self, row: int, value: V | None) -> None:
        """Write one row."""
        if value is None:
            code = 0
        else:
            found = self._index.get(value)
            if found is None:
                found = len(self.values)
                self._index[value] = found
                self.values.append(value)
            code = found
        if self._codes[row] != code:
            self._codes[row] = code
            self._answers.clear()
            if len(self.values) > 2 * self._size + _INITIAL_CAPACITY:
                self._compact()

    def _compact(self) -> None:
        """Drop values that no row has any more; otherwise changing host names would grow the list
        without limit."""
        used, codes = np.unique(self._codes, return_inverse=True)
        if used[0] != 0:
            used = np.concatenate(([0], used))
            codes = codes + 1
        self.values = [self.values[code] for code in used]
        self._index = {value: code for code, value in enumerate(self.values) if value is not None}
        self._codes = codes.astype(np.int32)

    @property
    def codes(self) -> Codes:
        """Return the code of every row in use."""
        return _read_only(self._codes[: self._size])

    def answer(self, key: Hashable, table: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return `table()[codes]`, remembered under `key`; the table has an entry per distinct
        value."""
        found = self._answers.get(key)
        if found is None:
            found = table()[self.codes]
            found.flags.writeable = False
            if len(self._answers) >= _ANSWER_LIMIT:
                for old in list(self._answers)[: _ANSWER_LIMIT // 2]:
                    del self._answers[old]
            self._answers[key] = found
        return found

    def map(
        self, key: Hashable, ask: Callable[[V | None], Any], dtype: npt.DTypeLike
    ) -> npt.NDArray[Any]:
        """Call `ask` once per distinct value and gather the answers for all rows."""
        return self.answer(
            key, lambda: np.array([ask(value) for value in self.values], dtype=dtype)
        )


def requirement_table(column: ValueColumn[str], requirement: Requirement) -> Mask:
    """Evaluate a label requirement on the distinct values of its key's column."""
    operator = requirement.operator
    if operator in ("In", "NotIn"):
        table = np.full(len(column.values), operator == "NotIn")
        for value in requirement.values:
            code = column.code_of(value)
            if code >= 0:
                table[code] = operator == "In"
        return table
    return np.array([requirement.matches_value(value) for value in column.values], dtype=np.bool_)


class Columns:
    """All nodes as columns. Owned by the cache, the only writer."""

    def __init__(self) -> None:
        self.size = 0
        self.names: list[str] = []
        self._lasting_names: tuple[str, ...] | None = None
        #: Row by node name.
        self.rows: dict[str, int] = {}
        self.infos: list[NodeInfo] = []
        #: Grows with every change.
        self.generation = 0
        #: Grows when a node object comes, goes or changes.
        self.node_generation = 0
        self._derived: dict[Hashable, Any] = {}
        self._derived_generation = 0
        #: Rows in the order in which they changed, the first at generation `_touched_from` + 1. A
        #: row in which only labels of pods changed is stored as ~row, a negative number.
        self._touched: list[int] = []
        self._touched_from = 0
        self._followed: dict[Hashable, tuple[npt.NDArray[Any], int]] = {}
        self._kinds = KindIndex()
        #: The generation that the kinds are up to date with.
        self._kinds_at = -1
        self._capacity = _INITIAL_CAPACITY
        #: Requests for resources that no node has offered: by resource, the amounts by node name.
        #: Pods can name any resource, and a column for each would take too much memory.
        self._odd: dict[str, dict[str, int]] = {}
        #: Names of the nodes whose pods request more than an int64 can hold.
        self.overfull: set[str] = set()
        self._odd_of: dict[str, tuple[str, ...]] = {}
        self._allocatable: dict[str, Ints] = {}
        self._requested: dict[str, Ints] = {}
        self._free: dict[str, Ints] = {}
        self._non_zero: dict[str, Ints] = {"cpu": self._zeros(), "memory": self._zeros()}
        #: `requested` and `non_zero` as floats, so that divisions need no conversion each time.
        self._floats: dict[tuple[str, bool], Floats] = {
            (resource, True): np.zeros(self._capacity) for resource in self._non_zero
        }
        self._pod_count = self._zeros()
        self._changed_at = self._zeros()
        self._unschedulable = np.zeros(self._capacity, dtype=np.bool_)
        self.taints: ValueColumn[tuple[Taint, ...]] = ValueColumn(self._capacity)
        self.declared_features: ValueColumn[frozenset[str]] = ValueColumn(self._capacity)
        self._labels: dict[str, ValueColumn[str]] = {}
        #: Every label key that a node has, and some that no node has any more.
        self._label_keys: set[str] = set()
        self._label_keys_limit = _LABEL_KEYS
        #: The codes of labels that no node has.
        self._no_codes: Codes = np.zeros(self._capacity, dtype=np.int32)
        for resource in ("cpu", "memory", "ephemeral-storage", "pods"):
            self._add_resource(resource)
        #: Nodes that use a host port: by (protocol, port), the addresses by node name.
        self.ports: dict[tuple[str, int], dict[str, set[str]]] = {}
        self._ports_of: dict[str, frozenset[HostPort]] = {}

    def _zeros(self) -> Ints:
        return np.zeros(self._capacity, dtype=np.int64)

    def _add_resource(self, resource: str) -> None:
        self._allocatable[resource] = self._zeros()
        self._requested[resource] = self._zeros()
        self._free[resource] = self._zeros()
        self._floats[resource, False] = np.zeros(self._capacity)
        for name, amount in self._odd.pop(resource, {}).items():
            row = self.rows[name]
            self._requested[resource][row] = self._floats[resource, False][row] = amount
            self._free[resource][row] = -amount

    # Reading. Slices are views: they change with later writes, so a caller must not keep one
    # beyond its cycle.

    def allocatable(self, resource: str) -> Ints:
        """Return the allocatable amount of a resource per node (cpu in thousandths)."""
        column = self._allocatable.get(resource)
        return self._no_resource() if column is None else _read_only(column[: self.size])

    def requested(self, resource: str) -> Ints:
        """Return the amount of a resource that the pods of each node request."""
        column = self._requested.get(resource)
        return self._odd_requests(resource) if column is None else _read_only(column[: self.size])

    def free(self, resource: str) -> Ints:
        """Return allocatable less requested."""
        column = self._free.get(resource)
        return -self._odd_requests(resource) if column is None else _read_only(column[: self.size])

    def non_zero_requested(self, resource: str) -> Ints:
        """Return `requested` with defaults for containers that request no cpu or memory."""
        return _read_only(self._non_zero[resource][: self.size])

    def floats(self, resource: str, non_zero: bool) -> Floats:
        """Return `requested` or `non_zero_requested` as floats."""
        column = self._floats.get((resource, non_zero))
        if column is None:
            return self._odd_requests(resource).astype(np.float64)
        return _read_only(column[: self.size])

    @property
    def pod_count(self) -> Ints:
        """Return the number of pods on each node."""
        return _read_only(self._pod_count[: self.size])

    @property
    def changed_at(self) -> Ints:
        """Return the generation at which each row last changed."""
        return _read_only(self._changed_at[: self.size])

    @property
    def unschedulable(self) -> Mask:
        """Return which nodes are cordoned."""
        return _read_only(self._unschedulable[: self.size])

    def _no_resource(self) -> Ints:
        return np.zeros(self.size, dtype=np.int64)

    def _odd_requests(self, resource: str) -> Ints:
        amounts = self._no_resource()
        for name, amount in self._odd.get(resource, {}).items():
            amounts[self.rows[name]] = amount
        return amounts

    def knows_label(self, key: str) -> bool:
        """Return whether some node may have a label; False is certain."""
        return key in self._label_keys

    def label(self, key: str) -> ValueColumn[str]:
        """Return the column of a label key; it is created on first use and then kept up to
        date."""
        column = self._labels.get(key)
        if column is None:
            if key not in self._label_keys:
                # Pods can name any label, so no column is kept for a label that no node has.
                column = ValueColumn(self._capacity, self._no_codes)
                column.set_size(self.size)
                return column
            column = self._labels[key] = ValueColumn(self._capacity)
            column.set_size(self.size)
            for row, info in enumerate(self.infos):
                column.write(row, info.node.metadata.labels.get(key))
        return column

    def derived(self, key: Hashable, work_out: Callable[[], T]) -> T:
        """Return `work_out()`, remembered under `key` until a node object changes."""
        if self._derived_generation != self.node_generation or len(self._derived) > _ANSWER_LIMIT:
            self._derived.clear()
            self._derived_generation = self.node_generation
        if key not in self._derived:
            self._derived[key] = work_out()
        found: T = self._derived[key]
        return found

    def followed(
        self, key: Hashable, work_out: Callable[[npt.NDArray[np.intp] | None], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """Return an entry per row; rows that changed since the last call are computed again."""
        found = self._followed.get(key)
        if found is None:
            column = work_out(None).copy()
        else:
            column, generation = found
            if generation == self.generation:
                return column
            rows = np.array(self.touched_since(generation), dtype=np.intp)
            column[rows] = work_out(rows)
        self._followed[key] = (column, self.generation)
        return column

    def touched_since(
        self, generation: int, *, ignore_pod_labels: bool = False
    ) -> list[int] | None:
        """Return the rows that changed after a generation, once for each change.

        With `ignore_pod_labels`, changes that only concern labels of pods are left out. None if the
        record does not reach back that far.
        """
        if generation < self._touched_from:
            return None
        touched = self._touched[generation - self._touched_from :]
        if ignore_pod_labels:
            return [row for row in touched if row >= 0]
        return [row if row >= 0 else ~row for row in touched]

    @property
    def lasting_names(self) -> tuple[str, ...]:
        """Return the names in a tuple that stays as it is when nodes come and go."""
        if self._lasting_names is None:
            self._lasting_names = tuple(self.names)
        return self._lasting_names

    @property
    def kinds(self) -> KindIndex:
        """Return the index of nodes with equal amounts."""
        if self._kinds_at != self.generation:
            touched = self.touched_since(self._kinds_at, ignore_pod_labels=True)
            if touched is None or len(self._kinds.codes) != self.size:
                self._kinds.rebuild(self.infos)
            else:
                self._kinds.update(self.infos, touched)
            self._kinds_at = self.generation
        return self._kinds

    # Writing.

    def add(self, info: NodeInfo) -> int:
        """Add a node as the last row and return the row."""
        row = self.size
        if row == self._capacity:
            self._grow(2 * self._capacity)
        self._set_size(row + 1)
        self.names.append(info.name)
        self._lasting_names = None
        self.rows[info.name] = row
        self.infos.append(info)
        info.row = row
        self.write_node(row)
        self.write_pods(row)
        return row

    def remove(self, row: int) -> int:
        """Remove a row; the last row takes its place. Return the row that moved (it may be `row`
        itself)."""
        last = self.size - 1
        self._forget_ports(self.names[row])
        self._forget_odd(self.names[row])
        self.overfull.discard(self.names[row])
        del self.rows[self.names[row]]
        self.infos[row].row = -1
        if row != last:
            moved = self.infos[last]
            self.infos[row] = moved
            self.names[row] = moved.name
            self.rows[moved.name] = row
            moved.row = row
            self.write_node(row)
            self.write_pods(row)
        self.infos.pop()
        self.names.pop()
        self._lasting_names = None
        self.generation += 1
        self._set_size(last)
        self.node_generation += 1
        return last

    def write_node(self, row: int) -> None:
        """Rewrite the part of a row that comes from the node object."""
        info = self.infos[row]
        self.touch(row)
        self.node_generation += 1
        for resource in info.allocatable:
            if resource not in self._allocatable:
                self._add_resource(resource)
        for resource, column in self._allocatable.items():
            amount = info.allocatable.get(resource, 0)
            column[row] = amount
            self._free[resource][row] = amount - min(
                info.requested.get(resource, 0), MOST_REQUESTED
            )
        self._unschedulable[row] = info.unschedulable
        self.taints.write(row, info.taints or None)
        self.declared_features.write(row, frozenset(info.node.status.declared_features) or None)
        labels = info.node.metadata.labels
        for key, values in self._labels.items():
            values.write(row, labels.get(key))
        self._label_keys.update(labels)
        if len(self._label_keys) > self._label_keys_limit:
            self._forget_labels()

    def _forget_labels(self) -> None:
        """Drop the label keys that no node has any more."""
        self._label_keys = {key for info in self.infos for key in info.node.metadata.labels}
        self._label_keys_limit = max(_LABEL_KEYS, 2 * len(self._label_keys))
        self._labels = {key: self._labels[key] for key in self._labels.keys() & self._label_keys}

    def write_pods(self, row: int) -> None:
        """Rewrite the part of a row that comes from all its pods."""
        info = self.infos[row]
        self.touch(row)
        self._forget_odd(info.name)
        odd = tuple(info.requested.keys() - self._requested.keys())
        if odd:
            self._odd_of[info.name] = odd
            for resource in odd:
                amounts = self._odd.setdefault(resource, {})
                amounts[info.name] = min(info.requested[resource], MOST_REQUESTED)
        for resource, column in self._requested.items():
            amount = min(info.requested.get(resource, 0), MOST_REQUESTED)
            column[row] = amount
            self._floats[resource, False][row] = amount
            self._free[resource][row] = self._allocatable[resource][row] - amount
        self._write_sums(row, info)
        self._write_ports(info)

    def write_pod_change(self, row: int, resources: dict[str, int], ports: bool) -> None:
        """Rewrite what adding or removing one pod changed: its resources, and its ports if it has
        any."""
        if ports or not resources.keys() <= self._requested.keys():
            self.write_pods(row)
            return
        info = self.infos[row]
        self.touch(row)
        for resource in resources:
            amount = min(info.requested.get(resource, 0), MOST_REQUESTED)
            self._requested[resource][row] = amount
            self._floats[resource, False][row] = amount
            self._free[resource][row] = self._allocatable[resource][row] - amount
        self._write_sums(row, info)

    def _write_sums(self, row: int, info: NodeInfo) -> None:
        if self.overfull or max(info.requested.values(), default=0) > MOST_REQUESTED:
            self._note_overfull(info)
        for resource, amount in info.non_zero_requested.items():
            self._non_zero[resource][row] = min(amount, MOST_NON_ZERO)
            self._floats[resource, True][row] = amount
        self._pod_count[row] = len(info.pods)

    def _note_overfull(self, info: NodeInfo) -> None:
        if max(info.requested.values(), default=0) > MOST_REQUESTED:
            self.overfull.add(info.name)
        else:
            self.overfull.discard(info.name)

    def _write_ports(self, info: NodeInfo) -> None:
        name, used = info.name, info.used_ports
        before = self._ports_of.get(name, _NO_PORTS)
        if used == before:
            return
        self._release_ports(name, before - used)
        for address, protocol, port in used - before:
            by_node = self.ports.setdefault((protocol, port), {})
            by_node.setdefault(name, set()).add(address)
        if used:
            self._ports_of[name] = frozenset(used)
        else:
            del self._ports_of[name]

    def _forget_ports(self, name: str) -> None:
        self._release_ports(name, self._ports_of.pop(name, _NO_PORTS))

    def _release_ports(self, name: str, ports: Iterable[HostPort]) -> None:
        for address, protocol, port in ports:
            by_node = self.ports[protocol, port]
            by_node[name].remove(address)
            if not by_node[name]:
                del by_node[name]
                if not by_node:
                    del self.ports[protocol, port]

    def _forget_odd(self, name: str) -> None:
        for resource in self._odd_of.pop(name, ()):
            amounts = self._odd.get(resource)
            if amounts is not None:
                amounts.pop(name, None)
                if not amounts:
                    del self._odd[resource]

    def touch(self, row: int) -> None:
        """Record that something in a row has changed."""
        self._record_change(row, row)

    def relabel(self, row: int) -> None:
        """Record that only the labels of a pod in a row have changed."""
        self._record_change(row, ~row)

    def _record_change(self, row: int, touched: int) -> None:
        self.generation += 1
        self._changed_at[row] = self.generation
        self._touched.append(touched)
        if len(self._touched) > self._capacity:
            self._forget_touched()

    def _forget_touched(self) -> None:
        """Clear the record of touched rows, and all arrays that depend on it."""
        self._touched.clear()
        self._touched_from = self.generation
        self._followed.clear()

    def _set_size(self, size: int) -> None:
        self.size = size
        self._forget_touched()
        self.taints.set_size(size)
        self.declared_features.set_size(size)
        for column in self._labels.values():
            column.set_size(size)

    def _grow(self, capacity: int) -> None:
        self._capacity = capacity
        for group in (self._allocatable, self._requested, self._free, self._non_zero):
            for resource, column in group.items():
                group[resource] = cast(Ints, grown(column, capacity))
        for which, floats in self._floats.items():
            self._floats[which] = cast(Floats, grown(floats, capacity))
        self._pod_count = cast(Ints, grown(self._pod_count, capacity))
        self._changed_at = cast(Ints, grown(self._changed_at, capacity))
        self._unschedulable = cast(Mask, grown(self._unschedulable, capacity))
        self._no_codes = np.zeros(capacity, dtype=np.int32)
        self.taints.resize(capacity)
        self.declared_features.resize(capacity)
        for values in self._labels.values():
            values.resize(capacity)

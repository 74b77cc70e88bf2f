"""Nodes: all or some nodes of a snapshot, as the vector form of a plugin sees them.

Every array has one entry per node of this object, in its order, and is read-only. An object with
only some of the nodes (the feasible ones, a dry run's candidates) gathers from the full columns on
demand, so it costs nothing until it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import repeat
from typing import Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.api import Pod, Taint
from mooring.api.labels import Requirement, Selector
from mooring.api.ports import ANY_ADDRESS
from mooring.api.spelling import spelled
from mooring.framework.columns import Columns, ValueColumn, requirement_table
from mooring.framework.node_classes import Kinds
from mooring.framework.node_info import NodeInfo, image_name
from mooring.framework.pod_info import AffinityTerm, HostPort
from mooring.typing import Codes, Floats, Ints, Mask

V = TypeVar("V", bound=Hashable)
S = TypeVar("S", bound=np.generic)
T = TypeVar("T")

#: Row numbers in the full snapshot.
Rows = npt.NDArray[np.intp]


class TermKind(Enum):
    """The four lists of affinity terms of a pod; values are attributes of PodInfo."""

    REQUIRED_AFFINITY = "required_affinity"
    REQUIRED_ANTI_AFFINITY = "required_anti_affinity"
    PREFERRED_AFFINITY = "preferred_affinity"
    PREFERRED_ANTI_AFFINITY = "preferred_anti_affinity"

    # Members are compared by identity. The hash of Enum is a function in Python, and slow.
    __hash__ = object.__hash__


class TermCount(msgspec.Struct, frozen=True):
    """An affinity term that existing pods carry, and how many pods of each node carry it."""

    term: AffinityTerm
    #: Per row of the full snapshot.
    counts: Ints


class TermSum(Protocol):
    """The affinity terms of one topology key that match a pod, added up per row of the full
    snapshot. Arrays are made when they are read."""

    @property
    def counts(self) -> Ints:
        """How often the pods of each node carry these terms."""
        ...

    @property
    def worth(self) -> Ints:
        """The same, with each term counted as often as its weight says (required terms: once)."""
        ...


class ImageState(msgspec.Struct, frozen=True):
    """An image's size and the number of nodes that have it."""

    size: int
    num_nodes: int


class PodCounts(Protocol):
    """Pod counts per node, by selector or affinity term. Filled by the cache; arrays cover the full
    snapshot."""

    def matching(
        self, namespaces: frozenset[str] | None, selector: Selector, terminating: bool
    ) -> npt.NDArray[np.int32]:
        """Count the pods that a selector matches in some namespaces (None: in all)."""
        ...

    def terms(self, kind: TermKind) -> Iterable[TermCount]:
        """Return every distinct term of a kind that existing pods carry."""
        ...

    def terms_matching(
        self, kind: TermKind, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> Iterable[TermCount]:
        """Return the distinct terms of existing pods that match `pod`."""
        ...

    def term_sums(
        self, kind: TermKind, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> Mapping[str, TermSum]:
        """Add up the terms of existing pods that match `pod`, by topology key."""
        ...


class NodeImages(Protocol):
    """Which images are on which nodes. Filled by the cache."""

    def state(self, name: str) -> ImageState | None:
        """Return what is known of an image, by its normalised name."""
        ...

    def rows(self, name: str) -> Mask:
        """Return which rows of the full snapshot have an image."""
        ...


class Column(Generic[V]):
    """One value per node, kept as codes into the distinct values; code 0 is "no value"."""

    __slots__ = ("_column", "_rows")

    def __init__(self, column: ValueColumn[V], rows: Rows | None) -> None:
        self._column = column
        self._rows = rows

    @property
    def values(self) -> Sequence[V | None]:
        """Return the distinct values by code; the first is None. Some may no longer occur on any
        node."""
        return self._column.values

    def code_of(self, value: V) -> int:
        """Return the code of a value, or -1 if it is not among the distinct values."""
        return self._column.code_of(value)

    @property
    def codes(self) -> Codes:
        """Return the code of each node's value."""
        codes = self._column.codes
        return codes if self._rows is None else codes[self._rows]

    @property
    def any(self) -> bool:
        """Return whether some node of the snapshot may have a value; False is certain."""
        return len(self._column.values) > 1

    @property
    def present(self) -> Mask:
        """Return which nodes have a value."""
        return self.map(("present",), lambda value: value is not None)

    def map(
        self,
        key: Hashable,
        ask: Callable[[V | None], Any],
        dtype: npt.DTypeLike = np.bool_,
    ) -> npt.NDArray[Any]:
        """Call `ask` once per distinct value and gather the answers.

        The answers are remembered under `key` until a node's value changes. Equal keys must mean
        the same computation, so begin the key with something unique to you (the plugin's name).
        """
        answer = self._column.map(key, ask, dtype)
        return answer if self._rows is None else answer[self._rows]


@spelled(get="find(name)", Get="find(name)", List="infos()", NodeInfos="infos()")
class Nodes:
    """The nodes of one snapshot, or some of them, as columns. Valid for one cycle."""

    def __init__(
        self,
        columns: Columns,
        counts: PodCounts,
        images: NodeImages,
        rows: Rows | None = None,
    ) -> None:
        self._columns = columns
        self._counts = counts
        self._images = images
        #: Row of each node in the full snapshot; None if this is the full snapshot.
        self.rows = rows
        self._kinds: Kinds | None = None
        self._kinds_at = -1

    def __len__(self) -> int:
        return self._columns.size if self.rows is None else len(self.rows)

    @property
    def is_all(self) -> bool:
        """Return whether these are all nodes of the snapshot."""
        return self.rows is None

    @property
    def all(self) -> Nodes:
        """Return all nodes of the snapshot."""
        return self if self.rows is None else Nodes(self._columns, self._counts, self._images)

    @property
    def generation(self) -> int:
        """Return a number that grows with every change of any row."""
        return self._columns.generation

    @property
    def node_generation(self) -> int:
        """Return a number that grows when a node object comes, goes or changes."""
        return self._columns.node_generation

    @property
    def changed_at(self) -> Ints:
        """Return the generation at which each node's row last changed."""
        return self.gather(self._columns.changed_at)

    def changed_since(
        self, generation: int, *, ignore_pod_labels: bool = False
    ) -> list[int] | None:
        """Return the rows of the full snapshot that changed after a generation.

        A row can occur more than once. With `ignore_pod_labels`, changes that only concern labels
        of pods are left out. None if the changes are no longer known.
        """
        return self._columns.touched_since(generation, ignore_pod_labels=ignore_pod_labels)

    # Which nodes.

    @property
    def names(self) -> Sequence[str]:
        """Return the nodes' names."""
        names = self._columns.names
        return names if self.rows is None else [names[row] for row in self.rows.tolist()]

    @property
    def lasting_names(self) -> tuple[str, ...]:
        """Return the names of all nodes by row, for records: later changes do not affect them."""
        return self._columns.lasting_names

    def row(self, name: str) -> int:
        """Return the row of a node in the full snapshot, or -1."""
        return self._columns.rows.get(name, -1)

    def rows_of(self, names: Iterable[str]) -> Rows:
        """Return the rows of several nodes in the full snapshot; -1 for each unknown name."""
        return np.fromiter(map(self._columns.rows.get, names, repeat(-1)), np.intp)

    def select(self, rows: Rows) -> Nodes:
        """Return the nodes at `rows` of the full snapshot."""
        return Nodes(self._columns, self._counts, self._images, rows)

    def where(self, mask: Mask) -> Nodes:
        """Return the nodes of this object that a mask selects; itself if it selects all."""
        kept = np.flatnonzero(mask)
        if len(kept) == len(self):
            return self
        return self.select(kept if self.rows is None else self.rows[kept])

    def gather(self, column: npt.NDArray[S]) -> npt.NDArray[S]:
        """Return the entries for these nodes from an array over the full snapshot."""
        return column if self.rows is None else column[self.rows]

    def derive(self, key: Hashable, work_out: Callable[[Nodes], T]) -> T:
        """Compute something from all nodes of the snapshot, once until a node object changes.

        It must depend on node objects alone, not on pods. Its arrays cover the full snapshot:
        read them with `gather`. Begin the key with something unique to you (the plugin's name).
        """
        return self._columns.derived(key, lambda: work_out(self.all))

    def follow(self, key: Hashable, work_out: Callable[[Nodes], npt.NDArray[S]]) -> npt.NDArray[S]:
        """Keep an array computed from nodes and their pods; only rows that changed are recomputed.

        `work_out` gets some nodes and returns an entry for each, which must depend on that node
        alone. Begin the key with something unique to you (the plugin's name).
        """
        column = self._columns.followed(
            key, lambda rows: work_out(self.all if rows is None else self.select(rows))
        )
        return self.gather(column)

    def kinds(self) -> Kinds:
        """Return one node of each kind: nodes with equal capacity, pod requests and pod count.

        For plugins whose answer depends on these alone. If few nodes are alike, all are returned.
        """
        if self._kinds is None or self._kinds_at != self._columns.generation:
            self._kinds = self._make_kinds()
            self._kinds_at = self._columns.generation
        return self._kinds

    def _make_kinds(self) -> Kinds:
        rows = self.rows
        index = self._columns.kinds
        examples = index.examples(len(self))
        if examples is not None:
            codes = index.codes if rows is None else index.codes.take(rows)
            return Kinds(self.select(examples), codes)
        if rows is None or 2 * len(rows) < self._columns.size:
            return Kinds(self, None)
        # Reading whole columns is cheaper than gathering most of their rows.
        return Kinds(self.all, rows)

    def info(self, position: int) -> NodeInfo:
        """Return one node for node-form access, by its position in this object."""
        row = position if self.rows is None else int(self.rows[position])
        return self._columns.infos[row]

    def infos(self) -> Sequence[NodeInfo]:
        """Return the nodes for node-form access."""
        infos = self._columns.infos
        return infos if self.rows is None else [infos[row] for row in self.rows.tolist()]

    def find(self, name: str) -> NodeInfo | None:
        """Return a node of the full snapshot by name."""
        row = self._columns.rows.get(name)
        return None if row is None else self._columns.infos[row]

    # Resources: cpu in thousandths, everything else in whole units.

    def allocatable(self, resource: str) -> Ints:
        """Return what each node offers of a resource ("pods": the number of pods it can run)."""
        return self.gather(self._columns.allocatable(resource))

    def requested(self, resource: str) -> Ints:
        """Return what the pods on each node request."""
        return self.gather(self._columns.requested(resource))

    def free(self, resource: str) -> Ints:
        """Return allocatable less requested."""
        return self.gather(self._columns.free(resource))

    def non_zero_requested(self, resource: str) -> Ints:
        """Return `requested` of cpu or memory, with defaults for containers that request none."""
        return self.gather(self._columns.non_zero_requested(resource))

    def requested_floats(self, resource: str, *, non_zero: bool = False) -> Floats:
        """Return `requested` (or `non_zero_requested`) as floats, for scores that divide.

        Exact below 2**53.
        """
        return self.gather(self._columns.floats(resource, non_zero))

    @property
    def pod_count(self) -> Ints:
        """Return the number of pods on each node."""
        return self.gather(self._columns.pod_count)

    # The node object.

    def label(self, key: str) -> Column[str]:
        """Return the values of a label (a topology is a label)."""
        return Column(self._columns.label(key), self.rows)

    def label_is(self, key: str, value: str) -> Mask:
        """Return which nodes carry a label with this value."""
        if not self._columns.knows_label(key):
            return np.zeros(len(self), dtype=np.bool_)
        column = self._columns.label(key)
        code = column.code_of(value)
        return self.gather(column.answer(value, lambda: np.arange(len(column.values)) == code))

    def has_label(self, key: str) -> Mask:
        """Return which nodes carry a label."""
        return self.label(key).present

    def matches(self, requirement: Requirement) -> Mask:
        """Return which nodes' labels satisfy a requirement."""
        if not self._columns.knows_label(requirement.key):
            absent = np.ones if requirement.matches_value(None) else np.zeros
            return absent(len(self), dtype=np.bool_)
        column = self._columns.label(requirement.key)
        answer = column.answer(requirement, lambda: requirement_table(column, requirement))
        return self.gather(answer)

    @property
    def unschedulable(self) -> Mask:
        """Return which nodes are cordoned."""
        return self.gather(self._columns.unschedulable)

    @property
    def any_unschedulable(self) -> bool:
        """Return whether some node of the snapshot is cordoned."""
        return self.derive("Nodes/any_unschedulable", lambda every: bool(every.unschedulable.any()))

    @property
    def taints(self) -> Column[tuple[Taint, ...]]:
        """Return the nodes' taints; no value for a node without taints."""
        return Column(self._columns.taints, self.rows)

    @property
    def declared_features(self) -> Column[frozenset[str]]:
        """Return the features that nodes declare; no value for a node that declares none."""
        return Column(self._columns.declared_features, self.rows)

    # Images and ports.

    def image(self, name: str) -> ImageState | None:
        """Return what is known of an image; a name without a tag means ":latest"."""
        return self._images.state(image_name(name))

    def has_image(self, name: str) -> Mask:
        """Return which nodes have an image."""
        return self.gather(self._images.rows(image_name(name)))

    def port_conflicts(self, port: HostPort) -> Mask:
        """Return on which nodes a host port is taken."""
        address, protocol, number = port
        taken = np.zeros(self._columns.size, dtype=np.bool_)
        for name, addresses in self._columns.ports.get((protocol, number), {}).items():
            if address == ANY_ADDRESS or address in addresses or ANY_ADDRESS in addresses:
                taken[self._columns.rows[name]] = True
        return self.gather(taken)

    # Pods, by what they match or carry.

    def pods_matching(
        self,
        namespaces: frozenset[str] | None,
        selector: Selector,
        *,
        terminating: bool = True,
    ) -> npt.NDArray[np.int32]:
        """Count, per node, the pods that a selector matches in some namespaces (None: in all).

        Terminating pods are left out if `terminating` is False.
        """
        return self.gather(self._counts.matching(namespaces, selector, terminating))

    def terms(self, kind: TermKind) -> Iterable[TermCount]:
        """Return the distinct affinity terms that pods carry; counts cover the full snapshot."""
        return self._counts.terms(kind)

    def terms_matching(
        self, kind: TermKind, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> Iterable[TermCount]:
        """Return the distinct terms that existing pods carry and that match `pod`."""
        return self._counts.terms_matching(kind, pod, namespace_labels)

    def term_sums(
        self, kind: TermKind, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> Mapping[str, TermSum]:
        """Add up the terms that existing pods carry and that match `pod`, by topology key.

        Empty if no term matches. Faster than `terms_matching` if there are many terms.
        """
        return self._counts.term_sums(kind, pod, namespace_labels)

"""Decision: everything that happened in one scheduling attempt, as data.

Explain, the journal, event messages and the tests all read this one object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.api import Pod
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.status import Code, Status
from mooring.typing import Ints, Mask

if TYPE_CHECKING:
    from mooring.framework.tried_groups import TriedGroup


class NodeStatuses:
    """The status of every node after Filter; PostFilter plugins receive this.

    Kept as a code per row into the distinct statuses, so a refusal of 5,000 nodes is one entry.
    """

    #: Codes with a special meaning; others index `statuses`.
    _ABSENT = -1
    PASSES = -2
    _OUTSIDE = -3

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes.all
        self._codes: npt.NDArray[np.int32] = np.full(len(self._nodes), self._ABSENT, np.int32)
        self._statuses: list[Status] = []
        self._index: dict[Status, int] = {}
        #: The number of nodes in question.
        self._size = len(self._nodes)
        #: Status of nodes that were not evaluated: unresolvable, as in kube-scheduler.
        self.absent = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    @property
    def columns(self) -> tuple[npt.NDArray[np.int32], Sequence[Status]]:
        """Return a code per row, and the statuses that non-negative codes are indexes of.

        Of the negative codes, `PASSES` marks the rows that pass; the others were not evaluated.
        """
        return self._codes, self._statuses

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the rows."""
        return self._nodes.lasting_names

    def afresh(self, absent: Status) -> NodeStatuses:
        """Return an object for the same nodes with nothing recorded yet."""
        other = NodeStatuses(self._nodes)
        other.absent = absent
        if self._size < len(self._codes):
            other._codes[self._codes == self._OUTSIDE] = self._OUTSIDE
            other._size = self._size
        return other

    def copy(self) -> NodeStatuses:
        """Return a copy that can be changed independently."""
        other = NodeStatuses.__new__(NodeStatuses)
        other._nodes = self._nodes
        other._codes = self._codes.copy()
        other._statuses = self._statuses.copy()
        other._index = self._index.copy()
        other._size = self._size
        other.absent = self.absent
        return other

    def __len__(self) -> int:
        return self._size

    def confine(self, rows: Rows) -> None:
        """Leave only these rows in question: the others are neither evaluated nor counted."""
        self._codes[:] = self._OUTSIDE
        self._codes[rows] = self._ABSENT
        self._size = len(rows)

    def refuse(self, rows: Rows | Mask, status: Status) -> None:
        """Record a refusal for some rows of the snapshot."""
        code = self._index.get(status)
        if code is None:
            code = self._index[status] = len(self._statuses)
            self._statuses.append(status)
        self._codes[rows] = code

    def accept(self, rows: Rows | Mask | slice) -> None:
        """Record that some rows pass."""
        self._codes[rows] = self.PASSES

    def forget(self, rows: Rows | Mask) -> None:
        """Discard what was recorded for some rows: they count as not evaluated."""
        self._codes[rows] = self._ABSENT

    def get(self, name: str) -> Status | None:
        """Return the status of a node; None if it passes."""
        return self.at(self._nodes.row(name))

    def at(self, row: int) -> Status | None:
        """Return the status of a row of the snapshot; None if it passes."""
        status = self._at(int(self._codes[row]))
        if status is None or not status.names_node:
            return status
        return status.for_node(self._nodes.names[row])

    @property
    def passing(self) -> Rows:
        """Return the rows that pass."""
        return np.flatnonzero(self._codes == self.PASSES)

    def _at(self, code: int) -> Status | None:
        if code == self.PASSES:
            return None
        return self.absent if code < 0 else self._statuses[code]

    def groups(self) -> Iterator[tuple[Status, Rows]]:
        """Yield each distinct status of evaluated nodes with the rows that have it."""
        for code, status in enumerate(self._statuses):
            rows = np.flatnonzero(self._codes == code)
            if status.names_node:
                for row in rows.tolist():
                    yield status.for_node(self._nodes.names[row]), np.array([row])
            elif len(rows):
                yield status, rows

    def rows_with(self, code: Code) -> Rows:
        """Return the rows whose status has a code; nodes not evaluated have status `absent`."""
        wanted = [i for i, status in enumerate(self._statuses) if status.code == code]
        if self.absent.code == code:
            wanted.append(self._ABSENT)
        return np.flatnonzero(np.isin(self._codes, wanted))

    @property
    def refused(self) -> int:
        """Return how many evaluated nodes were refused."""
        return int(np.count_nonzero(self._codes >= 0)) if self._statuses else 0

    @property
    def back_off(self) -> bool:
        """Return whether a refusal makes the pod wait for its whole backoff."""
        return any(status.backs_off for status in self._statuses)

    def reasons(self) -> Counter[str]:
        """Count the reasons over all nodes; a node counts once for each of its reasons."""
        counts: Counter[str] = Counter()
        sizes = np.bincount(self._codes + 3, minlength=len(self._statuses) + 3)
        for code, status in enumerate(self._statuses):
            if status.names_node:
                for row in np.flatnonzero(self._codes == code).tolist():
                    counts.update(status.for_node(self._nodes.names[row]).reasons)
                continue
            for reason in status.reasons:
                counts[reason] += int(sizes[code + 3])
        for reason in self.absent.reasons:
            counts[reason] += int(sizes[self._ABSENT + 3])
        return +counts

    def describe(self) -> str:
        """Return "0/N nodes are available: …" with the counted reasons, sorted as text."""
        counted = sorted(f"{count} {reason}" for reason, count in self.reasons().items())
        message = f"0/{self._size} nodes are available:"
        return f"{message} {', '.join(counted)}." if counted else message

    def items(self) -> Iterator[tuple[str, Status | None]]:
        """Yield every node's name and status."""
        for name, code in zip(self._nodes.names, self._codes.tolist(), strict=True):
            status = self._at(code)
            yield name, None if status is None else status.for_node(name)


class Outcome(Enum):
    """How a scheduling attempt ended."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    ERROR = "error"


class PluginScores(msgspec.Struct, frozen=True):
    """One plugin's scores of the feasible nodes, in their order."""

    raw: Ints
    #: The raw scores if the plugin failed before it had normalised them.
    normalized: Ints
    weight: int
    is_normalized: bool = True


class Candidate(msgspec.Struct, frozen=True):
    """A node on which preemption would help, its victims, and how many budgets that violates."""

    node_name: str
    victims: tuple[Pod, ...]
    pdb_violations: int = 0
    #: Whether it is one of the candidates tied for best after all criteria.
    acceptable: bool = False


class PostFilterResult(msgspec.Struct, frozen=True):
    """The result of PostFilter."""

    status: Status
    #: None: leave the nomination as it is; "": clear it.
    nominated_node: str | None = None
    victims: tuple[Pod, ...] = ()
    candidates: Sequence[Candidate] = ()


class Decision(msgspec.Struct):
    """One scheduling attempt. Filled by the cycle, then read-only."""

    pod: Pod
    profile_name: str
    outcome: Outcome = Outcome.ERROR
    #: Seed of the choice among equal nodes.
    seed: int = 0
    num_nodes: int = 0
    pre_enqueue: Status | None = None
    #: The refusing or failing PreFilter status, with its plugin.
    pre_filter: Status | None = None
    #: Node names that PreFilter narrowed the search to; None for all nodes.
    pre_filter_nodes: frozenset[str] | None = None
    #: Per-node verdicts; None if Filter was not reached.
    statuses: NodeStatuses | None = None
    skipped_filter: frozenset[str] | None = None
    skipped_score: frozenset[str] | None = None
    #: Nodes that passed all filters and go on to scoring.
    feasible: Nodes | None = None
    #: How many nodes were filtered.
    evaluated_nodes: int = 0
    #: By plugin (and extender) name; empty if scoring was not needed. If a plugin fails, those that
    #: were computed until then.
    scores: Mapping[str, PluginScores] = msgspec.field(default_factory=dict)
    #: Weighted sums, in the order of `feasible`; None if nothing was scored, or a plugin failed.
    totals: Ints | None = None
    #: The chosen node; "" if there is none.
    node_name: str = ""
    #: The position of the chosen node in `feasible`; -1 unless it was chosen from several nodes.
    chosen: int = -1
    #: How many nodes have the highest total; 0 unless the node was chosen from several nodes.
    best_count: int = 0
    #: Plugins that refused the pod: the queue uses them to decide which events requeue it.
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    post_filter: PostFilterResult | None = None
    #: The FailedScheduling text, or the error.
    message: str = ""
    #: Faults, each with plugin and traceback.
    errors: Sequence[Status] = ()
    #: What was tried for the pod's group, or for the group's tree; None if the pod was tried alone
    #: or the details of the attempt were not recorded.
    group: TriedGroup | None = None

    def position(self, node_name: str) -> int:
        """Return the position of a node among the feasible ones, or -1."""
        feasible = self.feasible
        row = -1 if feasible is None else feasible.row(node_name)
        if feasible is None or row < 0 or feasible.rows is None:
            return row
        found = np.flatnonzero(feasible.rows == row)
        return int(found[0]) if len(found) else -1

    @property
    def backs_off(self) -> bool:
        """Return whether a refusal makes the pod wait for its whole backoff."""
        if self.pre_filter is not None and self.pre_filter.backs_off:
            return True
        return self.statuses is not None and self.statuses.back_off

    @property
    def best(self) -> list[str]:
        """Return the names of the nodes that share the top total."""
        if self.feasible is None or self.totals is None or not len(self.totals):
            return [self.node_name] if self.node_name else []
        top = np.flatnonzero(self.totals == self.totals.max())
        names = self.feasible.names
        return [names[position] for position in top.tolist()]

"""The record of an attempt to schedule a group: its placements, with the pods or parts in each.

Full records are made only on request: by `mooring schedule --explain`, and by `run_cycle` in tests.
Otherwise only trees of composite groups are recorded, with one placement of each pod group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mooring.api import AnyPodGroup, CompositePodGroup, Pod
from mooring.framework.status import Status

ALL_NODES = "all nodes"
_QUORUM_RUNS = "has its quorum, and no other pod fits"


class TriedPod(msgspec.Struct, frozen=True):
    """A pod of a group in one placement: its node, or why it found none."""

    pod: Pod
    node_name: str = ""
    message: str = ""


class TriedPlacement(msgspec.Struct):
    """One placement of a group's attempt."""

    #: The placement's name; "" if all nodes are one placement.
    name: str
    num_nodes: int
    #: The pods that were tried, in order; none for a composite group.
    pods: Sequence[TriedPod]
    #: Why the group does not fit here; None if it does.
    status: Status | None
    #: The plugins' scores times their weights, and the sum; None unless several placements fit.
    scores: dict[str, int] = {}
    total: int | None = None
    #: Whether the group was placed here.
    is_chosen: bool = False
    #: The parts of a composite group here, in the order in which they are tried.
    parts: Sequence[TriedGroup] = ()

    @property
    def placed(self) -> int:
        """Return how many pods found a node; for a composite group, how many parts fit."""
        if self.parts:
            return sum(part.fits for part in self.parts)
        return sum(bool(one.node_name) for one in self.pods)

    def part(self, name: str) -> TriedGroup:
        """Return a part of a composite group by name; raise KeyError if there is none."""
        for one in self.parts:
            if one.group.name == name:
                return one
        raise KeyError(name)


class GroupLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A summary of one group of a tree in one attempt."""

    #: The number of groups above it.
    depth: int
    kind: str
    name: str
    #: How many pods or parts it needs.
    needs: int
    #: Whether it has as many as it needs.
    fits: bool
    #: Such as "2 of 3 pods"; "-" if it was not tried.
    placed: str
    #: The placement that was chosen; "0 of N" if it fits in none of several.
    placement: str
    result: str


class TriedGroup(msgspec.Struct, frozen=True):
    """The record of a pod group or a composite group in one attempt. `str` shows the whole tree."""

    group: AnyPodGroup
    #: Why the group does not fit; None if it does.
    status: Status | None
    #: The placements that were tried, in order.
    placements: Sequence[TriedPlacement] = ()
    #: The number of its pods that had a node before the attempt; 0 for a composite group.
    running: int = 0
    #: The number of its pods without a node; for a composite group, the number of its parts.
    size: int = 0
    #: Whether it was tried. Once the composite group above it cannot fit any more, its remaining
    #: parts are not tried.
    is_tried: bool = True

    @property
    def fits(self) -> bool:
        """Return whether the group has its quorum."""
        return self.is_tried and self.status is None

    @property
    def chosen(self) -> TriedPlacement | None:
        """Return the placement that was chosen; None if the group was not placed."""
        return next((one for one in self.placements if one.is_chosen), None)

    @property
    def shown(self) -> TriedPlacement | None:
        """Return the placement that the group's message is about: the chosen or the first one."""
        return self.chosen or next(iter(self.placements), None)

    @property
    def message(self) -> str:
        """Return why the group does not fit; "" if it does."""
        return "" if self.status is None else self.status.message

    @property
    def progress(self) -> str:
        """Return how many pods or parts of the group are placed, such as "2 of 3 pods"."""
        placed = 0 if self.shown is None else self.shown.placed
        what = "groups" if isinstance(self.group, CompositePodGroup) else "pods"
        return f"{self.running + placed} of {self.running + self.size} {what}"

    def walk(self, depth: int = 0) -> Iterator[tuple[int, TriedGroup]]:
        """Yield the group and all below it in their shown placements, each with its depth."""
        yield depth, self
        for part in () if self.shown is None else self.shown.parts:
            yield from part.walk(depth + 1)

    def find(self, name: str) -> TriedGroup | None:
        """Return the group with a name in the shown placements, or None."""
        return next((one for _, one in self.walk() if one.group.name == name), None)

    def lines(self) -> list[GroupLine]:
        """Return the group and all below it in their shown placements."""
        return [
            GroupLine(
                depth=depth,
                kind=one.group.kind,
                name=one.group.name,
                needs=one.group.min_count,
                fits=one.fits,
                placed=one.progress if one.is_tried else "-",
                placement=one.place,
                result=one.result,
            )
            for depth, one in self.walk()
        ]

    @property
    def place(self) -> str:
        """Return the name of the chosen placement; "0 of N" if it fits in none of several."""
        if len(self.placements) > 1 and self.chosen is None:
            return f"0 of {len(self.placements)}"
        return "-" if self.shown is None else self.shown.name or ALL_NODES

    @property
    def result(self) -> str:
        """Return a short text about how the attempt ended for the group."""
        if not self.is_tried:
            return "not tried"
        if self.status is None:
            return "fits"
        if self.shown is None:
            return self.message
        # A group that fits in none of several placements shows the reason of the first one.
        return _QUORUM_RUNS if self.shown.status is None else self.shown.status.message

    def __str__(self) -> str:
        return "\n".join("  " * depth + one._line() for depth, one in self.walk())

    def _line(self) -> str:
        if not self.is_tried:
            return f"{self.group.name}: not tried"
        if self.status is not None:
            return f"{self.group.name}: {self.progress}: {self.message}"
        where = "" if self.shown is None else f" in {self.shown.name or ALL_NODES}"
        return f"{self.group.name}: {self.progress}{where}"

"""What an attempt to schedule a pod group looked at, kept only if somebody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from mooring.api import Pod, WorkloadPodGroup
from mooring.framework.status import Status


class TriedPod(msgspec.Struct, frozen=True):
    """A pod of a group in one placement: the node that it found, or why it found none."""

    pod: Pod
    node_name: str = ""
    message: str = ""


class TriedPlacement(msgspec.Struct):
    """One placement of a group's attempt."""

    #: The placement's name; "" if all nodes are one placement.
    name: str
    num_nodes: int
    #: The pods that were tried, in order.
    pods: Sequence[TriedPod]
    #: Why the group does not fit here; None if it does.
    status: Status | None
    #: The plugins' scores times their weights, and the sum; None unless several placements fit.
    scores: dict[str, int] = {}
    total: int | None = None
    #: Whether the group was placed here.
    is_chosen: bool = False

    @property
    def placed(self) -> int:
        """Return how many pods found a node."""
        return sum(bool(one.node_name) for one in self.pods)


class ExaminedGroup(msgspec.Struct, frozen=True):
    """One attempt to schedule a pod group."""

    group: WorkloadPodGroup
    #: The number of the attempt; the first is 1.
    attempt: int
    #: The pods that had no node when the attempt began.
    pods: Sequence[Pod]
    #: Why the group was not scheduled, with what PodGroupPostFilter did; None if it was.
    status: Status | None
    placements: Sequence[TriedPlacement]


class GroupExaminer(Protocol):
    """Somebody who asks what the attempts of groups look at."""

    def wants(self, group: WorkloadPodGroup) -> bool:
        """Return whether the attempts of a group are to be examined; that takes more time."""
        ...

    def take(self, examined: ExaminedGroup) -> None:
        """Take what an attempt has looked at."""
        ...

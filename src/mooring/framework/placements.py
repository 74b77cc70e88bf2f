"""What plugins see of the attempt to schedule a pod group: its placements and its trial.

A placement is a set of nodes that all pods of the group must go to, as a mask over the nodes. Pods
are placed one after another, each with those before it assumed.

# kube-scheduler: staging kube-scheduler/framework/interface.go (Placement, PodGroupAssignments)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from mooring.api import AnyPodGroup, Pod
from mooring.framework.decision import NodeStatuses
from mooring.framework.nodes import Nodes
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.typing import Mask


class PlacementProgress(msgspec.Struct, frozen=True):
    """How far the attempt to place the pods of a group has come."""

    #: The pods of the group that have a node: bound, assumed, or placed in this attempt. For a
    #: composite group, the groups below it that fit.
    scheduled: int
    #: The pods, or groups, that are still to be tried.
    remaining: int


class Placement(msgspec.Struct, frozen=True):
    """Nodes that the pods of a group may go to together."""

    #: A name for the log, for example the value of a label.
    name: str
    #: One entry per node that the plugin was given, in their order.
    mask: Mask


class GroupAssignments(msgspec.Struct, frozen=True):
    """A placement in which a group fits, and the nodes of the pods that were placed."""

    placement: str
    #: The nodes of the placement, before any of the pods is counted on them.
    nodes: Nodes
    #: The pods that were placed, each with the node's name.
    pods: Sequence[tuple[PodInfo, str]]


class NominatePods(msgspec.Struct, frozen=True):
    """A result of PodGroupPostFilter: the pods of a group wait for room on these nodes."""

    #: Node names by uid; "" clears a pod's nomination. Pods that are absent keep theirs.
    node_names: Mapping[str, str]
    #: What was done, for the message of the group.
    status: Status
    victims: tuple[Pod, ...] = ()


class MemberRefusal(msgspec.Struct, frozen=True):
    """A pod of a group that found no node in the group's attempt."""

    pod: Pod
    state: CycleState
    #: Each node's refusal, as PostFilter would get it.
    statuses: NodeStatuses


class GroupTrial(Protocol):
    """What a PodGroupPostFilter plugin may try for a group that does not fit.

    Changes are made to the snapshot in place, so the methods of Handle see them, and are undone
    when the plugin returns.
    """

    @property
    def group(self) -> AnyPodGroup:
        """The group."""
        ...

    @property
    def pods(self) -> Sequence[Pod]:
        """The pods of the group that have no node."""
        ...

    @property
    def refusals(self) -> Sequence[MemberRefusal]:
        """The pods that were tried in the group's attempt and found no node."""
        ...

    def remove(self, pods: Sequence[PodInfo]) -> None:
        """Take pods off their nodes."""
        ...

    def reset(self) -> None:
        """Undo everything so far: put all removed pods back, and take placed pods away."""
        ...

    def put_back(self, pods: Sequence[PodInfo]) -> bool:
        """Put removed pods back, unless a placed pod of the group would no longer pass Filter.

        Return whether they are back.
        """
        ...

    async def place(self) -> Status | None:
        """Place the pods of the group as an attempt does; return why that failed, or None.

        If it succeeds, the pods stay placed until the next call; otherwise none is.
        """
        ...

    @property
    def assignments(self) -> Sequence[tuple[PodInfo, str]]:
        """The pods that `place` has placed, each with the node's name."""
        ...

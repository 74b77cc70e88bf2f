"""Consequences: who moves, who fits and who does not, after a change of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mooring.framework.nodes import Nodes
from mooring.typing import Ints


class MovedPod(msgspec.Struct, frozen=True):
    """A pod that gets another node because of the change."""

    pod: str
    #: The node where it is, or would go without the change.
    from_node: str
    to_node: str
    #: The plugin that refuses the old node, or whose weighted score favours the new one most.
    plugin: str = ""
    #: By how much that plugin's weighted score favours the new node; 0 if it refuses the old one.
    change: int = 0
    #: The refusal.
    reason: str = ""


class UnplacedPod(msgspec.Struct, frozen=True):
    """A pod that has a node, or would get one, and fits nowhere after the change."""

    pod: str
    from_node: str
    message: str


class PlacedPod(msgspec.Struct, frozen=True):
    """A pod that is pending without the change, and fits after it."""

    pod: str
    node: str


class Utilisation(msgspec.Struct, frozen=True):
    """What the nodes offer and what their pods request: arrays with an entry per node.

    Cpu is in thousandths, everything else in whole units.
    """

    nodes: Sequence[str]
    allocatable: Mapping[str, Ints]
    requested: Mapping[str, Ints]


class Consequences(msgspec.Struct, frozen=True):
    """What a change leads to."""

    moved: Sequence[MovedPod]
    unplaced: Sequence[UnplacedPod]
    placed: Sequence[PlacedPod]
    #: The nodes as they are.
    before: Utilisation
    #: The nodes after the change, with the pods that got a node by it, the pending ones included.
    after: Utilisation
    #: Pods that lose their node and that no profile serves: nothing can be said about them.
    unserved: Sequence[UnplacedPod] = ()


def utilisation_of(nodes: Nodes) -> Utilisation:
    """Return what nodes offer now and what their pods request."""
    resources = sorted({resource for info in nodes.infos() for resource in info.allocatable})
    return Utilisation(
        list(nodes.names),
        {resource: nodes.allocatable(resource).copy() for resource in resources},
        {resource: nodes.requested(resource).copy() for resource in resources},
    )

"""Extender: what the cycle needs from an extender webhook, as a Protocol (the client is in
`mooring.extenders`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from mooring.api import Pod
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes


class Victims(msgspec.Struct, frozen=True):
    """The pods to evict from a node, and how many disruption budgets that violates."""

    pods: tuple[Pod, ...]
    pdb_violations: int = 0


class ExtenderFilterResult(msgspec.Struct, frozen=True):
    """An extender's verdict on nodes: the names that pass, and why the others do not."""

    feasible: tuple[str, ...]
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]


class Extender(Protocol):
    """A webhook that takes part in scheduling. Methods that call it are coroutines."""

    name: str
    weight: int
    ignorable: bool
    is_filter: bool
    is_prioritizer: bool
    is_binder: bool
    supports_preemption: bool

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the extender manages all resources, or one that the pod requests."""
        ...

    async def filter(self, pod: Pod, nodes: Sequence[NodeInfo]) -> ExtenderFilterResult:
        """Return the verdict on which nodes fit."""
        ...

    async def prioritize(self, pod: Pod, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        """Return a score from 0 to 10 by node name."""
        ...

    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], nodes: Nodes
    ) -> Mapping[str, Victims]:
        """Return the acceptable preemption candidates, with the victims on each.

        The victims may be other pods of `nodes` than those proposed.
        """
        ...

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod; raise on failure."""
        ...

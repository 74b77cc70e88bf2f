"""Extender: what the cycle asks of a webhook, as a Protocol (the client lives in
`mooring.extenders`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from mooring.api import Pod
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes


class Victims(msgspec.Struct, frozen=True):
    """List the pods that must leave a node, and how many disruption budgets that violates."""

    pods: tuple[Pod, ...]
    pdb_violations: int = 0


class ExtenderFilterResult(msgspec.Struct, frozen=True):
    """Carry an extender's verdict on nodes: the names that pass, and why the others do not."""

    feasible: tuple[str, ...]
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]


class Extender(Protocol):
    """Describe a webhook that takes part in scheduling. Methods that talk to it are coroutines."""

    name: str
    weight: int
    ignorable: bool
    is_filter: bool
    is_prioritizer: bool
    is_binder: bool
    supports_preemption: bool

    def is_interested(self, pod: Pod) -> bool:
        """Tell whether the pod asks for a resource this extender manages (or it manages all)."""
        ...

    async def filter(self, pod: Pod, nodes: Sequence[NodeInfo]) -> ExtenderFilterResult:
        """Ask which nodes fit."""
        ...

    async def prioritize(self, pod: Pod, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        """Ask for a score from 0 to 10 per node name."""
        ...

    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], nodes: Nodes
    ) -> Mapping[str, Victims]:
        """Ask which preemption candidates, and which victims on them, are acceptable.

        The answer may name other pods of `nodes` than those proposed.
        """
        ...

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod; raise on failure."""
        ...

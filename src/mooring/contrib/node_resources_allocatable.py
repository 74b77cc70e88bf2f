"""NodeResourcesAllocatable: prefer small or large nodes."""

# scheduler-plugins: pkg/noderesources/allocatable.go

from __future__ import annotations

from collections.abc import Hashable

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from mooring import CycleState, NodeInfo, Nodes, Plugin
from mooring.api import Pod, is_counted
from mooring.contrib.resource_weights import ResourceWeight
from mooring.contrib.score_ranges import lowest_to_highest, quotient
from mooring.typing import Ints, Scores

LEAST = "Least"
MOST = "Most"

#: A thousandth of a cpu weighs as much as a MiB of memory.
DEFAULT_RESOURCES = (ResourceWeight("cpu", 1 << 20), ResourceWeight("memory", 1))


class NodeResourcesAllocatable(Plugin):
    """The plugin that prefers nodes by how much they can offer, not by how much is in use.

    Choose it if the nodes of a cluster differ in size: with `mode: Least` small nodes fill first,
    so that large ones stay free for large pods; with `mode: Most` it is the other way round.
    """

    name = "NodeResourcesAllocatable"
    reads_pods = False

    class Args(msgspec.Struct, frozen=True, rename="camel"):
        """The mode, and the resources that add up to a node's size."""

        #: Least or Most.
        mode: str = LEAST
        #: The resources that count, with their weights.
        resources: tuple[ResourceWeight, ...] = DEFAULT_RESOURCES

        def __post_init__(self) -> None:
            if not self.mode:
                force_setattr(self, "mode", LEAST)
            if self.mode not in (LEAST, MOST):
                raise ValueError(f'mode must be "{LEAST}" or "{MOST}", got "{self.mode}"')
            if not self.resources:
                force_setattr(self, "resources", DEFAULT_RESOURCES)
            for index, one in enumerate(self.resources):
                if one.weight <= 0:
                    raise ValueError(
                        f"resources[{index}].weight: resource weight of {one.name} should be a "
                        f"positive value, got {one.weight}"
                    )

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
        """Return the weighted mean of what each node can offer, negative with mode Least."""
        key = (self.name, self.args)
        return nodes.gather(nodes.derive(key, self._sizes))

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Return the weighted mean of what one node can offer."""
        amounts = {name: np.array([node.allocatable.get(name, 0)]) for name in self._weights()}
        return int(self._size(amounts, 1)[0])

    def normalize_score(self, state: CycleState, pod: Pod, scores: Scores) -> Scores:
        """Scale so that the preferred end becomes 100 and the other 0."""
        return lowest_to_highest(scores)

    def sign_pod(self, pod: Pod) -> Hashable:
        """Return the same for every pod: the score depends on the node alone."""
        return ()

    def _weights(self) -> dict[str, int]:
        # The last weight of a repeated name counts.
        return {one.name: one.weight for one in self.args.resources}

    def _sizes(self, nodes: Nodes) -> Ints:
        return self._size({name: nodes.allocatable(name) for name in self._weights()}, len(nodes))

    def _size(self, amounts: dict[str, Ints], count: int) -> Ints:
        total = np.zeros(count, dtype=np.int64)
        divisor = np.zeros((), dtype=np.int64)
        with np.errstate(over="ignore"):
            for name, weight in self._weights().items():
                divisor = divisor + np.int64(weight)
                if is_counted(name):
                    total += amounts[name] * np.int64(weight)
            if self.args.mode == LEAST:
                total = -total
            return quotient(total, divisor)

"""CSINodes as columns: what the drivers of all nodes report, kept until it changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from mooring.api import CSINode
from mooring.framework.columns import Ints, Mask
from mooring.framework.listers import Lister
from mooring.framework.nodes import Nodes

#: The plugins of a node whose volumes its CSI drivers have taken over, separated by commas.
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

#: Stands for "no limit".
NO_LIMIT = 2**62


def is_migrated(plugin_name: str, csi_node: CSINode | None) -> bool:
    """Tell whether a node's CSI drivers have taken over an in-tree plugin's volumes."""
    if csi_node is None:
        return False
    return plugin_name in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def volume_limits(csi_node: CSINode | None) -> dict[str, int]:
    """Return how many volumes a node takes, by driver; drivers without a limit are absent."""
    if csi_node is None:
        return {}
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


class CSINodes:
    """Answer questions about the CSINode of every node. Owned by one plugin."""

    def __init__(self, lister: Lister[CSINode]) -> None:
        self.lister = lister
        self._stamp: tuple[int, int] = (-1, -1)
        self._answers: dict[Hashable, npt.NDArray[Any]] = {}

    def get(self, node_name: str) -> CSINode | None:
        """Return the CSINode of a node."""
        return self.lister.get(node_name)

    def present(self, nodes: Nodes) -> Mask:
        """Return which nodes have a CSINode."""
        return self._ask("present", nodes, lambda found: found is not None, np.bool_)

    def migrated(self, plugin_name: str, nodes: Nodes) -> Mask:
        """Return on which nodes an in-tree plugin's volumes have been taken over."""
        key = ("migrated", plugin_name)
        return self._ask(key, nodes, lambda found: is_migrated(plugin_name, found), np.bool_)

    def limits(self, driver: str, nodes: Nodes) -> Ints:
        """Return how many volumes of a driver each node takes; NO_LIMIT where it does not say."""
        key = ("limit", driver)
        return self._ask(
            key, nodes, lambda found: volume_limits(found).get(driver, NO_LIMIT), np.int64
        )

    def limited(self, nodes: Nodes) -> Mask:
        """Return which nodes have a limit for any driver."""
        return self._ask("limited", nodes, lambda found: bool(volume_limits(found)), np.bool_)

    def has_driver(self, driver: str, nodes: Nodes) -> Mask:
        """Return on which nodes a driver runs."""
        key = ("driver", driver)
        return self._ask(key, nodes, lambda found: runs_driver(found, driver), np.bool_)

    def _ask(
        self,
        key: Hashable,
        nodes: Nodes,
        ask: Callable[[CSINode | None], Any],
        dtype: npt.DTypeLike,
    ) -> npt.NDArray[Any]:
        stamp = (self.lister.version, nodes.node_generation)
        if stamp != self._stamp:
            self._stamp = stamp
            self._answers.clear()
        answer = self._answers.get(key)
        if answer is None:
            get = self.lister.get
            answer = np.array([ask(get(name)) for name in nodes.all.names], dtype=dtype)
            answer.flags.writeable = False
            self._answers[key] = answer
        return nodes.gather(answer)


def runs_driver(csi_node: CSINode | None, driver: str) -> bool:
    """Tell whether a CSINode reports a driver."""
    return csi_node is not None and any(found.name == driver for found in csi_node.spec.drivers)

"""CSINodes as columns: what the drivers of all nodes report, cached until it changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from mooring.api import CSINode
from mooring.framework.listers import Lister
from mooring.framework.nodes import Nodes
from mooring.typing import Ints, Mask

#: Annotation of a CSINode: the in-tree plugins migrated to CSI drivers, separated by commas.
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

#: Means "no limit".
NO_LIMIT = 2**62


def is_migrated(plugin_name: str, csi_node: CSINode | None) -> bool:
    """Return whether an in-tree plugin's volumes are migrated to a node's CSI drivers."""
    if csi_node is None:
        return False
    return plugin_name in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def volume_limits(csi_node: CSINode | None) -> dict[str, int]:
    """Return the volume limits of a node by driver; drivers without a limit are absent."""
    if csi_node is None:
        return {}
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


class CSINodes:
    """The CSINodes of all nodes, with cached columns. Owned by one plugin."""

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
        """Return on which nodes an in-tree plugin's volumes are migrated to CSI."""
        key = ("migrated", plugin_name)
        return self._ask(key, nodes, lambda found: is_migrated(plugin_name, found), np.bool_)

    def limits(self, driver: str, nodes: Nodes) -> Ints:
        """Return each node's limit of a driver's volumes; NO_LIMIT if it reports none."""
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
    """Return whether a CSINode reports a driver."""
    return csi_node is not None and any(found.name == driver for found in csi_node.spec.drivers)

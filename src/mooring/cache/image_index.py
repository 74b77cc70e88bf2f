"""ImageStates: which images are on which nodes, and how large they are.

# kube-scheduler: backend/cache/cache.go (addNodeImageStates, removeNodeImageStates)
"""

from __future__ import annotations

import numpy as np

from mooring.framework.columns import Columns
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import ImageState
from mooring.typing import Mask


class _Image:
    __slots__ = ("nodes", "size")

    def __init__(self, size: int) -> None:
        #: The size that the first node with the image reported.
        self.size = size
        self.nodes: set[str] = set()


class ImageStates:
    """The images of all nodes. Owned by the cache."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._images: dict[str, _Image] = {}
        self._of_node: dict[str, tuple[str, ...]] = {}

    def add_node(self, info: NodeInfo) -> None:
        """Add a node's images."""
        names = []
        for name, size in info.images():
            image = self._images.get(name)
            if image is None:
                image = self._images[name] = _Image(size)
            image.nodes.add(info.name)
            names.append(name)
        if names:
            self._of_node[info.name] = tuple(names)

    def remove_node(self, node_name: str) -> None:
        """Remove a node's images."""
        for name in self._of_node.pop(node_name, ()):
            image = self._images.get(name)
            if image is None:
                continue
            image.nodes.discard(node_name)
            if not image.nodes:
                del self._images[name]

    def state(self, name: str) -> ImageState | None:
        """Return an image's size and number of nodes, or None."""
        image = self._images.get(name)
        return None if image is None else ImageState(image.size, len(image.nodes))

    def rows(self, name: str) -> Mask:
        """Return which rows have an image."""
        return self._columns.derived((ImageStates, name), lambda: self._rows(name))

    def _rows(self, name: str) -> Mask:
        mask = np.zeros(self._columns.size, dtype=np.bool_)
        image = self._images.get(name)
        if image is not None:
            rows = self._columns.rows
            mask[[rows[node] for node in image.nodes]] = True
        mask.flags.writeable = False
        return mask

"""ImageLocality: prefer nodes that already have a pod's images."""

# kube-scheduler: plugins/imagelocality/image_locality.go

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from mooring.api import Pod
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo, image_name
from mooring.framework.nodes import ImageState, Nodes
from mooring.framework.plugin import MAX_NODE_SCORE, Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.gates import gates_of
from mooring.typing import Ints

_MIB = 1024 * 1024
#: Images below 23 MiB in total score 0; 1000 MiB per container get the highest score.
MIN_THRESHOLD = 23 * _MIB
MAX_CONTAINER_THRESHOLD = 1000 * _MIB


class ImageLocality(Plugin):
    """The plugin that scores nodes by the size of the pod's images that they have.

    The size of an image is scaled by the share of all nodes that have it.
    """

    name = "ImageLocality"
    reads_pods = False

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._counts_volumes = gates_of(handle).release.counts_image_volumes

    def _count(self, pod: Pod) -> int:
        """Return the number of images by which the largest sum is scaled."""
        spec = pod.spec
        count = len(spec.init_containers) + len(spec.containers)
        if self._counts_volumes:
            count += sum(volume.image is not None for volume in spec.volumes)
        return count

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Score one node."""
        snapshot = self.handle.snapshot
        present = {name for name, _ in node.images()}
        total = 0
        for name in _images(pod):
            image = snapshot.image(name)
            if image is not None and name in present:
                total += _scaled_size(image, len(snapshot))
        return _score(total, self._count(pod))

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | int | Status:
        """Score all nodes, evaluating each distinct image once."""
        sizes: dict[str, int] = {}
        for name in _images(pod):
            image = nodes.image(name)
            if image is not None:
                sizes[name] = sizes.get(name, 0) + _scaled_size(image, len(nodes.all))
        count = self._count(pod)
        if not sizes:
            return _score(0, count)
        if len(sizes) == 1:
            ((name, size),) = sizes.items()
            present = nodes.has_image(name)
            return np.where(present, np.int64(_score(size, count)), np.int64(_score(0, count)))
        total = np.zeros(len(nodes), dtype=np.int64)
        for name, size in sizes.items():
            total += size * nodes.has_image(name)
        most = MAX_CONTAINER_THRESHOLD * count
        total = np.where(total < MIN_THRESHOLD, MIN_THRESHOLD, np.minimum(total, most))
        # Exact: the product stays below 2**53 and the quotient is at most 100.
        scaled = (total - MIN_THRESHOLD) * float(MAX_NODE_SCORE) / (most - MIN_THRESHOLD)
        return scaled.astype(np.int64)

    def sign_pod(self, pod: Pod) -> Hashable:
        """Return the image names and their number, which determine the score."""
        return tuple(sorted(_images(pod))), self._count(pod)


def _images(pod: Pod) -> list[str]:
    """Return the normalised names of all images of a pod, once per use."""
    spec = pod.spec
    names = [image_name(container.image) for container in spec.init_containers]
    names += [image_name(container.image) for container in spec.containers]
    names += [
        image_name(volume.image.reference) for volume in spec.volumes if volume.image is not None
    ]
    return names


def _scaled_size(image: ImageState, total_nodes: int) -> int:
    # An image that few nodes have counts less, so that pods do not all go to the node that first
    # pulled it.
    return int(float(image.size) * (float(image.num_nodes) / float(total_nodes)))


def _score(size: int, images: int) -> int:
    most = MAX_CONTAINER_THRESHOLD * images
    if size < MIN_THRESHOLD:
        size = MIN_THRESHOLD
    elif size > most:
        size = most
    return MAX_NODE_SCORE * (size - MIN_THRESHOLD) // (most - MIN_THRESHOLD)

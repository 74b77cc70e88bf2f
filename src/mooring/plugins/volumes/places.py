"""Places: where a volume can be reached from, asked of one node or of many in the same words.

Finding volumes for a pod is written once, on masks: over the columns for the vector form, over one
node for the node form.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from mooring.api import CSIStorageCapacity, NodeTerms, Requirement, Selector, StorageClass
from mooring.api.labels import IN
from mooring.errors import ObjectError
from mooring.framework.columns import Mask
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes, Rows
from mooring.plugins.volumes.csi_nodes import CSINodes, is_migrated


class Places(Protocol):
    """Some nodes, by position."""

    size: int

    def matching(self, requirement: Requirement) -> Mask:
        """Return which nodes' labels satisfy a requirement."""
        ...

    def named(self, name: str) -> Mask:
        """Return which node has this name."""
        ...

    def migrated(self, plugin_name: str) -> Mask:
        """Return on which nodes an in-tree plugin's volumes have been taken over by CSI."""
        ...


class ManyNodes:
    """Places over columns."""

    def __init__(self, nodes: Nodes, csi_nodes: CSINodes) -> None:
        self.size = len(nodes)
        self._nodes = nodes
        self._csi_nodes = csi_nodes

    def matching(self, requirement: Requirement) -> Mask:
        """Return which nodes' labels satisfy a requirement."""
        return self._nodes.matches(requirement)

    def named(self, name: str) -> Mask:
        """Return which node has this name."""
        mask = np.zeros(self.size, dtype=np.bool_)
        row = self._nodes.row(name)
        if row >= 0:
            rows = self._nodes.rows
            mask[row if rows is None else rows == row] = True
        return mask

    def migrated(self, plugin_name: str) -> Mask:
        """Return on which nodes an in-tree plugin's volumes have been taken over by CSI."""
        return self._csi_nodes.migrated(plugin_name, self._nodes)


class OneNode:
    """Places over a single node."""

    size = 1

    def __init__(self, node: NodeInfo, csi_nodes: CSINodes) -> None:
        self._node = node
        self._csi_nodes = csi_nodes

    def matching(self, requirement: Requirement) -> Mask:
        """Return whether the node's labels satisfy a requirement."""
        return np.array([requirement.matches(self._node.labels)])

    def named(self, name: str) -> Mask:
        """Return whether the node has this name."""
        return np.array([self._node.name == name])

    def migrated(self, plugin_name: str) -> Mask:
        """Return whether an in-tree plugin's volumes have been taken over by CSI on the node."""
        return np.array([is_migrated(plugin_name, self._csi_nodes.get(self._node.name))])


def everywhere(places: Places) -> Mask:
    """Return a mask of all nodes."""
    return np.ones(places.size, dtype=np.bool_)


def nowhere(places: Places) -> Mask:
    """Return a mask of no node."""
    return np.zeros(places.size, dtype=np.bool_)


def all_of(requirements: Iterable[Requirement], places: Places) -> Mask:
    """Return which nodes satisfy every requirement."""
    mask: Mask | None = None
    for requirement in requirements:
        matching = places.matching(requirement)
        mask = matching if mask is None else mask & matching
    return everywhere(places) if mask is None else mask


def in_terms(terms: NodeTerms | None, places: Places) -> Mask:
    """Return which nodes a volume's node affinity allows: None allows all.

    Only labels count: a volume's affinity is never asked about a node's name.
    """
    # component-helpers: storage/volume/helpers.go (CheckNodeAffinity)
    if terms is None:
        return everywhere(places)
    mask: Mask | None = None
    for term in terms.terms:
        if not term.errors:
            allowed = all_of(term.labels, places)
            mask = allowed if mask is None else mask | allowed
    return nowhere(places) if mask is None else mask


def in_allowed_topologies(storage_class: StorageClass, places: Places) -> Mask:
    """Return on which nodes a class provisions."""
    # kubernetes: pkg/apis/core/v1/helper/helpers.go (MatchTopologySelectorTerms)
    if not storage_class.allowed_topologies:
        return everywhere(places)
    mask = nowhere(places)
    for term in storage_class.allowed_topologies:
        if not term.match_label_expressions:
            continue
        try:
            requirements = [
                Requirement(expression.key, IN, expression.values)
                for expression in term.match_label_expressions
            ]
        except ObjectError:
            continue
        mask = mask | all_of(requirements, places)
    return mask


def with_access(capacity: CSIStorageCapacity, places: Places) -> Mask:
    """Return which nodes can use the storage that a CSIStorageCapacity reports."""
    if capacity.node_topology is None:
        return nowhere(places)
    try:
        selector = Selector.from_label_selector(capacity.node_topology)
    except ObjectError:
        return nowhere(places)
    return all_of(selector.requirements, places)


def positions(mask: Mask) -> Rows:
    """Return the positions that a mask keeps."""
    return np.flatnonzero(mask)

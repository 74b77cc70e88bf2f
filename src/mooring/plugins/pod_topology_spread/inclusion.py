"""Inclusion: which nodes and which topology domains count for a constraint.

That depends on node objects, and on the pod's node affinity and tolerations, but not on other
pods. It is computed once per distinct combination and cached until a node changes.
"""

# kube-scheduler: plugins/podtopologyspread/common.go (matchNodeInclusionPolicies)

from __future__ import annotations

from collections.abc import Hashable

import msgspec
import numpy as np

from mooring.api import Pod, RequiredNodeAffinity, Toleration, required_node_affinity
from mooring.api.taints import Tolerations
from mooring.framework.nodes import Nodes
from mooring.plugins.node_matching import nodes_matching_required
from mooring.plugins.pod_topology_spread.spread_constraints import SpreadConstraint
from mooring.typing import Mask

#: When the cache holds this many groups and keys, it is cleared.
_MEMO_LIMIT = 16384


class Included(msgspec.Struct, frozen=True):
    """The nodes that count, and the domains they form."""

    #: Rows of the full snapshot; None if all count.
    rows: Mask | None
    #: By code of the topology key's column: whether a row that counts has the value.
    domains: Mask
    #: The number of domains; rows without the key form none.
    number: int


class _Group(msgspec.Struct):
    """The nodes that count for some constraints of a pod, and their domains by topology key."""

    rows: Mask | None
    by_key: dict[str, Included] = msgspec.field(default_factory=dict)


class Inclusion:
    """A cache of which nodes count. Its entries are valid until a node changes."""

    def __init__(self, comparison_operators: bool) -> None:
        self._comparison_operators = comparison_operators
        self._memo: dict[Hashable, _Group] = {}
        #: The size of the cache, see `_MEMO_LIMIT`.
        self._remembered = 0
        self._node_generation = -1

    def of_pod(self, nodes: Nodes, pod: Pod, keys: tuple[str, ...]) -> PodInclusion:
        """Return the inclusion for a pod's constraints; only nodes with all `keys` count."""
        return PodInclusion(self, nodes.all, pod, keys)

    def lacking(self, nodes: Nodes, keys: tuple[str, ...]) -> Mask | None:
        """Return which rows of the full snapshot lack any of `keys`; None if none does."""
        having = self.group(nodes.all, keys, None, None).rows
        return None if having is None else ~having

    def group(
        self,
        nodes: Nodes,
        keys: tuple[str, ...],
        affinity: RequiredNodeAffinity | None,
        tolerations: tuple[Toleration, ...] | None,
    ) -> _Group:
        """Return the nodes that have all keys, match an affinity and have only tolerated taints."""
        if nodes.node_generation != self._node_generation:
            self._node_generation = nodes.node_generation
            self._start_over()
        question = (keys, affinity, tolerations)
        group = self._memo.get(question)
        if group is None:
            self.remember(len(keys) + 1)
            rows = self._rows(nodes, keys, affinity, tolerations)
            group = self._memo[question] = _Group(rows)
        return group

    def remember(self, amount: int) -> None:
        """Record that the cache grows by `amount`; clear it first if it is full."""
        if self._remembered >= _MEMO_LIMIT:
            self._start_over()
        self._remembered += amount

    def _start_over(self) -> None:
        self._memo.clear()
        self._remembered = 0

    def _rows(
        self,
        nodes: Nodes,
        keys: tuple[str, ...],
        affinity: RequiredNodeAffinity | None,
        tolerations: tuple[Toleration, ...] | None,
    ) -> Mask | None:
        rows = _having(nodes, keys)
        if affinity is not None:
            rows = _both(rows, nodes_matching_required(nodes, affinity))
        if tolerations is not None:
            operators = self._comparison_operators
            find = Tolerations(tolerations, operators).find_untolerated
            tolerable = nodes.taints.map(
                ("PodTopologySpread", tolerations, operators),
                lambda taints: find(taints or ()) is None,
            )
            rows = _both(rows, tolerable)
        return None if rows is not None and rows.all() else rows


class PodInclusion:
    """The nodes that count for the constraints of one pod, in one cycle.

    The cache is looked up once for all constraints, not once for each: its keys (topology keys,
    affinity, tolerations) can be long.
    """

    __slots__ = ("_groups", "_keys", "_memo", "_nodes", "_pod")

    def __init__(self, memo: Inclusion, nodes: Nodes, pod: Pod, keys: tuple[str, ...]) -> None:
        self._memo = memo
        self._nodes = nodes
        self._pod = pod
        self._keys = keys
        #: By whether node affinity and taints are honoured.
        self._groups: dict[tuple[bool, bool], _Group] = {}

    def of(self, constraint: SpreadConstraint) -> Included:
        """Return the nodes and domains that count for a constraint."""
        policies = (constraint.honor_affinity, constraint.honor_taints)
        group = self._groups.get(policies)
        if group is None:
            group = self._groups[policies] = self._group(*policies)
        key = constraint.topology_key
        included = group.by_key.get(key)
        if included is None:
            self._memo.remember(1)
            included = group.by_key[key] = _domains(self._nodes, key, group.rows)
        return included

    def _group(self, honor_affinity: bool, honor_taints: bool) -> _Group:
        spec = self._pod.spec
        affinity: RequiredNodeAffinity | None = None
        if honor_affinity and (spec.node_selector or spec.affinity is not None):
            affinity = required_node_affinity(self._pod)
        tolerations = spec.tolerations if honor_taints else None
        return self._memo.group(self._nodes, self._keys, affinity, tolerations)


def _domains(nodes: Nodes, topology_key: str, rows: Mask | None) -> Included:
    column = nodes.label(topology_key)
    domains = np.zeros(len(column.values), dtype=np.bool_)
    domains[column.codes if rows is None else column.codes[rows]] = True
    domains[0] = False
    return Included(rows, domains, int(np.count_nonzero(domains)))


def _both(rows: Mask | None, more: Mask) -> Mask:
    return more if rows is None else rows & more


def _having(nodes: Nodes, keys: tuple[str, ...]) -> Mask | None:
    rows: Mask | None = None
    for key in keys:
        if not nodes.label(key).any:
            return np.zeros(len(nodes), dtype=np.bool_)
        present = nodes.has_label(key)
        if not present.all():
            rows = _both(rows, present)
            if not rows.any():
                break
    return rows

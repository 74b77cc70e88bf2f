"""Inclusion: which nodes and which topology domains count for a constraint.

That depends on node objects and on what the pod asks of its node, not on pods: it is worked out
once per distinct question and kept until a node changes.
"""

# kube-scheduler: plugins/podtopologyspread/common.go (matchNodeInclusionPolicies)

from __future__ import annotations

from collections.abc import Hashable

import msgspec
import numpy as np

from mooring.api import Pod, RequiredNodeAffinity, Toleration, required_node_affinity
from mooring.api.taints import find_untolerated
from mooring.framework.columns import Mask
from mooring.framework.nodes import Nodes
from mooring.plugins.node_matching import nodes_matching_required
from mooring.plugins.pod_topology_spread.spread_constraints import SpreadConstraint

_MEMO_LIMIT = 1024


class Included(msgspec.Struct, frozen=True):
    """The nodes that count, and the domains they make up."""

    #: Rows of the full snapshot; None where all count.
    rows: Mask | None
    #: By code of the topology key's column: whether a row that counts has the value.
    domains: Mask
    #: How many values that is; rows without the key are no domain.
    number: int


class Inclusion:
    """Answer which nodes count. Answers are valid until a node changes."""

    def __init__(self, comparison_operators: bool) -> None:
        self._comparison_operators = comparison_operators
        self._memo: dict[Hashable, Included] = {}
        self._keys_memo: dict[tuple[str, ...], Mask | None] = {}
        self._node_generation = -1

    def of(
        self, nodes: Nodes, pod: Pod, constraint: SpreadConstraint, keys: tuple[str, ...]
    ) -> Included:
        """Return what counts for a constraint; nodes must have all `keys`."""
        self._start_over_if_stale(nodes)
        spec = pod.spec
        affinity: RequiredNodeAffinity | None = None
        if constraint.honor_affinity and (spec.node_selector or spec.affinity is not None):
            affinity = required_node_affinity(pod)
        tolerations = spec.tolerations if constraint.honor_taints else None
        question = (constraint.topology_key, keys, affinity, tolerations)
        answer = self._memo.get(question)
        if answer is None:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            answer = self._work_out(nodes.all, constraint.topology_key, keys, affinity, tolerations)
            self._memo[question] = answer
        return answer

    def lacking(self, nodes: Nodes, keys: tuple[str, ...]) -> Mask | None:
        """Return which rows of the full snapshot lack any of some labels; None where none does."""
        self._start_over_if_stale(nodes)
        if keys not in self._keys_memo:
            having = _having(nodes.all, keys)
            self._keys_memo[keys] = None if having is None else ~having
        return self._keys_memo[keys]

    def _start_over_if_stale(self, nodes: Nodes) -> None:
        if nodes.node_generation != self._node_generation:
            self._node_generation = nodes.node_generation
            self._memo.clear()
            self._keys_memo.clear()

    def _work_out(
        self,
        nodes: Nodes,
        topology_key: str,
        keys: tuple[str, ...],
        affinity: RequiredNodeAffinity | None,
        tolerations: tuple[Toleration, ...] | None,
    ) -> Included:
        rows = _having(nodes, keys)
        if affinity is not None:
            rows = _both(rows, nodes_matching_required(nodes, affinity))
        if tolerations is not None:
            operators = self._comparison_operators
            tolerable = nodes.taints.map(
                ("PodTopologySpread", tolerations, operators),
                lambda taints: (
                    find_untolerated(taints or (), tolerations, comparison_operators=operators)
                    is None
                ),
            )
            rows = _both(rows, tolerable)
        if rows is not None and rows.all():
            rows = None
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
        present = nodes.has_label(key)
        if not present.all():
            rows = _both(rows, present)
    return rows

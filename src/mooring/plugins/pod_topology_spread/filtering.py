"""The Filter half: whether a domain would have more than maxSkew pods above the minimum."""

# kube-scheduler: plugins/podtopologyspread/filtering.go

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.api import Pod
from mooring.framework.diagnosis import Detail
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.status import Status
from mooring.plugins.pod_topology_spread.counting import count_domains
from mooring.plugins.pod_topology_spread.inclusion import Included, Inclusion
from mooring.plugins.pod_topology_spread.spread_constraints import Constraints, SpreadConstraint
from mooring.plugins.topology import TopologyDomains
from mooring.typing import Mask

CONSTRAINTS_NOT_MATCH = "node(s) didn't match pod topology spread constraints"
LABEL_NOT_MATCH = f"{CONSTRAINTS_NOT_MATCH} (missing required label)"

TOO_SKEWED = Status.unschedulable(CONSTRAINTS_NOT_MATCH)
LABEL_MISSING = Status.unresolvable(LABEL_NOT_MATCH)

#: The minimum over no domains at all. # kube-scheduler: math.MaxInt32 in newCriticalPaths
_NO_MINIMUM = 2**31 - 1


class Spread:
    """One constraint and the pods it counts, per domain."""

    __slots__ = ("_minimum", "constraint", "domains", "included", "self_match")

    def __init__(
        self,
        constraint: SpreadConstraint,
        included: Included,
        self_match: bool,
        domains: TopologyDomains,
    ) -> None:
        self.constraint = constraint
        self.included = included
        #: 1 if the constraint counts the incoming pod too, otherwise 0.
        self.self_match = int(self_match)
        self.domains = domains
        self._minimum: int | None = None

    def clone(self) -> Spread:
        """Return an independent copy."""
        other = Spread(self.constraint, self.included, bool(self.self_match), self.domains.clone())
        other._minimum = self._minimum
        return other

    def change(self, value: str, amount: int) -> None:
        """Add `amount` pods (negative to remove) to a domain."""
        self.domains.change(value, amount)
        self._minimum = None

    @property
    def minimum(self) -> int:
        """The smallest number of pods in a domain; 0 if there are fewer than minDomains."""
        if self._minimum is None:
            included = self.included
            if included.number < self.constraint.min_domains:
                self._minimum = 0
            elif not included.number:
                self._minimum = _NO_MINIMUM
            else:
                self._minimum = int(self.domains.sums[included.domains].min())
        return self._minimum

    @property
    def most(self) -> int:
        """The highest number of pods a domain may have so that the pod stays within maxSkew."""
        return self.constraint.max_skew + self.minimum - self.self_match


class FilterState:
    """The counts that PreFilter passes to Filter; `add_pod` and `remove_pod` update them."""

    cycle_only = True
    __slots__ = ("lacking", "spreads")

    def __init__(self, spreads: Sequence[Spread], lacking: Mask | None) -> None:
        #: Empty if every node lacks a topology key: no node counts then, and each is refused.
        self.spreads = spreads
        #: Rows of the full snapshot that lack a topology key; None if none does.
        self.lacking = lacking

    def clone(self) -> FilterState:
        """Return an independent copy."""
        return FilterState([spread.clone() for spread in self.spreads], self.lacking)

    @classmethod
    def count(
        cls, constraints: Constraints, pod: Pod, nodes: Nodes, inclusion: Inclusion
    ) -> FilterState:
        """Count the pods of every domain."""
        keys = tuple(constraint.topology_key for constraint in constraints)
        lacking = inclusion.lacking(nodes, keys)
        if lacking is not None and lacking.all():
            return cls((), lacking)
        inclusions = inclusion.of_pod(nodes, pod, keys)
        labels = pod.metadata.labels
        spreads = []
        for constraint in constraints:
            included = inclusions.of(constraint)
            matching = constraint.selector.matches(labels)
            domains = count_domains(constraint, included, pod, nodes)
            spreads.append(Spread(constraint, included, matching, domains))
        return cls(spreads, lacking)

    def change(self, pod: Pod, other: Pod, node: NodeInfo, nodes: Nodes, amount: int) -> None:
        """Add another pod to its node's counts `amount` times; -1 removes it.

        Unlike `pods_per_row`, this does not treat an empty selector or a terminating pod
        differently, as in kube-scheduler's preemption.
        """
        if other.metadata.namespace != pod.metadata.namespace:
            return
        row = nodes.row(node.name)
        if row < 0:
            return
        for spread in self.spreads:
            rows = spread.included.rows
            if rows is not None and not rows[row]:
                continue
            constraint = spread.constraint
            if constraint.selector.matches(other.metadata.labels):
                spread.change(node.labels[constraint.topology_key], amount)

    def refuse(self, node: NodeInfo) -> Status | None:
        """Return the refusal of one node by the first constraint that fails, or None."""
        if not self.spreads:
            return LABEL_MISSING
        for spread in self.spreads:
            value = node.labels.get(spread.constraint.topology_key)
            if value is None:
                return LABEL_MISSING
            if spread.domains.of(value) > spread.most:
                return TOO_SKEWED
        return None

    def describe(self, node: NodeInfo) -> Detail | None:
        """Return by which constraint a node is refused, with the numbers of pods."""
        keys = tuple(dict.fromkeys(spread.constraint.topology_key for spread in self.spreads))
        for spread in self.spreads:
            key = spread.constraint.topology_key
            value = node.labels.get(key)
            if value is None:
                return Detail(f"{key} is not set", keys)
            there = spread.domains.of(value)
            if there > spread.most:
                text = (
                    f"{key}={value} has {there} matching pod(s), the domain with the fewest "
                    f"{spread.minimum} (maxSkew {spread.constraint.max_skew})"
                )
                return Detail(text, keys)
        return None

    def refuse_nodes(self, nodes: Nodes) -> Iterator[tuple[Status, Mask]]:
        """Yield the refusals of many nodes, each by the first constraint that fails."""
        missing: Mask | None = None if self.spreads else np.ones(len(nodes), dtype=np.bool_)
        skewed: Mask | None = None
        for spread in self.spreads:
            full = spread.domains.sums > spread.most
            full[0] = False
            lacking = self.lacking is not None
            if not lacking and not full.any():
                continue
            codes = nodes.label(spread.constraint.topology_key).codes
            if lacking:
                here = codes == 0
                if skewed is not None:
                    here &= ~skewed
                missing = here if missing is None else missing | here
            here = full.take(codes)
            if missing is not None:
                here &= ~missing
            skewed = here if skewed is None else skewed | here
        if missing is not None:
            yield LABEL_MISSING, missing
        if skewed is not None:
            yield TOO_SKEWED, skewed

"""The Filter half: required affinity and anti-affinity, in both directions."""

# kube-scheduler: plugins/interpodaffinity/filtering.go

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mooring.api import Pod
from mooring.framework.diagnosis import Detail
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes, TermSum
from mooring.framework.pod_info import AffinityTerm, PodInfo, Terms
from mooring.framework.status import Status
from mooring.plugins.inter_pod_affinity.terms import OwnTerm, intersection, matches_all
from mooring.plugins.topology import TopologyDomains
from mooring.typing import Mask

AFFINITY_NOT_MATCH = Status.unresolvable("node(s) didn't match pod affinity rules")
ANTI_AFFINITY_NOT_MATCH = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY_NOT_MATCH = Status.unschedulable(
    "node(s) didn't satisfy existing pods anti-affinity rules"
)

Counts = npt.NDArray[np.integer[Any]]


class TopologyCounts:
    """Pods per domain, for each topology key that some terms name."""

    __slots__ = ("by_key",)

    def __init__(self, by_key: dict[str, TopologyDomains]) -> None:
        self.by_key = by_key

    @classmethod
    def count(cls, counted: Iterable[tuple[str, Counts]], nodes: Nodes) -> TopologyCounts:
        """Add up counts per domain; each topology key comes with counts per snapshot row."""
        rows: dict[str, Counts] = {}
        for key, counts in counted:
            rows[key] = rows[key] + counts if key in rows else counts
        return cls({key: TopologyDomains.count(nodes, key, counts) for key, counts in rows.items()})

    def clone(self) -> TopologyCounts:
        """Return an independent copy."""
        return TopologyCounts({key: domains.clone() for key, domains in self.by_key.items()})

    def change(self, key: str, node: NodeInfo, nodes: Nodes, amount: int) -> None:
        """Add `amount` pods (negative to remove) to a node's domain."""
        domains = self.by_key.get(key)
        if domains is None:
            domains = self.by_key[key] = TopologyDomains.none(nodes, key)
        domains.change(node.labels.get(key), amount)

    @property
    def any(self) -> bool:
        """Whether there is a pod in any domain."""
        return any(domains.occupied.any() for domains in self.by_key.values())

    def at(self, node: NodeInfo) -> bool:
        """Return whether any of a node's domains has a pod."""
        labels = node.labels
        return any(
            key in labels and domains.of(labels[key]) > 0 for key, domains in self.by_key.items()
        )

    def at_nodes(self, nodes: Nodes) -> Mask | None:
        """Return the mask of nodes with a pod in any of their domains; None means no node."""
        found: Mask | None = None
        for key, domains in self.by_key.items():
            if domains.occupied.any():
                here = domains.occupied.take(nodes.label(key).codes)
                found = here if found is None else found | here
        return found


#: How many terms match, by their topology key.
_Matches = Mapping[str, int]


def _count_keys(terms: Iterable[OwnTerm | AffinityTerm]) -> _Matches:
    return Counter(term.topology_key for term in terms)


class _TermMatches:
    """Which terms match as pods come and go, remembered: many pods have equal labels or terms.

    A dry run removes the same pods and adds them again, and both sides can have thousands of terms.
    """

    __slots__ = ("_namespace_labels", "_of_others", "_own", "_pod", "_required", "_unwanted")

    def __init__(
        self,
        pod: Pod,
        namespace_labels: Mapping[str, str],
        required: tuple[OwnTerm, ...],
        unwanted: tuple[OwnTerm, ...],
    ) -> None:
        self._pod = pod
        self._namespace_labels = namespace_labels
        self._required = required
        self._unwanted = unwanted
        #: By namespace and labels of the other pod.
        self._own: dict[Hashable, tuple[bool, _Matches]] = {}
        #: By identity of the other pod's terms, which the entry keeps alive.
        self._of_others: dict[int, tuple[Terms, _Matches]] = {}

    def own(self, other: Pod) -> tuple[bool, _Matches]:
        """Return whether all affinity terms match another pod, and the anti-affinity terms."""
        meta = other.metadata
        key = (meta.namespace, frozenset(meta.labels.items()))
        found = self._own.get(key)
        if found is None:
            found = self._own[key] = (
                matches_all(self._required, other),
                _count_keys(term for term in self._unwanted if term.matches(other)),
            )
        return found

    def of_other(self, other: PodInfo) -> _Matches:
        """Return the anti-affinity terms of another pod that match the pod."""
        terms = other.required_anti_affinity
        if not terms:
            return {}
        found = self._of_others.get(id(terms))
        if found is None:
            pod, labels = self._pod, self._namespace_labels
            matching = _count_keys(term for term in terms if term.matches(pod, labels))
            found = self._of_others[id(terms)] = (terms, matching)
        return found[1]


class FilterState:
    """The counts that PreFilter passes to Filter; `add_pod` and `remove_pod` update them."""

    cycle_only = True
    __slots__ = (
        "_matches",
        "_pod",
        "_required",
        "_unwanted",
        "affinity",
        "anti_affinity",
        "existing_anti_affinity",
    )

    def __init__(
        self,
        pod: Pod,
        required: tuple[OwnTerm, ...],
        unwanted: tuple[OwnTerm, ...],
        matches: _TermMatches,
        counts: tuple[TopologyCounts, TopologyCounts, TopologyCounts],
    ) -> None:
        self._pod = pod
        self._matches = matches
        self._required = required
        self._unwanted = unwanted
        # Pods that match all affinity terms of the pod; pods that match one of its anti-affinity
        # terms; pods with an anti-affinity term that matches the pod.
        self.affinity, self.anti_affinity, self.existing_anti_affinity = counts

    def clone(self) -> FilterState:
        """Return an independent copy."""
        return FilterState(
            self._pod,
            self._required,
            self._unwanted,
            self._matches,
            (
                self.affinity.clone(),
                self.anti_affinity.clone(),
                self.existing_anti_affinity.clone(),
            ),
        )

    @classmethod
    def count(
        cls,
        pod: Pod,
        namespace_labels: Mapping[str, str],
        required: tuple[OwnTerm, ...],
        unwanted: tuple[OwnTerm, ...],
        existing: Mapping[str, TermSum],
        nodes: Nodes,
    ) -> FilterState:
        """Count pods in the domains of the terms' topology keys.

        `required` and `unwanted` are the pod's own terms; `existing` are other pods' terms that
        match it.
        """
        everything = nodes.all
        wanted: dict[str, Counts] = {}
        if required:
            counts = everything.pods_matching(*intersection(required))
            wanted = {term.topology_key: counts for term in required}
        return cls(
            pod,
            required,
            unwanted,
            _TermMatches(pod, namespace_labels, required, unwanted),
            (
                TopologyCounts.count(wanted.items(), everything),
                TopologyCounts.count(
                    (
                        (
                            term.topology_key,
                            everything.pods_matching(term.namespaces, term.selector),
                        )
                        for term in unwanted
                    ),
                    everything,
                ),
                TopologyCounts.count(
                    (
                        (key, terms.counts)
                        for key, terms in existing.items()
                        # Pods can name any topology key.
                        if everything.label(key).any
                    ),
                    everything,
                ),
            ),
        )

    @property
    def idle(self) -> bool:
        """Whether no node can be refused."""
        return not self._required and not self._unwanted and not self.existing_anti_affinity.any

    def change(self, other: PodInfo, node: NodeInfo, nodes: Nodes, amount: int) -> None:
        """Add another pod to its node's counts `amount` times; -1 removes it."""
        together, unwanted = self._matches.own(other.pod)
        if together:
            for key in self.affinity.by_key:
                self.affinity.change(key, node, nodes, amount)
        for key, count in unwanted.items():
            self.anti_affinity.change(key, node, nodes, count * amount)
        for key, count in self._matches.of_other(other).items():
            self.existing_anti_affinity.change(key, node, nodes, count * amount)

    def _may_be_first(self) -> bool:
        """Return whether the pod is the first of a group whose pods have affinity to each other.

        Without this exception, the first pod of such a group could never be scheduled.
        """
        return not self.affinity.any and matches_all(self._required, self._pod)

    def refuse(self, node: NodeInfo) -> Status | None:
        """Return the refusal of one node, or None."""
        if self._required and not self._satisfies_affinity(node):
            return AFFINITY_NOT_MATCH
        if self.anti_affinity.at(node):
            return ANTI_AFFINITY_NOT_MATCH
        if self.existing_anti_affinity.at(node):
            return EXISTING_ANTI_AFFINITY_NOT_MATCH
        return None

    def _satisfies_affinity(self, node: NodeInfo) -> bool:
        labels = node.labels
        by_key = self.affinity.by_key
        if not all(key in labels for key in by_key):
            return False
        together = all(domains.of(labels[key]) > 0 for key, domains in by_key.items())
        return together or self._may_be_first()

    def describe(self, node: NodeInfo) -> Detail | None:
        """Return the domain of a node in which a pod is missing or unwanted."""
        status, labels = self.refuse(node), node.labels
        if status is AFFINITY_NOT_MATCH:
            for key, domains in self.affinity.by_key.items():
                if key not in labels:
                    return Detail(f"{key} is not set", tuple(self.affinity.by_key))
                if domains.of(labels[key]) <= 0:
                    text = f"no pod that its affinity asks for is in {key}={labels[key]}"
                    return Detail(text, tuple(self.affinity.by_key))
        for refusal, counts, who in (
            (ANTI_AFFINITY_NOT_MATCH, self.anti_affinity, "that its anti-affinity excludes"),
            (
                EXISTING_ANTI_AFFINITY_NOT_MATCH,
                self.existing_anti_affinity,
                "whose anti-affinity excludes it",
            ),
        ):
            if status is refusal:
                # The terms of other pods are not the user's own, so their keys are left out.
                keys = tuple(counts.by_key) if counts is self.anti_affinity else ()
                for key, domains in counts.by_key.items():
                    if key in labels and domains.of(labels[key]) > 0:
                        return Detail(f"a pod {who} is in {key}={labels[key]}", keys)
        return None

    def refuse_nodes(self, nodes: Nodes) -> Iterator[tuple[Status, Mask]]:
        """Yield the refusals of many nodes; a node gets only its first reason."""
        refused: Mask | None = None
        for status, here in (
            (AFFINITY_NOT_MATCH, self._without_affinity(nodes) if self._required else None),
            (ANTI_AFFINITY_NOT_MATCH, self.anti_affinity.at_nodes(nodes)),
            (EXISTING_ANTI_AFFINITY_NOT_MATCH, self.existing_anti_affinity.at_nodes(nodes)),
        ):
            if here is None:
                continue
            if refused is None:
                refused = here
            else:
                here = here & ~refused
                refused = refused | here
            yield status, here

    def _without_affinity(self, nodes: Nodes) -> Mask:
        first = self._may_be_first()
        missing = np.zeros(len(nodes), dtype=np.bool_)
        for key, domains in self.affinity.by_key.items():
            codes = nodes.label(key).codes
            # Even the first pod of a group needs a node with every topology key.
            missing |= codes == 0 if first else ~domains.occupied.take(codes)
        return missing

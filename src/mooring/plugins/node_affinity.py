"""NodeAffinity: nodes that match a pod's nodeSelector and node affinity."""

# kube-scheduler: plugins/nodeaffinity/node_affinity.go

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, ClassVar

import msgspec

from mooring.api import (
    Node,
    NodeSelectorTerm,
    NodeTerms,
    Pod,
    PreferredTerms,
    RequiredNodeAffinity,
    required_node_affinity,
)
from mooring.api.node_selectors import NAME_FIELD
from mooring.errors import ConfigError, ObjectError
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import NodeAffinityArgs
from mooring.plugins.node_matching import (
    nodes_matching_required,
    nodes_matching_terms,
    weights_of_nodes,
)
from mooring.plugins.node_mismatches import nearest_term, unmet_labels
from mooring.plugins.normalize import normalize_by_max
from mooring.plugins.signing import sign_node_affinity
from mooring.typing import Ints, Mask

NO_MATCH = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
NO_MATCH_ENFORCED = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = Status.unresolvable("pod affinity terms conflict")

_PRE_FILTER = "PreFilterNodeAffinity"
_PRE_SCORE = "PreScoreNodeAffinity"


class NodeAffinity(Plugin):
    """The plugin for nodeSelector and node affinity of pods, and the profile's addedAffinity."""

    name = "NodeAffinity"
    skips_resizes = True
    reads_pods = False
    Args: ClassVar[type[msgspec.Struct] | None] = NodeAffinityArgs

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._added: NodeTerms | None = None
        self._added_preferred: PreferredTerms | None = None
        added = self.args.added_affinity
        if added is None:
            return
        required = added.required_during_scheduling_ignored_during_execution
        preferred = added.preferred_during_scheduling_ignored_during_execution
        try:
            if required is not None:
                self._added = NodeTerms.parse_strictly(required)
            if preferred:
                self._added_preferred = PreferredTerms.parse(preferred)
        except ObjectError as error:
            raise ConfigError(f"parsing addedAffinity: {error}") from error

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> set[str] | Status | None:
        """Parse the pod's required terms; if all of them name nodes, return those names."""
        terms = _required_terms(pod)
        if terms is None and self._added is None and not pod.spec.node_selector:
            return Status.skip()
        state.write(_PRE_FILTER, required_node_affinity(pod))
        if not terms:
            return None
        names: set[str] = set()
        for term in terms:
            named = _named_nodes(term)
            if named is None:
                return None
            names |= named
        return names or CONFLICT

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node that is not selected."""
        if self._added is not None and not self._added.matches(node.node):
            return NO_MATCH_ENFORCED
        return None if _demand(state, pod).matches(node.node) else NO_MATCH

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse all nodes that are not selected."""
        refused = ~nodes_matching_required(nodes, _demand(state, pod))
        if self._added is not None:
            enforced = nodes_matching_terms(nodes, self._added)
            yield NO_MATCH_ENFORCED, ~enforced
            refused &= enforced
        yield NO_MATCH, refused

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the labels of a node that do not match, for the term that comes nearest."""
        if self._added is not None and not self._added.matches(node.node):
            return nearest_term(self._added, node.node)
        demand = _demand(state, pod)
        unmet = unmet_labels(demand.labels, node.labels)
        return unmet or (None if demand.terms is None else nearest_term(demand.terms, node.node))

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Parse the pod's preferred terms; skip if there are none."""
        try:
            preferred = _preferred(pod)
        except ObjectError as error:
            return Status.error(str(error))
        if preferred is None and self._added_preferred is None:
            return Status.skip()
        state.write(_PRE_SCORE, preferred)
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Return the sum of the weights of the preferred terms that the node matches."""
        preferences = self._preferences(state, pod)
        if isinstance(preferences, Status):
            return preferences
        return sum(preferred.score(node.node) for preferred in preferences)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | Status:
        """Return, for each node, the sum of the weights of the preferred terms it matches."""
        preferences = self._preferences(state, pod)
        if isinstance(preferences, Status):
            return preferences
        terms = [term for preferred in preferences for term in preferred.terms]
        return weights_of_nodes(nodes, PreferredTerms(terms))

    def _preferences(self, state: CycleState, pod: Pod) -> list[PreferredTerms] | Status:
        own = state.get(_PRE_SCORE, _MISSING)
        if own is _MISSING:
            # PreScore is disabled in this profile.
            try:
                own = _preferred(pod)
            except ObjectError as error:
                return Status.error(str(error))
        return [preferred for preferred in (self._added_preferred, own) if preferred is not None]

    def normalize_score(self, state: CycleState, pod: Pod, scores: Ints) -> Ints:
        """Scale the scores so that the highest is 100."""
        return normalize_by_max(scores)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of nodes that may match now."""
        return [
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_LABEL,
                self._after_node_change,
            )
        ]

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        if self._added is not None and not self._added.matches(new):
            return QueueingHint.SKIP
        required = required_node_affinity(pod)
        matches = _matches(required, new)
        if matches is None:
            return QueueingHint.QUEUE
        if not matches or (old is not None and _matches(required, old)):
            return QueueingHint.SKIP
        return QueueingHint.QUEUE

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by node selector and node affinity."""
        return sign_node_affinity(pod)


_MISSING = object()


def _required_terms(pod: Pod) -> tuple[NodeSelectorTerm, ...] | None:
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    return None if required is None else required.node_selector_terms


def _named_nodes(term: NodeSelectorTerm) -> set[str] | None:
    """Return the node names that a term is limited to, or None if it names none."""
    named: set[str] | None = None
    for requirement in term.match_fields:
        if requirement.key == NAME_FIELD and requirement.operator == "In":
            values = set(requirement.values)
            named = values if named is None else named & values
    return named


def _demand(state: CycleState, pod: Pod) -> RequiredNodeAffinity:
    demand: RequiredNodeAffinity | None = state.get(_PRE_FILTER)
    # If PreFilter is disabled in this profile, the terms are parsed here.
    return required_node_affinity(pod) if demand is None else demand


def _matches(required: RequiredNodeAffinity, node: Node) -> bool | None:
    """Return whether a node satisfies required terms; None if a malformed term leaves it open."""
    if required.matches(node):
        return True
    terms = required.terms
    if terms is None or not terms.errors:
        return False
    return None if required.selects(node) else False


def _preferred(pod: Pod) -> PreferredTerms | None:
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    terms = affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    return PreferredTerms.parse(terms) if terms else None

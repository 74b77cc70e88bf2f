"""InterPodAffinity: pod affinity and anti-affinity."""

# kube-scheduler: plugins/interpodaffinity/plugin.go

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec
import numpy as np

from mooring.api import Namespace, Node, Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes, TermKind
from mooring.framework.plugin import Plugin
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import InterPodAffinityArgs
from mooring.plugins.gates import gates_of
from mooring.plugins.inter_pod_affinity import hints
from mooring.plugins.inter_pod_affinity.filtering import FilterState
from mooring.plugins.inter_pod_affinity.scoring import ScoreState, Weighed, normalize
from mooring.plugins.inter_pod_affinity.terms import Namespaces
from mooring.typing import Ints, Mask

_FILTER_KEY = "PreFilterInterPodAffinity"
_SCORE_KEY = "PreScoreInterPodAffinity"

NOT_PRE_FILTERED = Status.error(f'error reading "{_FILTER_KEY}" from cycleState: not found')
NOT_PRE_SCORED = Status.error(f'failed to read "{_SCORE_KEY}" from cycleState: not found')


class InterPodAffinity(Plugin):
    """The plugin that keeps pods near or away from other pods."""

    name = "InterPodAffinity"
    skips_resizes = True
    reads_pod_labels = False
    Args: ClassVar[type[msgspec.Struct] | None] = InterPodAffinityArgs

    def __init__(
        self, args: InterPodAffinityArgs | None = None, handle: Handle | None = None
    ) -> None:
        super().__init__(args, handle)
        release = gates_of(handle).release
        if handle is not None:
            self._namespaces = Namespaces(
                handle.lister(Namespace), resolve_all=release.resolves_namespace_selectors
            )
        self._of_unwanted = any if release.hints_match_any_anti_affinity else all

    # PreFilter and Filter.

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Count the pods that match the pod's required terms, or whose terms match the pod."""
        info = self.handle.pod_info(pod)
        namespaces = self._namespaces
        labels = namespaces.labels(pod.metadata.namespace)
        existing = nodes.term_sums(TermKind.REQUIRED_ANTI_AFFINITY, pod, labels)
        if not existing and not info.required_affinity and not info.required_anti_affinity:
            return Status.skip()
        counted = FilterState.count(
            pod,
            labels,
            namespaces.own_terms(info.required_affinity),
            namespaces.own_terms(info.required_anti_affinity),
            existing,
            nodes,
        )
        if counted.idle:
            return Status.skip()
        state.write(_FILTER_KEY, counted)
        return None

    def add_pod(self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo) -> Status | None:
        """Add another pod to the counts."""
        return self._change(state, other, node, 1)

    def remove_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Remove another pod from the counts."""
        return self._change(state, other, node, -1)

    def _change(
        self, state: CycleState, other: PodInfo, node: NodeInfo, amount: int
    ) -> Status | None:
        counted: FilterState | None = state.get(_FILTER_KEY)
        if counted is None:
            return NOT_PRE_FILTERED
        counted.change(other, node, self.handle.snapshot, amount)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node that violates a required term of the pod or of an existing pod."""
        counted: FilterState | None = state.get(_FILTER_KEY)
        return NOT_PRE_FILTERED if counted is None else counted.refuse(node)

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterable[tuple[Status, Mask]]:
        """Refuse all nodes that violate a required term."""
        counted: FilterState | None = state.get(_FILTER_KEY)
        if counted is None:
            return ((NOT_PRE_FILTERED, np.ones(len(nodes), dtype=np.bool_)),)
        return counted.refuse_nodes(nodes)

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the numbers or the domain behind the refusal of a node."""
        counted: FilterState | None = state.get(_FILTER_KEY)
        return None if counted is None else counted.describe(node)

    # PreScore and Score.

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Weigh the pods that match the pod's preferred terms, or whose terms match the pod."""
        info = self.handle.pod_info(pod)
        preferred = info.preferred_affinity or info.preferred_anti_affinity
        if self.args.ignore_preferred_terms_of_existing_pods and not preferred:
            return Status.skip()
        weighed = self._weigh_existing(pod, nodes)
        if preferred:
            weighed += self._weigh_own(info, nodes)
        counted = ScoreState.weigh(weighed, nodes) if weighed else None
        if counted is None:
            return Status.skip()
        state.write(_SCORE_KEY, counted)
        return None

    def _weigh_own(self, info: PodInfo, nodes: Nodes) -> list[Weighed]:
        everything = nodes.all
        weighed: dict[str, Weighed] = {}
        for sign, terms in ((1, info.preferred_affinity), (-1, info.preferred_anti_affinity)):
            for term in self._namespaces.own_terms(terms):
                key = term.topology_key
                counts = everything.pods_matching(term.namespaces, term.selector)
                factor = sign * term.weight
                added: Weighed = (key, counts, counts if factor == 1 else counts * factor)
                if there := weighed.get(key):
                    added = (key, there[1] + added[1], there[2] + added[2])
                weighed[key] = added
        return list(weighed.values())

    def _weigh_existing(self, pod: Pod, nodes: Nodes) -> list[Weighed]:
        labels = self._namespaces.labels(pod.metadata.namespace)
        hard_weight = self.args.hard_pod_affinity_weight
        weighed: list[Weighed] = []
        for factor, kind in (
            (hard_weight, TermKind.REQUIRED_AFFINITY),
            (1, TermKind.PREFERRED_AFFINITY),
            (-1, TermKind.PREFERRED_ANTI_AFFINITY),
        ):
            if factor:
                for key, terms in nodes.term_sums(kind, pod, labels).items():
                    # Pods can name any topology key.
                    if nodes.label(key).any:
                        worth = terms.worth
                        weighed.append(
                            (key, terms.counts, worth if factor == 1 else factor * worth)
                        )
        return weighed

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Add up the weights of a node's domains."""
        counted: ScoreState | None = state.get(_SCORE_KEY)
        return NOT_PRE_SCORED if counted is None else counted.score(node)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | Status:
        """Add up the weights of all nodes' domains."""
        counted: ScoreState | None = state.get(_SCORE_KEY)
        return NOT_PRE_SCORED if counted is None else counted.score_nodes(nodes)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Ints) -> Ints:
        """Scale the weights to the range 0 to 100."""
        return normalize(scores)

    # Queueing and signing.

    def events_to_register(self) -> list[ClusterEvent]:
        """Return the events that may make a refused pod schedulable."""
        return [
            ClusterEvent(
                EventResource.ASSIGNED_POD,
                ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE,
                self._after_pod_change,
            ),
            # Another pod may have anti-affinity to the old labels.
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL),
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_LABEL,
                self._after_node_change,
            ),
        ]

    def _after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        info = self.handle.pod_info
        return hints.after_pod_change(
            info(pod),
            None if old is None else info(old),
            None if new is None else info(new),
            self._of_unwanted,
        )

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        return hints.after_node_change(self.handle.pod_info(pod), old, new)

    def sign_pod(self, pod: Pod) -> tuple[()] | None:
        """Return None for a pod that has terms, or that matches terms of existing pods.

        Its answers then depend on pods of other nodes. kube-scheduler signs the second kind of pod
        by its labels.
        """
        if self.handle.pod_info(pod).has_affinity:
            return None
        labels = self._namespaces.labels(pod.metadata.namespace)
        nodes = self.handle.snapshot
        spoken_of = any(nodes.term_sums(kind, pod, labels) for kind in TermKind)
        return None if spoken_of else ()

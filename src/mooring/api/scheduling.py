"""A pod's requirements on its node: affinity, tolerations, spreading."""

from __future__ import annotations

from mooring.api.meta import LabelSelector
from mooring.api.wire import Wire


class NodeSelectorRequirement(Wire, frozen=True, kw_only=True):
    """A requirement on a node label or field (In, NotIn, Exists, DoesNotExist, Gt, Lt)."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Wire, frozen=True, kw_only=True):
    """A list of requirements that must all hold; an empty term matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True, kw_only=True):
    """A list of terms, one of which must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Wire, frozen=True, kw_only=True):
    """A preference for nodes that match, with a weight from 1 to 100."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True, kw_only=True):
    """The nodes that a pod requires and prefers."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Wire, frozen=True, kw_only=True):
    """A relation of a pod to other pods in the same topology domain."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True, kw_only=True):
    """A preferred relation to other pods, with a weight from 1 to 100."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire, frozen=True, kw_only=True):
    """The pods that a pod must or should be near."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class PodAntiAffinity(Wire, frozen=True, kw_only=True):
    """The pods that a pod must or should be away from."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Wire, frozen=True, kw_only=True):
    """All affinities of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(Wire, frozen=True, kw_only=True):
    """A toleration of matching taints (operators Equal, Exists, Lt, Gt; empty means Equal)."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Wire, frozen=True, kw_only=True):
    """A rule for spreading matching pods over topology domains."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodSchedulingGate(Wire, frozen=True, kw_only=True):
    """A gate that holds a pod back until it is removed."""

    name: str = ""


#: A PodGroup of scheduling.k8s.io that has it stays until no unfinished pod refers to it.
GROUP_FINALIZER = "scheduling.k8s.io/podgroup-protection"


class PodSchedulingGroup(Wire, frozen=True, kw_only=True):
    """The PodGroup that a pod belongs to."""

    pod_group_name: str | None = None


class PodResourceClaim(Wire, frozen=True, kw_only=True):
    """A pod's use of a ResourceClaim, by name or created from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None

"""PodGroup and CompositePodGroup of scheduling.k8s.io: what kube-scheduler treats as one.

Groups may form a tree: its leaves are PodGroups, which have the pods, and everything above them is
a CompositePodGroup. Each names its parent.

The first is named WorkloadPodGroup, because the PodGroup of scheduling.x-k8s.io
(`mooring.api.PodGroup`) is an older kind of the scheduler plugins, with other fields.
"""

from __future__ import annotations

from typing import ClassVar

from mooring.api.meta import Condition, TypedObject
from mooring.api.pod import Pod
from mooring.api.scheduling import PodResourceClaim
from mooring.api.wire import Wire


class BasicSchedulingPolicy(Wire, frozen=True, kw_only=True):
    """The policy of a group whose pods need not start together."""


class GangSchedulingPolicy(Wire, frozen=True, kw_only=True):
    """The policy of a group of which a number of pods start together or not at all."""

    min_count: int = 0


class PodGroupSchedulingPolicy(Wire, frozen=True, kw_only=True):
    """How a group is scheduled: exactly one of the policies is set."""

    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(Wire, frozen=True, kw_only=True):
    """A node label whose value all pods of a group share."""

    key: str = ""


class PodGroupSchedulingConstraints(Wire, frozen=True, kw_only=True):
    """Where the pods of a group may run, relative to one another."""

    topology: tuple[TopologyConstraint, ...] = ()


class SingleDisruptionMode(Wire, frozen=True, kw_only=True):
    """The mode of a group whose pods can be preempted one by one."""


class AllDisruptionMode(Wire, frozen=True, kw_only=True):
    """The mode of a group whose pods are preempted together."""


class DisruptionMode(Wire, frozen=True, kw_only=True):
    """How a group is disrupted: exactly one of the modes is set."""

    single: SingleDisruptionMode | None = None
    all: AllDisruptionMode | None = None


class PodGroupResourceClaim(Wire, frozen=True, kw_only=True):
    """A group's use of a ResourceClaim, by name or created from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class WorkloadReference(Wire, frozen=True, kw_only=True):
    """The template of a Workload that a group was made from."""

    workload_name: str = ""
    template_name: str = ""


class SchedulingGroupSpec(Wire, frozen=True, kw_only=True):
    """The fields that the specs of pod groups and composite pod groups share."""

    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None


class WorkloadPodGroupSpec(SchedulingGroupSpec, frozen=True, kw_only=True):
    """What a group is and needs."""

    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()


class PodGroupResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """The ResourceClaim that was made for a group's claim."""

    name: str = ""
    resource_claim_name: str | None = None


class WorkloadPodGroupStatus(Wire, frozen=True, kw_only=True):
    """The observed state of a group, written by the scheduler."""

    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] = ()


class SchedulingGroup(TypedObject, frozen=True, kw_only=True):
    """What pod groups and composite pod groups have in common."""

    #: kube-scheduler's word for the kind, in texts, metrics and keys.
    entity_type: ClassVar[str]

    spec: SchedulingGroupSpec = SchedulingGroupSpec()

    @property
    def entity_key(self) -> str:
        """Return "type/namespace/name", which no object of another kind has."""
        return f"{self.entity_type}/{self.key}"

    @property
    def parent_key(self) -> str:
        """Return "namespace/name" of the composite group that this is a part of; "" if of none."""
        name = self.spec.parent_composite_pod_group_name
        return "" if name is None else f"{self.metadata.namespace}/{name}"

    @property
    def priority(self) -> int:
        """Return spec.priority; 0 if it is not set."""
        return self.spec.priority or 0

    @property
    def is_disrupted_whole(self) -> bool:
        """Return whether the pods of the group are preempted together."""
        mode = self.spec.disruption_mode
        return mode is not None and mode.all is not None

    @property
    def topology_key(self) -> str:
        """Return the node label whose value all pods of the group share; "" if there is none."""
        constraints = self.spec.scheduling_constraints
        topology = () if constraints is None else constraints.topology
        return topology[0].key if topology else ""


class WorkloadPodGroup(SchedulingGroup, frozen=True, kw_only=True):
    """A group of pods that kube-scheduler schedules, and may disrupt, as one."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1beta1"
    kind: ClassVar[str] = "PodGroup"
    entity_type: ClassVar[str] = "podgroup"

    spec: WorkloadPodGroupSpec = WorkloadPodGroupSpec()
    status: WorkloadPodGroupStatus = WorkloadPodGroupStatus()

    @property
    def min_count(self) -> int:
        """Return how many pods must be placed together; 1 for a group that is no gang."""
        gang = self.spec.scheduling_policy.gang
        return 1 if gang is None else gang.min_count

    def has_claim(self, entry: PodResourceClaim | PodGroupResourceClaim) -> bool:
        """Return whether a claim of a pod is the group's: one with the same name and source."""
        return any(
            one.name == entry.name
            and one.resource_claim_name == entry.resource_claim_name
            and one.resource_claim_template_name == entry.resource_claim_template_name
            for one in self.spec.resource_claims
        )


class CompositeGangSchedulingPolicy(Wire, frozen=True, kw_only=True):
    """The policy of a group of which a number of child groups start together or not at all."""

    min_group_count: int = 0


class CompositePodGroupSchedulingPolicy(Wire, frozen=True, kw_only=True):
    """How a composite group is scheduled: exactly one of the policies is set."""

    basic: BasicSchedulingPolicy | None = None
    gang: CompositeGangSchedulingPolicy | None = None


class CompositePodGroupSpec(SchedulingGroupSpec, frozen=True, kw_only=True):
    """What a composite group is and needs."""

    scheduling_policy: CompositePodGroupSchedulingPolicy = CompositePodGroupSchedulingPolicy()


class CompositePodGroupStatus(Wire, frozen=True, kw_only=True):
    """The observed state of a composite group."""

    conditions: tuple[Condition, ...] = ()


class CompositePodGroup(SchedulingGroup, frozen=True, kw_only=True):
    """Pod groups and composite pod groups that kube-scheduler schedules as one."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1alpha3"
    kind: ClassVar[str] = "CompositePodGroup"
    entity_type: ClassVar[str] = "compositepodgroup"

    spec: CompositePodGroupSpec = CompositePodGroupSpec()
    status: CompositePodGroupStatus = CompositePodGroupStatus()

    @property
    def min_count(self) -> int:
        """Return how many children must be placed together; 1 for a group that is no gang."""
        gang = self.spec.scheduling_policy.gang
        return 1 if gang is None else gang.min_group_count


#: A group of pods, or of groups.
AnyPodGroup = WorkloadPodGroup | CompositePodGroup


def scheduling_group_key(pod: Pod) -> str:
    """Return "namespace/name" of the group that spec.schedulingGroup names; "" if it names none."""
    group = pod.spec.scheduling_group
    if group is None or not group.pod_group_name:
        return ""
    return f"{pod.metadata.namespace}/{group.pod_group_name}"

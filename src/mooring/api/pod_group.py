"""PodGroup of scheduling.x-k8s.io: pods that are scheduled together or not at all."""

from __future__ import annotations

from typing import ClassVar

from mooring.api.meta import TypedObject
from mooring.api.pod import Pod
from mooring.api.quantity import ResourceList
from mooring.api.wire import Wire

#: The label that names the PodGroup of a pod, in the pod's namespace.
POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
#: Older spellings of it: those of scheduler-plugins v0.19 to v0.24, and of v0.18.
OLDER_POD_GROUP_LABELS = (
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
)


class PodGroupSpec(Wire, frozen=True, kw_only=True):
    """What a group needs to start."""

    #: So many members start together or not at all.
    min_member: int = 0
    #: What the whole group needs; None if that is not checked in advance.
    min_resources: ResourceList | None = None
    #: Longest wait of a member for the others; None if the scheduler's argument applies.
    schedule_timeout_seconds: int | None = None


class PodGroupStatus(Wire, frozen=True, kw_only=True):
    """The observed state of a group, written by its controller."""

    phase: str = ""
    #: The workloads that own the members.
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str | None = None


class PodGroup(TypedObject, frozen=True, kw_only=True):
    """A group of pods that are scheduled together or not at all."""

    api_version: ClassVar[str] = "scheduling.x-k8s.io/v1alpha1"
    kind: ClassVar[str] = "PodGroup"

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


def pod_group_name(pod: Pod) -> str:
    """Return the name of the PodGroup that a pod's label names; "" if it names none."""
    labels = pod.metadata.labels
    return labels.get(POD_GROUP_LABEL) or next(
        (labels[label] for label in OLDER_POD_GROUP_LABELS if label in labels), ""
    )


def pod_group_key(pod: Pod) -> str:
    """Return "namespace/name" of the PodGroup that a pod's label names; "" if it names none."""
    name = pod_group_name(pod)
    return f"{pod.metadata.namespace}/{name}" if name else ""

"""The patch that sets a pod condition."""

# kube-scheduler: pkg/api/v1/pod/util.go (UpdatePodCondition), util/utils.go (PatchPodStatus)

from __future__ import annotations

from typing import Any

from mooring.api.meta import Condition
from mooring.api.pod import Pod
from mooring.api.timestamps import format_time


def condition_patch(
    pod: Pod, wanted: Condition, now: float, *, certain: bool = True
) -> dict[str, Any]:
    """Return the `status` part of a strategic merge patch that sets a condition.

    It is empty if the pod already has the condition and `certain` says that `pod` is current. The
    last transition time is kept if the condition's status does not change; a new condition is put
    after the others.
    """
    changed_at = format_time(now)
    types = [condition.type for condition in pod.status.conditions]
    if wanted.type not in types:
        types.append(wanted.type)
    for condition in pod.status.conditions:
        if condition.type != wanted.type or condition.status != wanted.status:
            continue
        said = (condition.reason, condition.message)
        if certain and said == (wanted.reason, wanted.message):
            return {}
        changed_at = condition.last_transition_time or changed_at
    written = {
        "type": wanted.type,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
        "lastProbeTime": None,
        "lastTransitionTime": changed_at,
        "observedGeneration": pod.metadata.generation,
    }
    patch: dict[str, Any] = {"conditions": [written]}
    if len(types) > 1:
        # Without this directive the server puts a new item before the others.
        patch["$setElementOrder/conditions"] = [{"type": one} for one in types]
    return patch

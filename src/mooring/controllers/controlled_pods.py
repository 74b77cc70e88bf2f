"""Pods as controllers see them: creation from a template, readiness, deletion order."""

from __future__ import annotations

import random as random_module
from collections import Counter
from collections.abc import Iterable
from typing import Any

from mooring.api import CustomResource, Pod, parse_time
from mooring.controllers.owners import reference_to
from mooring.controllers.writer import Object

#: apimachinery: pkg/util/rand. No vowels, so that names contain no words.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
# apiserver: pkg/storage/names/generate.go
_LONGEST_PREFIX = 58


def generate_name(prefix: str, random: random_module.Random) -> str:
    """Return a generated name, in the form that the API server gives generated names."""
    return prefix[:_LONGEST_PREFIX] + "".join(random.choices(ALPHABET, k=5))


def pod_of(template: Object, owner: CustomResource, name: str, **metadata: Any) -> Object:
    """Return a pod made from a template for its owner."""
    # kubernetes: pkg/controller/controller_utils.go, GetPodFromTemplate
    wanted = template.get("metadata") or {}
    made: Object = {
        key: wanted[key] for key in ("labels", "annotations", "finalizers") if wanted.get(key)
    }
    made |= {"name": name, "namespace": owner.metadata.namespace, **metadata}
    made["ownerReferences"] = [reference_to(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template.get("spec", {})}


def ready_since(pod: Pod) -> str | None:
    """Return the time since which a pod has been ready; None if it is not ready."""
    for condition in pod.status.conditions:
        if condition.type == "Ready":
            return condition.last_transition_time or "" if condition.status == "True" else None
    return None


def is_ready(pod: Pod) -> bool:
    """Return whether a pod is ready."""
    return ready_since(pod) is not None


def is_available(pod: Pod, min_ready_seconds: int, now: float) -> bool:
    """Return whether a pod has been ready for at least `min_ready_seconds`."""
    since = ready_since(pod)
    if since is None:
        return False
    return not min_ready_seconds or bool(since and parse_time(since) + min_ready_seconds <= now)


def is_active(pod: Pod) -> bool:
    """Return whether a pod counts as a replica: neither finished nor being deleted."""
    return not pod.is_finished and not pod.is_terminating


def until_available(pods: Iterable[Pod], min_ready_seconds: int, now: float) -> float | None:
    """Return the seconds until the next ready pod counts as available; None for never."""
    if not min_ready_seconds:
        return None
    times = [
        parse_time(since) + min_ready_seconds - now for pod in pods if (since := ready_since(pod))
    ]
    return min((left for left in times if left > 0), default=None)


def first_to_go(pods: list[Pod], related: Iterable[Pod] = ()) -> list[Pod]:
    """Return pods in the order in which a scale-down deletes them."""
    # kubernetes: pkg/controller/controller_utils.go, ActivePodsWithRanks
    crowd = Counter(pod.spec.node_name for pod in (*pods, *related) if is_ready(pod))

    def rank(pod: Pod) -> tuple[Any, ...]:
        since = ready_since(pod)
        restarts = max((one.restart_count for one in pod.status.container_statuses), default=0)
        return (
            bool(pod.spec.node_name),
            _PHASES.get(pod.status.phase, 0),
            since is not None,
            _deletion_cost(pod),
            -crowd[pod.spec.node_name],
            -parse_time(since) if since else 0.0,
            -restarts,
            -parse_time(pod.metadata.creation_timestamp or "1970-01-01T00:00:00Z"),
            pod.metadata.uid,
        )

    return sorted(pods, key=rank)


def _deletion_cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0

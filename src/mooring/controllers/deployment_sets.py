"""The ReplicaSets of a Deployment: which is new, their revisions, and how large each may be."""

# kubernetes: pkg/controller/deployment/util/deployment_util.go

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from mooring.api import CustomResource
from mooring.controllers.owners import reference_to
from mooring.controllers.template_hash import template_hash
from mooring.controllers.writer import Object

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
HASH_LABEL = "pod-template-hash"

#: Annotations that are not copied from a Deployment to its ReplicaSets.
_OWN = {
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
}
_HISTORY_LIMIT = 2000


def replicas(obj: CustomResource) -> int:
    """Return how many replicas a workload asks for."""
    found: int = obj.get("spec.replicas", 1)
    return found


def count(sets: Iterable[CustomResource | None], field: str) -> int:
    """Return the sum of a field such as `status.readyReplicas` over all ReplicaSets."""
    return sum(one.get(field, 0) for one in sets if one is not None)


def is_rolling(deployment: CustomResource) -> bool:
    """Return whether the strategy is RollingUpdate."""
    found: str = deployment.get("spec.strategy.type", "RollingUpdate")
    return found == "RollingUpdate"


def scaled(value: int | str, total: int, *, up: bool) -> int:
    """Return an integer unchanged, and a percentage as its share of the total.

    >>> scaled("25%", 10, up=True), scaled("25%", 10, up=False), scaled(3, 10, up=True)
    (3, 2, 3)
    """
    if isinstance(value, int):
        return value
    share = int(value.rstrip("%")) * total / 100
    return math.ceil(share) if up else math.floor(share)


def fenceposts(deployment: CustomResource) -> tuple[int, int]:
    """Return how many pods may exist beyond `spec.replicas`, and how many may be unavailable."""
    if not is_rolling(deployment):
        return 0, 0
    wanted = replicas(deployment)
    rolling = deployment.get("spec.strategy.rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", "25%"), wanted, up=True)
    missing = scaled(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    # They must not both be zero, or the rollout could never advance.
    if surge == 0 and missing == 0:
        missing = 1
    return surge, min(missing, wanted)


def same_template(one: Object, other: Object) -> bool:
    """Return whether two templates are equal apart from the hash label."""
    return _without_hash(one) == _without_hash(other)


def _without_hash(template: Object) -> Object:
    metadata = dict(template.get("metadata") or {})
    labels = {key: text for key, text in metadata.get("labels", {}).items() if key != HASH_LABEL}
    metadata.pop("creationTimestamp", None)
    return {**template, "metadata": {**metadata, "labels": labels}}


def find_new(deployment: CustomResource, sets: Sequence[CustomResource]) -> CustomResource | None:
    """Return the ReplicaSet with the Deployment's template, the oldest if there are several."""
    template = deployment.raw["spec"]["template"]
    for one in by_age(sets):
        if same_template(one.raw["spec"]["template"], template):
            return one
    return None


def by_age(sets: Iterable[CustomResource]) -> list[CustomResource]:
    """Return the ReplicaSets, oldest first."""
    return sorted(sets, key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name))


def active(sets: Iterable[CustomResource | None]) -> list[CustomResource]:
    """Return the ReplicaSets that ask for pods."""
    return [one for one in sets if one is not None and replicas(one) > 0]


def revision(one: CustomResource) -> int:
    """Return the revision of a ReplicaSet, 0 if it has none."""
    text = one.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def new_annotations(
    deployment: CustomResource, known: dict[str, str], newest: int
) -> dict[str, str]:
    """Return the annotations that the new ReplicaSet should have; `known` are its present ones."""
    # deployment_util.go, SetNewReplicaSetAnnotations
    made = dict(known)
    made |= {key: text for key, text in deployment.metadata.annotations.items() if key not in _OWN}
    before = known.get(REVISION, "")
    if (int(before) if before.isdecimal() else 0) < newest:
        made[REVISION] = str(newest)
        if before:
            history = [text for text in known.get(REVISION_HISTORY, "").split(",") if text]
            if before not in history:
                history.append(before)
            while len(",".join(history)) > _HISTORY_LIMIT:
                del history[0]
            made[REVISION_HISTORY] = ",".join(history)
    if not known:
        made |= size_annotations(deployment)
    return made


def new_set(deployment: CustomResource, newest: int, size: int, collisions: int | None) -> Object:
    """Return the ReplicaSet to create for a Deployment's template."""
    # sync.go, getNewReplicaSet
    spec = deployment.raw["spec"]
    digest = template_hash(spec["template"], collisions)
    metadata = spec["template"].get("metadata") or {}
    labels = {**metadata.get("labels", {}), HASH_LABEL: digest}
    match_labels = {**spec["selector"].get("matchLabels", {}), HASH_LABEL: digest}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment.metadata.name[: 252 - len(digest)]}-{digest}",
            "namespace": deployment.metadata.namespace,
            "labels": labels,
            "annotations": new_annotations(deployment, {}, newest),
            "ownerReferences": [reference_to(deployment)],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": spec.get("minReadySeconds", 0),
            "selector": {**spec["selector"], "matchLabels": match_labels},
            "template": {**spec["template"], "metadata": {**metadata, "labels": labels}},
        },
    }


def size_annotations(deployment: CustomResource) -> dict[str, str]:
    """Return the annotations in which a ReplicaSet records its Deployment's size."""
    wanted = replicas(deployment)
    return {DESIRED: str(wanted), MAXIMUM: str(wanted + fenceposts(deployment)[0])}


def new_size(
    deployment: CustomResource, sets: Sequence[CustomResource], new: CustomResource | None
) -> int:
    """Return how large the new ReplicaSet may be now."""
    # deployment_util.go, NewRSNewReplicas
    wanted = replicas(deployment)
    if not is_rolling(deployment):
        return wanted
    has = replicas(new) if new is not None else 0
    room = wanted + fenceposts(deployment)[0] - count(sets, "spec.replicas")
    return has if room <= 0 else has + min(room, wanted - has)


def is_scaling(deployment: CustomResource, sets: Iterable[CustomResource]) -> bool:
    """Return whether the Deployment was scaled since its ReplicaSets recorded its size."""
    wanted = str(replicas(deployment))
    noted = (one.metadata.annotations.get(DESIRED) for one in active(sets))
    return any(text is not None and text != wanted for text in noted)


def is_saturated(deployment: CustomResource, new: CustomResource | None) -> bool:
    """Return whether the new ReplicaSet has all pods, and all are available."""
    wanted = replicas(deployment)
    return (
        new is not None
        and replicas(new) == wanted
        and new.metadata.annotations.get(DESIRED) == str(wanted)
        and new.get("status.availableReplicas", 0) == wanted
    )


def proportional_sizes(
    deployment: CustomResource, sets: Iterable[CustomResource]
) -> list[tuple[CustomResource, int]]:
    """Return the size of each ReplicaSet if a Deployment is scaled during a rollout."""
    # sync.go, scale
    wanted = replicas(deployment)
    allowed = wanted + fenceposts(deployment)[0] if wanted else 0
    order = active(sets)
    total = allowed - sum(map(replicas, order))
    by_time: Any = by_age(order)
    order = sorted(reversed(by_time) if total > 0 else by_time, key=lambda one: -replicas(one))
    added = 0
    sizes = []
    for one in order:
        part = 0 if added == total else _fraction(deployment, one)
        part = min(part, total - added) if total > 0 else max(part, total - added)
        sizes.append(replicas(one) + part)
        added += part
    if sizes:
        sizes[0] = max(0, sizes[0] + total - added)
    return list(zip(order, sizes, strict=True))


def _fraction(deployment: CustomResource, one: CustomResource) -> int:
    wanted = replicas(deployment)
    if not wanted:
        return -replicas(one)
    noted = one.metadata.annotations.get(MAXIMUM, "")
    before = int(noted) if noted.isdecimal() else 0
    before = before or deployment.get("status.replicas", 0)
    if not before:
        return 0
    size = replicas(one) * (wanted + fenceposts(deployment)[0]) / before
    return math.floor(size + 0.5) - replicas(one)

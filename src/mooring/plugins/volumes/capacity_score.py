"""Scoring a node by the utilization of its storage with the pod's volumes."""

# kube-scheduler: plugins/volumebinding/scorer.go

from __future__ import annotations

from collections.abc import Sequence

from mooring.api.quantity import value
from mooring.api.volume_claims import STORAGE
from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.plugins.args import MAX_CUSTOM_PRIORITY_SCORE, UtilizationShapePoint
from mooring.plugins.volumes.pod_volume_claims import PodVolumes

_FULL = 100


class CapacityScore:
    """A score of requested and available storage, interpolated between the shape's points."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        factor = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE
        self._shape = [(point.utilization, point.score * factor) for point in shape]

    def of(self, volumes: PodVolumes) -> int:
        """Return the score of a node on which these volumes would be used."""
        totals = _by_class(volumes)
        if not totals:
            return 0
        total = sum(self._of_class(requested, capacity) for requested, capacity in totals)
        # As Go's math.Round of the quotient: halves are rounded away from zero.
        return (2 * total + len(totals)) // (2 * len(totals))

    def _of_class(self, requested: int, capacity: int) -> int:
        if capacity == 0 or requested > capacity:
            return self._at(_FULL)
        return self._at(requested * _FULL // capacity)

    def _at(self, utilization: int) -> int:
        last_point, last_score = self._shape[0]
        for point, score in self._shape:
            if utilization <= point:
                if point == last_point:
                    return score
                rise, run = score - last_score, point - last_point
                step = rise * (utilization - last_point)
                # Go divides toward zero.
                return last_score + (step // run if step >= 0 else -(-step // run))
            last_point, last_score = point, score
        return last_score


def _by_class(volumes: PodVolumes) -> list[tuple[int, int]]:
    """Return requested and available bytes of each storage class.

    If there are volumes to be bound, only those count. Otherwise the capacity from which new
    volumes are provisioned counts once per class, however many volumes there are.
    """
    totals: dict[str, tuple[int, int]] = {}
    if volumes.bindings:
        for binding in volumes.bindings:
            name = binding.volume.spec.storage_class_name
            requested, capacity = totals.get(name, (0, 0))
            requested += value(binding.claim.spec.resources.requests.get(STORAGE, 0))
            capacity += value(binding.volume.spec.capacity.get(STORAGE, 0))
            totals[name] = (requested, capacity)
    else:
        for provision in volumes.provisions:
            if provision.capacity is None:
                continue
            name = provision.claim.spec.storage_class_name or ""
            requested, _ = totals.get(name, (0, 0))
            requested += value(provision.claim.spec.resources.requests.get(STORAGE, 0))
            totals[name] = (requested, value(provision.capacity.capacity or 0))
    return list(totals.values())

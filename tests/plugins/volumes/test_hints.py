from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.cluster_events import QueueingHint
from mooring.plugins.volumes import hints
from tests.plugins.clusters import make_pod
from tests.plugins.volumes.storage import (
    capacity,
    claim,
    csi_driver,
    csi_node,
    pod_with,
    storage_class,
)

POD = pod_with("c", extra=[{"name": "e", "ephemeral": {}}])
INLINE = make_pod("p", volumes=[{"name": "v", "csi": {"driver": "d"}}])
ZONED = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
TRACKS = csi_driver("d", storageCapacity=True)


def _size(size: str | None, **more: Any) -> Any:
    return capacity("s", "c", size, {}, **more)


@pytest.mark.parametrize(
    ("hint", "queue"),
    [
        pytest.param(hints.after_csi_node_changed(POD, None, csi_node("n")), True, id="a CSINode"),
        pytest.param(
            hints.after_csi_node_changed(POD, csi_node("n"), csi_node("n", migrated="x")),
            True,
            id="a CSINode that took plugins over",
        ),
        pytest.param(
            hints.after_csi_node_changed(POD, csi_node("n"), csi_node("n", {"d": 1})),
            False,
            id="a CSINode with another driver",
        ),
        pytest.param(hints.after_claim_changed(POD, None, claim("c")), True, id="the pod's claim"),
        pytest.param(
            hints.after_claim_changed(POD, claim("pod-e"), claim("pod-e")),
            True,
            id="the pod's ephemeral claim",
        ),
        pytest.param(hints.after_claim_changed(POD, None, claim("d")), False, id="another claim"),
        pytest.param(
            hints.after_claim_changed(POD, None, claim("c", namespace="else")),
            False,
            id="a claim of another namespace",
        ),
        pytest.param(hints.after_class_changed(POD, None, storage_class()), True, id="a class"),
        pytest.param(
            hints.after_class_changed(POD, storage_class(), storage_class(allowedTopologies=ZONED)),
            True,
            id="a class that provisions elsewhere",
        ),
        pytest.param(
            hints.after_class_changed(POD, storage_class(), storage_class(parameters={"a": "b"})),
            False,
            id="a class with other parameters",
        ),
        pytest.param(hints.after_capacity_changed(POD, None, _size("1")), True, id="new storage"),
        pytest.param(
            hints.after_capacity_changed(POD, _size("1"), _size("2")), True, id="more storage"
        ),
        pytest.param(
            hints.after_capacity_changed(POD, _size(None), _size("0")), True, id="known storage"
        ),
        pytest.param(
            hints.after_capacity_changed(
                POD, _size("1", maximumVolumeSize="1"), _size("2", maximumVolumeSize="1")
            ),
            False,
            id="more storage for volumes of the same size",
        ),
        pytest.param(
            hints.after_capacity_changed(POD, _size("2"), _size("1")), False, id="less storage"
        ),
        pytest.param(
            hints.after_driver_updated(INLINE, TRACKS, csi_driver("d")),
            True,
            id="the pod's driver no longer tracks storage",
        ),
        pytest.param(
            hints.after_driver_updated(INLINE, csi_driver("d"), TRACKS),
            False,
            id="the pod's driver tracks storage now",
        ),
        pytest.param(
            hints.after_driver_updated(POD, TRACKS, csi_driver("d")),
            False,
            id="a driver that the pod does not name",
        ),
    ],
)
def test_hints(hint: QueueingHint, queue: bool) -> None:
    assert hint is (QueueingHint.QUEUE if queue else QueueingHint.SKIP)

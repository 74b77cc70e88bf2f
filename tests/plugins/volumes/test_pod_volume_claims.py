from __future__ import annotations

from typing import Any

import pytest

from mooring.api import PersistentVolumeClaim, StorageClass
from mooring.api import volume_claims as claims
from mooring.informers.store import Store
from mooring.plugins.volumes.assumed import AssumedObjects
from mooring.plugins.volumes.pod_volume_claims import (
    PodVolumeClaims,
    all_bound,
    refuse_claims,
    sort_claims,
)
from tests.plugins.volumes.storage import claim, owned_by, pod_with, storage_class

CLASSES: Store[StorageClass] = Store(
    [storage_class(), storage_class("now", volumeBindingMode="Immediate")]
)
EPHEMERAL = [{"name": "e", "ephemeral": {}}]


def _layer(*found: PersistentVolumeClaim) -> AssumedObjects[Any]:
    return AssumedObjects(Store(found), "persistentvolumeclaims")


def test_claims_are_sorted_by_what_is_to_be_done() -> None:
    layer = _layer(
        claim("bound", bound_to="v"),
        claim("half", volumeName="v"),
        claim("late"),
        claim("now", storage_class="now"),
        claim("pod-e", metadata=owned_by("pod")),
    )
    pod = pod_with("bound", "half", "late", "now", extra=EPHEMERAL)
    found = sort_claims(pod, layer, CLASSES)
    assert isinstance(found, PodVolumeClaims)
    names = [
        [one.metadata.name for one in group]
        for group in (found.bound, found.delayed, found.immediate)
    ]
    assert names == [["bound"], ["late", "pod-e"], ["half", "now"]]


def test_what_is_assumed_of_a_claim_counts() -> None:
    stored = claim("c")
    layer = _layer(stored)
    layer.assume(claims.select_node(stored, "n"))
    found = sort_claims(pod_with("c"), layer, CLASSES)
    assert isinstance(found, PodVolumeClaims)
    assert found.delayed[0].metadata.annotations == {claims.SELECTED_NODE: "n"}


def test_claims_that_vanish_in_between_are_a_fault() -> None:
    assert sort_claims(pod_with("c"), _layer(), CLASSES) == (
        'error getting PVC "default/c": persistentvolumeclaims "default/c" not found'
    )


@pytest.mark.parametrize(
    ("pod", "found", "bound"),
    [
        pytest.param(pod_with(), [], True, id="no claims"),
        pytest.param(pod_with("c"), [claim("c", bound_to="v")], True, id="a bound claim"),
        pytest.param(pod_with("c"), [claim("c")], False, id="an unbound claim"),
        pytest.param(pod_with("c"), [], False, id="no such claim"),
        pytest.param(
            pod_with(extra=EPHEMERAL),
            [claim("pod-e", bound_to="v")],
            False,
            id="an ephemeral claim of somebody else",
        ),
    ],
)
def test_whether_nothing_is_left_to_bind(pod: Any, found: list[Any], bound: bool) -> None:
    assert all_bound(pod, _layer(*found)) is bound


def test_a_pod_without_claims_is_told_from_one_whose_claims_are_fine() -> None:
    store = Store([claim("c")])
    assert refuse_claims(pod_with(), store) is None
    assert refuse_claims(pod_with("c"), store) == ""
    assert refuse_claims(pod_with("d"), store) == 'persistentvolumeclaim "d" not found'

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.volume_claims import check_template_metadata
from tests.apiserver.validation.objects import Object, made, refused, texts, update_refusals


def _spec(**more: Any) -> Object:
    sizes = {"requests": {"storage": "1Gi"}}
    return {"accessModes": ["ReadWriteOnce"], "resources": sizes, **more}


_SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}

CLAIMS: dict[str, tuple[Object, list[str]]] = {
    "a claim": (_spec(), []),
    "no access mode": (
        _spec(accessModes=[]),
        ["spec.accessModes: Required value: at least 1 access mode is required"],
    ),
    "an unknown access mode": (
        _spec(accessModes=["WriteOnly"]),
        [
            'spec.accessModes: Unsupported value: "WriteOnly": supported values: '
            '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
        ],
    ),
    "a mode that stands alone": (
        _spec(accessModes=["ReadWriteOncePod", "ReadOnlyMany"]),
        ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
    ),
    "a bad selector": (
        _spec(selector={"matchLabels": {"a b": ""}}),
        ['spec.selector.matchLabels: Invalid value: "a b": <qualified name>'],
    ),
    "no size": (_spec(resources={}), ["spec.resources[storage]: Required value"]),
    "no bytes": (
        _spec(resources={"requests": {"storage": "0"}}),
        ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
    ),
    "bad classes": (
        _spec(storageClassName="A", volumeAttributesClassName="B"),
        [
            'spec.storageClassName: Invalid value: "A": <subdomain>',
            'spec.volumeAttributesClassName: Invalid value: "B": <subdomain>',
        ],
    ),
    "an unknown volume mode": (
        _spec(volumeMode="Tape"),
        ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
    ),
    "a bad source without a reference is left to be dropped": (
        _spec(dataSource={"kind": "X", "name": ""}),
        [],
    ),
    "a source": (_spec(dataSource=_SNAPSHOT, dataSourceRef=_SNAPSHOT), []),
    "two sources that differ": (
        _spec(dataSource=_SNAPSHOT, dataSourceRef=_SNAPSHOT | {"name": "t"}),
        ["spec: Invalid value: {}: must match dataSourceRef"],
    ),
    "a source in another namespace beside the older field": (
        _spec(dataSource=_SNAPSHOT, dataSourceRef=_SNAPSHOT | {"namespace": "A"}),
        [
            'spec.dataSourceRef.namespace: Invalid value: "A": <label>',
            "spec: Invalid value: {}: may not be specified when dataSourceRef.namespace "
            "is specified",
        ],
    ),
    "a source of the core group that is no claim": (
        _spec(dataSourceRef={"kind": "Pod", "name": ""}),
        [
            "spec.dataSourceRef.name: Required value",
            "spec.dataSourceRef: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' "
            "when referencing the default apiGroup",
        ],
    ),
    "a source of a bad group": (
        _spec(dataSourceRef=_SNAPSHOT | {"apiGroup": "A"}),
        ['spec.dataSourceRef.apiGroup: Invalid value: "A": <subdomain>'],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CLAIMS.values(), ids=CLAIMS)
def test_claims(spec: Object, expected: list[str]) -> None:
    assert refused("v1", "PersistentVolumeClaim", spec=spec) == expected


def test_metadata_of_a_template_is_labels_and_annotations() -> None:
    metadata = {"labels": {"a": "b c"}, "annotations": {"d e": ""}, "name": "n", "uid": "u"}
    assert texts(check_template_metadata(metadata, "f")) == [
        'f.annotations: Invalid value: "d e": <qualified name>',
        'f.labels: Invalid value: "b c": <label value>',
        "f.name: Forbidden: cannot be set",
        "f.uID: Forbidden: cannot be set",
    ]


def _claim(phase: str, **more: Any) -> Object:
    claim = made("v1", "PersistentVolumeClaim", spec=_spec(**more))
    claim["status"] = {"phase": phase, "capacity": {"storage": "1Gi"}}
    return claim


CHANGES: dict[str, tuple[str, Object, list[str]]] = {
    "the volume is set": ("Pending", {"volumeName": "v"}, []),
    "a bound claim grows": ("Bound", {"resources": {"requests": {"storage": "2Gi"}}}, []),
    "a bound claim shrinks": (
        "Bound",
        {"resources": {"requests": {"storage": "512Mi"}}},
        ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    ),
    "a bound claim gets other attributes": ("Bound", {"volumeAttributesClassName": "gold"}, []),
}


@pytest.mark.parametrize(("phase", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes_of_claims(phase: str, change: Object, expected: list[str]) -> None:
    assert update_refusals(_claim(phase), {"spec": change}) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"resources": {"requests": {"storage": "2Gi"}}},
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeAttributesClassName": "gold"},
    ],
    ids=["a pending claim does not grow", "modes stay", "attributes of a pending claim stay"],
)
def test_the_spec_of_a_claim_stays(change: Object) -> None:
    found = update_refusals(_claim("Pending"), {"spec": change})
    assert found[0].startswith("spec: Forbidden: spec is immutable after creation except")


def test_the_volume_of_a_bound_claim_and_its_mode_stay() -> None:
    old = _claim("Bound", volumeName="v")
    (problem,) = update_refusals(old, {"spec": {"volumeName": "w"}})
    assert problem.startswith("spec: Forbidden: spec is immutable after creation except")
    assert 'volumeMode: Invalid value: "Block": field is immutable' in update_refusals(
        old, {"spec": {"volumeMode": "Block"}}
    )

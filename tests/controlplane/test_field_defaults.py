"""The values of missing fields, alike in manifests and in the local API server."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import CSIDriver, StorageClass, decode, decode_as, encode
from mooring.apiserver.defaults import set_defaults as set_server_defaults
from mooring.controlplane.default_values import set_defaults
from mooring.controlplane.field_defaults import CSI_DRIVER_SPEC, STORAGE_CLASS, fill, filled


def test_given_values_stay() -> None:
    obj: dict[str, Any] = {"reclaimPolicy": "Retain", "volumeBindingMode": None}
    fill(obj, STORAGE_CLASS)
    assert obj == {"reclaimPolicy": "Retain", "volumeBindingMode": "Immediate"}
    given = filled(StorageClass(reclaim_policy="Retain"), STORAGE_CLASS)
    assert (given.reclaim_policy, given.volume_binding_mode) == ("Retain", "Immediate")
    assert filled(given, STORAGE_CLASS) is given


def test_false_is_a_value_and_lists_are_not_shared() -> None:
    driver = decode_as({"spec": {"attachRequired": False}}, CSIDriver)
    spec = filled(driver.spec, CSI_DRIVER_SPEC)
    assert (spec.attach_required, spec.volume_lifecycle_modes) == (False, ("Persistent",))
    first: dict[str, Any] = {}
    fill(first, CSI_DRIVER_SPEC)
    first["volumeLifecycleModes"].append("Ephemeral")
    assert CSI_DRIVER_SPEC["volumeLifecycleModes"] == ["Persistent"]


def complete(kind: str, spec: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    """Return an object in the canonical form of the API server."""
    metadata = {"name": "a", "namespace": "default", "uid": "u"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": {}}


def limited(value: Any, shape: Any) -> Any:
    """Return a value without the fields that another one lacks."""
    if isinstance(value, dict) and isinstance(shape, dict):
        return {name: limited(value[name], shape[name]) for name in shape if name in value}
    if isinstance(value, list) and isinstance(shape, list):
        return [limited(*pair) for pair in zip(value, shape, strict=True)]
    return value


CONTAINER = {
    "name": "c",
    "resources": {"requests": {"cpu": "0.5m"}, "limits": {"cpu": "1", "memory": "1Gi"}},
    "ports": [{"containerPort": 80}],
}


@pytest.mark.parametrize(
    "obj",
    [
        complete("Pod", {"containers": [CONTAINER], "hostNetwork": True}),
        complete("Pod", {"containers": [CONTAINER], "terminationGracePeriodSeconds": 0}),
        complete("PersistentVolume", {"capacity": {"storage": "1Gi"}}),
        complete("PersistentVolumeClaim", {"resources": {"requests": {"storage": "1Gi"}}}),
        complete("CSIDriver", {"podInfoOnMount": True}, "storage.k8s.io/v1"),
    ],
    ids=lambda obj: obj["kind"],
)
def test_manifests_and_the_local_api_server_agree(obj: dict[str, Any]) -> None:
    (made,) = set_defaults([decode(obj)])
    set_server_defaults(obj["apiVersion"], obj["kind"], obj)
    spec = encode(made)["spec"]
    # Admission sets these, not the defaults.
    for name in ("priority", "preemptionPolicy"):
        spec.pop(name, None)
    assert limited(encode(decode(obj))["spec"], spec) == spec

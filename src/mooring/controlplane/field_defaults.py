"""The values of missing fields, for objects as JSON and as Structs."""

# kubernetes: pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

Object = dict[str, Any]
#: Values by the JSON names of their fields.
Defaults = Mapping[str, Any]

POD_SPEC: Defaults = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
CONTAINER_PORT: Defaults = {"protocol": "TCP"}
VOLUME_SPEC: Defaults = {
    "persistentVolumeReclaimPolicy": "Retain",
    "volumeMode": "Filesystem",
}
CLAIM_SPEC: Defaults = {"volumeMode": "Filesystem"}
CLAIM_STATUS: Defaults = {"phase": "Pending"}
STORAGE_CLASS: Defaults = {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
CSI_DRIVER_SPEC: Defaults = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "volumeLifecycleModes": ["Persistent"],
    "requiresRepublish": False,
    "seLinuxMount": False,
    "preventPodSchedulingIfMissing": False,
}

T = TypeVar("T", bound=msgspec.Struct)


def fill(obj: Object, defaults: Defaults) -> None:
    """Set the missing fields of a JSON object."""
    for name, value in defaults.items():
        if obj.get(name) is None:
            obj[name] = list(value) if isinstance(value, list) else value


def filled(value: T, defaults: Defaults) -> T:
    """Return a Struct with its missing fields; the same one if it has them all."""
    names = _names(type(value))
    missing = {}
    for name, default in defaults.items():
        field = names.get(name)
        if field is not None and getattr(value, field) in (None, "", ()):
            missing[field] = tuple(default) if isinstance(default, list) else default
    return replace(value, **missing) if missing else value


@cache
def _names(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the names of a Struct's fields by their JSON names."""
    return dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))

"""Clusters with one device or volume that two pods need, each pod of a different profile."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.api import Pod
from tests.plugins.clusters import make_pod
from tests.plugins.dynamic_resources.devices import claim, device_class, device_slice, node
from tests.plugins.volumes.storage import claim as volume_claim
from tests.plugins.volumes.storage import storage_class, uses, volume


class Contested(msgspec.Struct, frozen=True):
    """One device or volume, and pods "red" and "blue" of the profiles of these names."""

    what: str
    objects: tuple[Any, ...]
    #: Part of the message of the second pod.
    refusal: str


def _pod(name: str, **spec: Any) -> Pod:
    return make_pod(name, schedulerName=name, containers=[{"name": "x"}], **spec)


def _uses_device(name: str) -> Pod:
    return _pod(name, resourceClaims=[{"name": "g", "resourceClaimName": name}])


def _uses_volume(name: str) -> Pod:
    return _pod(name, volumes=uses(name))


CONTESTED = (
    Contested(
        "a device",
        (
            node("n"),
            device_class(),
            device_slice("n", "d0"),
            claim("red"),
            claim("blue"),
            _uses_device("red"),
            _uses_device("blue"),
        ),
        "cannot allocate all claims",
    ),
    Contested(
        "a volume",
        (
            node("n"),
            storage_class(),
            volume("disk"),
            volume_claim("red"),
            volume_claim("blue"),
            _uses_volume("red"),
            _uses_volume("blue"),
        ),
        "didn't find available persistent volumes to bind",
    ),
)

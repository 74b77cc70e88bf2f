"""Extended resources that a DeviceClass backs: the DynamicResources plugin answers for them."""

# kube-scheduler: dynamic-resource-allocation/deviceclass/extendedresourcecache

from __future__ import annotations

from collections.abc import Container, Iterable

from mooring.api import DeviceClass
from mooring.framework.handle import Handle

#: Every device class can be asked for as an extended resource of this prefix and its name.
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


def extended_resource_name(device_class: DeviceClass) -> str:
    """Return the extended resource that a class says it backs, or ""."""
    return device_class.spec.get("extendedResourceName") or ""


class BackedResources:
    """Know which resources a DeviceClass backs."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._version: int | None = None
        self._names: frozenset[str] = frozenset()

    def __contains__(self, resource: object) -> bool:
        lister = self._handle.lister(DeviceClass)
        if lister.version != self._version:
            names = set()
            for device_class in lister.list():
                names.add(IMPLICIT_PREFIX + device_class.metadata.name)
                names.add(extended_resource_name(device_class))
            self._names = frozenset(names - {""})
            self._version = lister.version
        return resource in self._names


def any_backed(requests: Iterable[str], backed: Container[str]) -> bool:
    """Tell whether one of the resources is backed; no DeviceClass can back a native one."""
    return any("/" in resource and resource in backed for resource in requests)


def backed_resources(handle: Handle | None) -> Container[str]:
    """Return the resources that a DeviceClass backs; none where the gate is off."""
    if handle is None or not handle.features.enabled("DRAExtendedResource"):
        return frozenset()
    return BackedResources(handle)

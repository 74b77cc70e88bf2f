"""Extended resources that a DeviceClass backs; the DynamicResources plugin handles those."""

# kube-scheduler: dynamic-resource-allocation/deviceclass/extendedresourcecache

from __future__ import annotations

from collections.abc import Collection, Container

from mooring.api import DeviceClass
from mooring.api.pod_resource_requests import CPU, EPHEMERAL_STORAGE, MEMORY
from mooring.api.timestamps import parse_time
from mooring.framework.handle import Handle

#: Every device class can be requested as an extended resource: this prefix and the class name.
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
_NATIVE = frozenset((CPU, MEMORY, EPHEMERAL_STORAGE))


def extended_resource_name(device_class: DeviceClass) -> str:
    """Return the extended resource that a class names in its spec, or ""."""
    return device_class.spec.extended_resource_name or ""


class BackedResources:
    """The resources that a DeviceClass backs."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._version: int | None = None
        self._classes: dict[str, DeviceClass] = {}

    def __contains__(self, resource: object) -> bool:
        return resource in self._current()

    def device_class(self, resource: str) -> DeviceClass | None:
        """Return the class that backs a resource, or None; of several, the newest."""
        return self._current().get(resource)

    def _current(self) -> dict[str, DeviceClass]:
        lister = self._handle.lister(DeviceClass)
        if lister.version != self._version:
            self._classes = {}
            # The newest class wins, because it is stored last; of equally old ones, the first by
            # name.
            by_name = sorted(lister.list(), key=lambda one: one.metadata.name, reverse=True)
            for device_class in sorted(by_name, key=_age):
                explicit = extended_resource_name(device_class)
                if explicit:
                    self._classes[explicit] = device_class
                self._classes[IMPLICIT_PREFIX + device_class.metadata.name] = device_class
            self._version = lister.version
        return self._classes


def _age(device_class: DeviceClass) -> float:
    created = device_class.metadata.creation_timestamp
    return parse_time(created) if created else 0.0


def any_backed(requests: Collection[str], backed: Container[str]) -> bool:
    """Return whether one of the resources is backed; no DeviceClass can back a native one."""
    if _NATIVE.issuperset(requests):
        return False
    return any("/" in resource and resource in backed for resource in requests)


def backed_resources(handle: Handle | None) -> Container[str]:
    """Return the resources that a DeviceClass backs; none if the gate is off."""
    if handle is None or not handle.features.enabled("DRAExtendedResource"):
        return frozenset()
    return BackedResources(handle)

"""The special claim for a pod's extended resources that are backed by a device class.

One special claim serves all of a pod's extended resources. Until PreBind creates it, it exists only
in memory, under a name that no claim can have. For which resources it requests devices depends on
the resources that the node itself provides.
"""

# kube-scheduler: plugins/dynamicresources/extendeddynamicresources.go

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from mooring.api import Container, DeviceClass, ObjectMeta, OwnerReference, Pod, ResourceClaim
from mooring.api.names import is_extended_resource
from mooring.api.pod import ContainerExtendedResourceRequest
from mooring.api.quantity import value
from mooring.api.resource import (
    EXACT_COUNT,
    EXTENDED_RESOURCE_CLAIM,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from mooring.plugins.dynamic_resources.device_classes import IMPLICIT_PREFIX

#: Deliberately not a valid claim name.
IN_MEMORY_NAME = "<extended-resources>"

ClassOf = Callable[[str], DeviceClass | None]
Mappings = tuple[ContainerExtendedResourceRequest, ...]


def may_be_backed(resource: str) -> bool:
    """Return whether a device class can back a resource."""
    return resource.startswith(IMPLICIT_PREFIX) or is_extended_resource(resource)


def special_claim(pod: Pod) -> ResourceClaim:
    """Return the claim for a pod's extended resources, in memory and without requests."""
    owner = OwnerReference(
        api_version="v1",
        kind="Pod",
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        controller=True,
    )
    return ResourceClaim(
        metadata=ObjectMeta(
            name=IN_MEMORY_NAME,
            namespace=pod.metadata.namespace,
            uid=f"{IN_MEMORY_NAME}/{pod.metadata.uid}",
            generate_name=f"{pod.metadata.name}-extended-resources-",
            owner_references=(owner,),
            annotations={EXTENDED_RESOURCE_CLAIM: "true"},
        )
    )


def is_in_memory(claim: ResourceClaim) -> bool:
    """Return whether a special claim has not been created yet."""
    return claim.metadata.name == IN_MEMORY_NAME


def with_requests(
    claim: ResourceClaim, pod: Pod, resources: Iterable[str], class_of: ClassOf
) -> tuple[ResourceClaim, Mappings]:
    """Return the special claim with a request for devices per container and resource.

    The mappings say which request serves which container.
    """
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in sorted(resources):
        device_class = class_of(resource)
        if device_class is not None:
            _add_resource(pod, resource, device_class.metadata.name, requests, mappings)
    requests.sort(key=lambda request: request.name)
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests)))
    return replace(claim, spec=spec), tuple(mappings)


def _add_resource(
    pod: Pod,
    resource: str,
    class_name: str,
    requests: list[DeviceRequest],
    mappings: list[ContainerExtendedResourceRequest],
) -> None:
    """Add the requests for one resource; init containers that end share one request."""
    starters = pod.spec.init_containers
    containers = (*starters, *pod.spec.containers)
    lasting: list[DeviceRequest | None] = [None] * len(containers)
    short_lived: list[int] = []
    for i, container in enumerate(containers):
        if i < len(starters) and container.restart_policy != "Always":
            short_lived.append(i)
            continue
        lasting[i], found = _ask(i, container, resource, class_name, ())
        mappings += found
    largest: DeviceRequest | None = None
    replaced: set[str] = set()
    short_mappings: list[ContainerExtendedResourceRequest] = []
    for i in short_lived:
        # An init container that ends may use the devices of containers that start after it.
        asked, found = _ask(i, containers[i], resource, class_name, lasting[i:])
        short_mappings += found
        if asked is not None:
            replaced.add(asked.name)
            if largest is None or _count(largest) < _count(asked):
                largest = asked
    if largest is not None:
        requests.append(largest)
        short_mappings = [
            replace(mapping, request_name=largest.name)
            if mapping.request_name in replaced
            else mapping
            for mapping in short_mappings
        ]
    requests += [request for request in lasting if request is not None]
    mappings += short_mappings


def _count(request: DeviceRequest) -> int:
    return 0 if request.exactly is None else request.exactly.count


def _ask(
    index: int,
    container: Container,
    resource: str,
    class_name: str,
    lent: Iterable[DeviceRequest | None],
) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
    """Return a container's request for the devices it needs beside those lent, and its mappings."""
    wanted = container.resources.requests
    amount = value(wanted[resource]) if resource in wanted else 0
    mappings: list[ContainerExtendedResourceRequest] = []
    if not amount:
        return None, mappings

    def serve(request_name: str) -> None:
        mappings.append(
            ContainerExtendedResourceRequest(
                container_name=container.name, resource_name=resource, request_name=request_name
            )
        )

    found = 0
    for request in lent:
        if request is not None:
            found += _count(request)
            serve(request.name)
            if found >= amount:
                return None, mappings
    name = f"container-{index}-request-{sorted(wanted).index(resource)}"
    serve(name)
    exactly = ExactDeviceRequest(
        device_class_name=class_name, allocation_mode=EXACT_COUNT, count=amount - found
    )
    return DeviceRequest(name=name, exactly=exactly), mappings

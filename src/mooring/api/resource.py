"""Dynamic resources: claims for devices, the slices that offer them, and device classes."""

# api: resource/v1/types.go

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from mooring.api.meta import Condition, ObjectMeta, TypedObject
from mooring.api.quantity import QuantityText, ResourceList
from mooring.api.scheduling import NodeSelector
from mooring.api.wire import Wire

#: Keeps a claim from being deleted while it is allocated.
CLAIM_FINALIZER = "resource.kubernetes.io/delete-protection"
#: Marks the claim that the scheduler created for a pod's extended resources.
EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"

#: Names the entry of spec.resourceClaims that a claim was created for from a template.
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"

EXACT_COUNT = "ExactCount"
ALL = "All"


# The devices that exist.


class DeviceAttribute(Wire, frozen=True, kw_only=True):
    """One attribute of a device; the list values are alpha."""

    int_value: int | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")
    int_values: tuple[int, ...] = msgspec.field(default=(), name="ints")
    bool_values: tuple[bool, ...] = msgspec.field(default=(), name="bools")
    string_values: tuple[str, ...] = msgspec.field(default=(), name="strings")
    version_values: tuple[str, ...] = msgspec.field(default=(), name="versions")


class CapacityRequestPolicyRange(Wire, frozen=True, kw_only=True):
    """The range of amounts that may be consumed of a capacity."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(Wire, frozen=True, kw_only=True):
    """The rule for how much of a capacity a request consumes."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Wire, frozen=True, kw_only=True):
    """An amount of something that a device offers."""

    value: QuantityText = 0
    request_policy: CapacityRequestPolicy | None = None


class Counter(Wire, frozen=True, kw_only=True):
    """An amount that devices share."""

    value: QuantityText = 0


class CounterSet(Wire, frozen=True, kw_only=True):
    """A set of counters that the devices of a pool consume."""

    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Wire, frozen=True, kw_only=True):
    """What a device consumes from a counter set."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}
    #: Devices that consume from the same set at the same time must have a group in common.
    compatibility_groups: tuple[str, ...] = ()


class DeviceTaint(Wire, frozen=True, kw_only=True):
    """A taint of a device, which keeps claims away (None, NoSchedule, NoExecute)."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeAllocatableMapping(Wire, frozen=True, kw_only=True):
    """The amount of a node resource that a device represents, per device or unit of capacity."""

    capacity_key: str | None = None
    capacity_multiplier: QuantityText | None = None
    device_multiplier: QuantityText | None = None


class NodeAllocatableOverhead(Wire, frozen=True, kw_only=True):
    """The amount of a node resource that a pod needs in order to use a device."""

    per_pod: QuantityText | None = None
    per_container: QuantityText | None = None


class NodeAllocatableResource(Wire, frozen=True, kw_only=True):
    """How much of a node resource, such as cpu, the allocation of a device consumes."""

    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


class NodeAllocatableResourceMapping(Wire, frozen=True, kw_only=True):
    """The form of NodeAllocatableResource in Kubernetes 1.36, which has no overhead."""

    capacity_key: str | None = None
    allocation_multiplier: QuantityText | None = None


class Device(Wire, frozen=True, kw_only=True):
    """One device of a slice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None
    #: By name of the node resource; 1.36 has `node_allocatable_resource_mappings` instead.
    node_allocatable_resources: dict[str, NodeAllocatableResource] = {}
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = {}


class ResourcePool(Wire, frozen=True, kw_only=True):
    """The pool that a slice is part of."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(Wire, frozen=True, kw_only=True):
    """Devices of one driver that are reachable from the same nodes."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()
    #: Operations of a node that the devices do not need.
    skip_node_operations: tuple[str, ...] = ()


class ResourceSlice(TypedObject, frozen=True, kw_only=True):
    """A list of devices that a driver offers."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceSlice"

    spec: ResourceSliceSpec = ResourceSliceSpec()


# What is requested.


class CELDeviceSelector(Wire, frozen=True, kw_only=True):
    """A selector of devices by a CEL expression."""

    expression: str = ""


class DeviceSelector(Wire, frozen=True, kw_only=True):
    """A selector of devices."""

    cel: CELDeviceSelector | None = None


class DeviceToleration(Wire, frozen=True, kw_only=True):
    """A toleration of a device's taint (operators: Exists, Equal)."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(Wire, frozen=True, kw_only=True):
    """Requested amounts of a device's capacity."""

    requests: ResourceList = {}


class DeviceDerivedAttribute(Wire, frozen=True, kw_only=True):
    """An attribute that a request computes from each device, for use in constraints."""

    name: str = ""
    #: A CEL expression that reads the variable `device`.
    expression: str = ""


class ExactDeviceRequest(Wire, frozen=True, kw_only=True):
    """A request for devices of one class."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceSubRequest(Wire, frozen=True, kw_only=True):
    """One of several alternative requests."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceRequest(Wire, frozen=True, kw_only=True):
    """A request for devices: exactly these, or the first alternative that is available."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Wire, frozen=True, kw_only=True):
    """A constraint on the devices of several requests."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Wire, frozen=True, kw_only=True):
    """Parameters for a driver, for some requests or for all."""

    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] = {}


class DeviceClaim(Wire, frozen=True, kw_only=True):
    """Requests for devices that are allocated together."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Wire, frozen=True, kw_only=True):
    """The specification of a claim."""

    devices: DeviceClaim = DeviceClaim()


# What was allocated.


class DeviceRequestAllocationResult(Wire, frozen=True, kw_only=True):
    """A device that was allocated for a request."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = None
    consumed_capacity: ResourceList = {}
    skip_node_operations: tuple[str, ...] = ()


class DeviceAllocationConfiguration(Wire, frozen=True, kw_only=True):
    """Parameters for a driver (source: FromClass, FromClaim)."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] = {}


class DeviceAllocationResult(Wire, frozen=True, kw_only=True):
    """The devices that were allocated, and their configuration."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(Wire, frozen=True, kw_only=True):
    """The result of allocating a claim, and the nodes from which it can be used."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Wire, frozen=True, kw_only=True):
    """A reference to an object that may use a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Wire, frozen=True, kw_only=True):
    """The state of an allocated device, written by its driver."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = None
    conditions: tuple[Condition, ...] = ()
    data: Any = None
    network_data: dict[str, Any] | None = None


class ResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """The allocation and the users of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(TypedObject, frozen=True, kw_only=True):
    """A claim for devices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaim"

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Wire, frozen=True, kw_only=True):
    """The labels, annotations and spec of claims created from a template."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(TypedObject, frozen=True, kw_only=True):
    """A template from which claims are created."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaimTemplate"

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceClassConfiguration(Wire, frozen=True, kw_only=True):
    """Parameters for a driver, for every device of a class."""

    opaque: dict[str, Any] = {}


class DeviceClassSpec(Wire, frozen=True, kw_only=True):
    """Which devices belong to a class, and the extended resource it provides."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(TypedObject, frozen=True, kw_only=True):
    """A class of devices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "DeviceClass"

    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(Wire, frozen=True, kw_only=True):
    """The devices that a rule taints; a field that is None matches all."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Wire, frozen=True, kw_only=True):
    """A taint, and the devices that get it; none without a selector."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(TypedObject, frozen=True, kw_only=True):
    """A taint that an administrator adds to devices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "DeviceTaintRule"

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()

"""The table of resources, and the conversion between objects and JSON."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from mooring.api import (
    app_group,
    elastic_quota,
    events,
    network_topology,
    node,
    node_resource_topology,
    pod,
    pod_group,
    resource,
    seccomp_profile,
    storage,
    workload_pod_group,
    workloads,
)
from mooring.api.custom_resource import CustomResource
from mooring.api.meta import KubeObject, ObjectMeta, TypedObject
from mooring.errors import ObjectError


class Kind(msgspec.Struct, frozen=True):
    """A resource of the API: its path, and the Struct that holds its objects."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    struct: type[TypedObject]
    #: Whether a server may not serve it: a CustomResourceDefinition defines it, or a feature gate
    #: of the server.
    custom: bool = False
    #: Whether a server of a supported release may not serve it: it is new, or not enabled.
    optional: bool = False

    @property
    def api_version(self) -> str:
        """Return "version" for the core group, else "group/version"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """Return "plural.version.group"."""
        return f"{self.plural}.{self.version}.{self.group}"

    @property
    def path(self) -> str:
        """Return the path of the collection, over all namespaces."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return f"{root}/{self.version}/{self.plural}"


def _kind(
    struct: type[TypedObject],
    plural: str,
    *,
    namespaced: bool = True,
    custom: bool = False,
    optional: bool = False,
) -> Kind:
    group, _, version = struct.api_version.rpartition("/")
    return Kind(group, version, struct.kind, plural, namespaced, struct, custom, optional)


#: Every kind that Mooring has a Struct for.
KINDS: tuple[Kind, ...] = (
    _kind(pod.Pod, "pods"),
    _kind(node.Node, "nodes", namespaced=False),
    _kind(workloads.Namespace, "namespaces", namespaced=False),
    _kind(workloads.Service, "services"),
    _kind(workloads.ReplicationController, "replicationcontrollers"),
    _kind(workloads.ReplicaSet, "replicasets"),
    _kind(workloads.StatefulSet, "statefulsets"),
    _kind(workloads.Deployment, "deployments"),
    _kind(workloads.DaemonSet, "daemonsets"),
    _kind(workloads.Job, "jobs"),
    _kind(workloads.PodDisruptionBudget, "poddisruptionbudgets"),
    _kind(workloads.PriorityClass, "priorityclasses", namespaced=False),
    _kind(storage.PersistentVolume, "persistentvolumes", namespaced=False),
    _kind(storage.PersistentVolumeClaim, "persistentvolumeclaims"),
    _kind(storage.StorageClass, "storageclasses", namespaced=False),
    _kind(storage.CSINode, "csinodes", namespaced=False),
    _kind(storage.CSIDriver, "csidrivers", namespaced=False),
    _kind(storage.CSIStorageCapacity, "csistoragecapacities"),
    _kind(storage.VolumeAttachment, "volumeattachments", namespaced=False),
    _kind(storage.VolumeAttributesClass, "volumeattributesclasses", namespaced=False),
    _kind(resource.ResourceClaim, "resourceclaims"),
    _kind(resource.ResourceClaimTemplate, "resourceclaimtemplates"),
    _kind(resource.ResourceSlice, "resourceslices", namespaced=False),
    _kind(resource.DeviceClass, "deviceclasses", namespaced=False),
    _kind(resource.DeviceTaintRule, "devicetaintrules", namespaced=False, optional=True),
    _kind(events.Event, "events"),
    _kind(events.Lease, "leases"),
    _kind(workload_pod_group.WorkloadPodGroup, "podgroups", optional=True),
    _kind(workload_pod_group.CompositePodGroup, "compositepodgroups", optional=True),
    _kind(pod_group.PodGroup, "podgroups", custom=True),
    _kind(elastic_quota.ElasticQuota, "elasticquotas", custom=True),
    _kind(
        node_resource_topology.NodeResourceTopology,
        "noderesourcetopologies",
        namespaced=False,
        custom=True,
    ),
    _kind(app_group.AppGroup, "appgroups", custom=True),
    _kind(network_topology.NetworkTopology, "networktopologies", custom=True),
    _kind(seccomp_profile.SeccompProfile, "seccompprofiles", custom=True),
)

#: The kinds by name; of two kinds with one name (PodGroup), the last in the table.
BY_KIND: dict[str, Kind] = {kind.kind: kind for kind in KINDS}

#: The kinds by Struct.
BY_STRUCT: dict[type[KubeObject], Kind] = {kind.struct: kind for kind in KINDS}

# Older versions whose fields, as far as Mooring reads them, have today's shape.
_SAME_SHAPE = (
    ("policy/v1beta1", ("PodDisruptionBudget",)),
    ("apps/v1beta1", ("StatefulSet", "Deployment")),
    ("apps/v1beta2", ("StatefulSet", "Deployment", "DaemonSet", "ReplicaSet")),
    ("extensions/v1beta1", ("Deployment", "DaemonSet", "ReplicaSet")),
    ("scheduling.k8s.io/v1beta1", ("PriorityClass",)),
    ("scheduling.k8s.io/v1alpha1", ("PriorityClass",)),
    (
        "storage.k8s.io/v1beta1",
        (
            "StorageClass",
            "CSINode",
            "CSIDriver",
            "CSIStorageCapacity",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ),
    ),
    (
        "storage.k8s.io/v1alpha1",
        ("CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"),
    ),
    ("coordination.k8s.io/v1beta1", ("Lease",)),
    ("events.k8s.io/v1beta1", ("Event",)),
    (
        "resource.k8s.io/v1beta1",
        ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"),
    ),
    (
        "resource.k8s.io/v1beta2",
        ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"),
    ),
)

_BY_TYPE: dict[tuple[str, str], Kind] = {(k.api_version, k.kind): k for k in KINDS}
_BY_TYPE.update(
    {(version, name): BY_KIND[name] for version, names in _SAME_SHAPE for name in names}
)


def find_kind(api_version: str, kind: str) -> Kind | None:
    """Return the table's row for an apiVersion and kind; None for custom resources."""
    return _BY_TYPE.get((api_version, kind))


_Object = TypeVar("_Object", bound=msgspec.Struct)

# Maps with string values, in which Go reads a null as the empty string.
_TEXT_MAPS = frozenset(
    ("labels", "annotations", "matchLabels", "nodeSelector", "parameters", "volumeAttributes")
)


def _without_nulls(value: Any, text_map: bool = False) -> Any:
    """Drop fields that are null: Go, and so Kubernetes, treats them as absent."""
    if isinstance(value, dict):
        if text_map:
            return {key: "" if item is None else item for key, item in value.items()}
        return {
            key: _without_nulls(item, key in _TEXT_MAPS)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


_PROBLEM = re.compile(r"(?s)(.*?)(?: - at (key in )?`(\$[^`]*)`)?")
_MISMATCH = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_WORDS = {
    "str": "text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "nothing",
}
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _words(types: str) -> str:
    if set(types.split(" | ")) == {"str", "int", "float"}:
        return "a quantity"
    return " or ".join(_WORDS.get(name, name) for name in types.split(" | "))


def _object_error(error: msgspec.ValidationError, kind: str, raw: Any) -> ObjectError:
    """Reword msgspec's message, and name the map key that it leaves out."""
    match = _PROBLEM.fullmatch(str(error))
    assert match is not None
    message, of_key, path = match[1], match[2], (match[3] or "").removeprefix("$").lstrip(".")
    mismatch = _MISMATCH.fullmatch(message)
    if mismatch is not None:
        expected, got = mismatch.groups()
        message = f"expected {_words(expected)}, got {_words(got)}"
        if of_key:
            message = f"a key must be {_words(expected)}, got {_words(got)}"
        elif "[...]" in path:
            path = _name_key(raw, path, expected)
        if expected == "str" and got in ("int", "float", "bool"):
            message += "; quote it to make it text"
    return ObjectError(f"{kind}: {message}", path=path or None)


def _name_key(raw: Any, path: str, expected: str) -> str:
    """Replace the first `[...]` of a path by the key whose value has the wrong type."""
    before, _, after = path.partition("[...]")
    found = raw
    for step in re.findall(r"[^.\[\]]+", before):
        try:
            found = found[int(step)] if isinstance(found, list) else found[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return path
    if after or not isinstance(found, dict):
        return path
    types = tuple(t for name in expected.split(" | ") for t in _TYPES.get(name, ()))
    for key, value in found.items():
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            return f"{before}[{key}]"
    return path


def decode_as(data: bytes | str | dict[str, Any], struct: type[_Object]) -> _Object:
    """Convert JSON text or a dict of wire names to an object of the given Struct."""
    raw: Any = data
    try:
        if isinstance(data, bytes | str):
            return msgspec.json.decode(data, type=struct)
        return msgspec.convert(data, struct)
    except (msgspec.ValidationError, UnicodeEncodeError):
        # Nulls are rare and slow to find, so look for them only after decoding failed.
        if isinstance(data, bytes | str):
            raw = _decode_json(data)
    except msgspec.DecodeError as error:
        raise ObjectError(f"not valid JSON: {error}") from None
    raw = _without_nulls(raw)
    try:
        return msgspec.convert(raw, struct)
    except msgspec.ValidationError as error:
        raise _object_error(error, struct.__name__, raw) from None


def _decode_json(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ObjectError(f"not valid JSON: {error}") from None


def _decode_custom(raw: dict[str, Any], api_version: str, kind: str) -> CustomResource:
    metadata = raw.get("metadata")
    try:
        typed = decode_as({} if metadata is None else metadata, ObjectMeta)
    except ObjectError as error:
        path = f"metadata.{error.path}" if error.path else "metadata"
        raise ObjectError(error.message, path=path) from None
    return CustomResource(api_version=api_version, kind=kind, metadata=typed, raw=raw)


def decode(data: bytes | str | dict[str, Any]) -> KubeObject:
    """Convert JSON text or a dict to a typed object, according to its apiVersion and kind.

    Kinds outside the table become a CustomResource.
    """
    raw = _decode_map(data)
    api_version, kind = _type_of(raw)
    row = find_kind(api_version, kind)
    if row is not None:
        return decode_as(raw, row.struct)
    return _decode_custom(raw, api_version, kind)


def decode_raw(data: bytes | str | dict[str, Any]) -> CustomResource:
    """Convert an object of any kind, even one that has a Struct, to a CustomResource."""
    raw = _decode_map(data)
    return _decode_custom(raw, *_type_of(raw))


def _decode_map(data: bytes | str | dict[str, Any]) -> dict[str, Any]:
    raw: Any = data
    if isinstance(data, bytes | str):
        raw = _decode_json(data)
    if not isinstance(raw, dict):
        raise ObjectError(f"an object must be a map, got {describe(raw)}")
    return raw


def describe(value: Any) -> str:
    """Return the type of a JSON value in plain words."""
    names = {type(None): "nothing", list: "a list", dict: "a map", str: "text", int: "an integer"}
    return names.get(type(value), "true or false" if isinstance(value, bool) else "a number")


def _type_of(raw: dict[str, Any]) -> tuple[str, str]:
    for name in ("apiVersion", "kind"):
        value = raw.get(name)
        if not isinstance(value, str) or not value:
            found = "is missing" if value is None else f"must be text, got {value!r}"
            raise ObjectError(f"{name} {found}", path=name)
    return raw["apiVersion"], raw["kind"]


def encode_json(obj: KubeObject) -> bytes:
    """Return an object as JSON text, apiVersion and kind first.

    Fields that Mooring does not know are missing: change objects on a server with a patch.
    """
    if isinstance(obj, CustomResource):
        return msgspec.json.encode(obj.raw)
    row = BY_STRUCT.get(type(obj))
    if row is None:
        raise ObjectError(f"{type(obj).__name__} is not in the table of kinds")
    head = f'{{"apiVersion":"{row.api_version}","kind":"{row.kind}"'.encode()
    body = msgspec.json.encode(obj)
    return head + body[1:] if body == b"{}" else head + b"," + body[1:]


def encode(obj: KubeObject) -> dict[str, Any]:
    """Return an object as a dict of wire names; see `encode_json`."""
    if isinstance(obj, CustomResource):
        return obj.raw
    raw: dict[str, Any] = msgspec.json.decode(encode_json(obj))
    return raw

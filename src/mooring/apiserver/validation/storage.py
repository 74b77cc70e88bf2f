"""Storage classes, CSI drivers, CSI nodes and volume attachments."""

# kubernetes: pkg/apis/storage/validation/validation.go

from __future__ import annotations

from collections.abc import Sequence

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.api.quantity import parse_nanos
from mooring.apiserver.validation.field_problems import Object, immutable, non_negative, repeated
from mooring.apiserver.validation.formats import (
    label_1035_problems,
    label_key_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.metadata import check_selector
from mooring.apiserver.validation.resource_amounts import NEGATIVE
from mooring.apiserver.validation.volumes import csi_driver_name

_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES = ("Persistent", "Ephemeral")
_BINDING = ("Immediate", "WaitForFirstConsumer")


def check_storage_class(storage_class: Object) -> list[FieldError]:
    """Check a storage class."""
    problems: list[FieldError] = []
    provisioner = storage_class["provisioner"]
    if not provisioner:
        problems.append(required("provisioner"))
    else:
        lower = provisioner.lower()
        problems += each("provisioner", lower, label_key_problems(lower))
    if "" in (storage_class.get("parameters") or {}):
        problems.append(invalid("parameters", "", "field can not be empty."))
    policy = storage_class.get("reclaimPolicy")
    if policy not in (None, "", "Delete", "Retain"):
        problems.append(not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
    mode = storage_class.get("volumeBindingMode")
    if mode not in _BINDING:
        problems.append(not_supported("volumeBindingMode", mode, _BINDING))
    return problems + _topologies(storage_class.get("allowedTopologies") or ())


def _topologies(terms: Sequence[Object]) -> list[FieldError]:
    """Check the allowed topologies of a class, each of which may occur only once."""
    # kubernetes: pkg/apis/core/validation/validation.go, ValidateTopologySelectorTerm
    problems: list[FieldError] = []
    places: set[frozenset[tuple[str, frozenset[str]]]] = set()
    for i, term in enumerate(terms):
        path = f"allowedTopologies[{i}].matchLabelExpressions"
        place: dict[str, frozenset[str]] = {}
        for j, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            where, key = f"{path}[{j}]", requirement["key"]
            values = requirement.get("values") or []
            if not values:
                problems.append(required(f"{where}.values"))
            problems += [duplicate(f"{where}.values[{k}]", values[k]) for k in repeated(values)]
            problems += each(f"{where}.key", key, label_key_problems(key))
            if key in place:
                problems.append(duplicate(f"{where}.key", key))
            place[key] = frozenset(values)
        known = frozenset(place.items())
        if not place or known in places:
            problems.append(duplicate(path, ""))
        places.add(known)
    return problems


def check_storage_class_update(storage_class: Object, old: Object) -> list[FieldError]:
    """Check an update of a storage class: how it provisions volumes may not change."""
    problems: list[FieldError] = []
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        problems += immutable(field, storage_class.get(field), old.get(field), shown=False)
    return problems + check_storage_class(storage_class)


def check_attributes_class(attributes: Object) -> list[FieldError]:
    """Check a volume attributes class."""
    lower = attributes["driverName"].lower()
    problems = each("driverName", lower, label_key_problems(lower)) if lower else []
    if not lower:
        problems.append(required("driverName"))
    if "" in (attributes.get("parameters") or {}):
        problems.append(invalid("parameters", "", "field can not be empty."))
    if not attributes.get("parameters"):
        why = "must contain at least one key/value pair"
        problems.append(required("parameters", why))
    return problems


def check_attributes_class_update(attributes: Object, old: Object) -> list[FieldError]:
    """Check an update of a volume attributes class: only its metadata may change."""
    return [
        forbidden(name, f"updates to {name} are forbidden.")
        for name in ("driverName", "parameters")
        if attributes.get(name) != old.get(name)
    ] + check_attributes_class(attributes)


def check_driver(driver: Object) -> list[FieldError]:
    """Check a CSI driver."""
    problems: list[FieldError] = []
    spec = driver["spec"]
    if spec.get("fsGroupPolicy") not in _GROUP_POLICIES:
        given = spec.get("fsGroupPolicy")
        problems.append(not_supported("spec.fsGroupPolicy", given, _GROUP_POLICIES))
    problems += _token_requests(spec.get("tokenRequests") or (), "spec.tokenRequests")
    problems += [
        not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLES)
        for mode in spec.get("volumeLifecycleModes") or ()
        if mode not in _LIFECYCLES
    ]
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        why = "must be greater than or equal to 10 seconds"
        problems.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why))
    return problems


def _token_requests(requests: Sequence[Object], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, request in enumerate(requests):
        audience, seconds = request.get("audience") or "", request.get("expirationSeconds")
        if audience in seen:
            problems.append(duplicate(f"{path}[{i}].audience", audience))
            continue
        seen.add(audience)
        if seconds is None:
            continue
        where = f"{path}[{i}].expirationSeconds"
        if seconds < 600:
            why = "may not specify a duration less than 10 minutes"
            problems.append(invalid(where, seconds, why))
        if seconds > 2**32:
            why = "may not specify a duration larger than 2^32 seconds"
            problems.append(invalid(where, seconds, why))
    return problems


def check_driver_update(driver: Object, old: Object) -> list[FieldError]:
    """Check an update of a CSI driver."""
    problems = check_driver(driver)
    new, before = driver["spec"], old["spec"]
    for field, name in (
        ("attachRequired", "attachedRequired"),
        ("volumeLifecycleModes", "volumeLifecycleModes"),
    ):
        problems += immutable(f"spec.{name}", new.get(field), before.get(field))
    return problems


def check_csi_node(node: Object) -> list[FieldError]:
    """Check a CSINode: what CSI drivers report about a node."""
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, driver in enumerate(node["spec"].get("drivers") or ()):
        where = f"spec.drivers[{i}]"
        problems += csi_driver_name(driver["name"], f"{where}.name")
        if not driver["nodeID"]:
            problems.append(required(f"{where}.nodeID"))
        elif len(driver["nodeID"]) > 256:
            why = "must be 256 characters or less"
            problems.append(invalid(f"{where}.nodeID", driver["nodeID"], why))
        count = (driver.get("allocatable") or {}).get("count")
        problems += non_negative(f"{where}.allocatable.count", count)
        if driver["name"] and driver["name"] in seen:
            problems.append(duplicate(f"{where}.name", driver["name"]))
        seen.add(driver["name"])
        keys: set[str] = set()
        for key in driver.get("topologyKeys") or ():
            if not key or key in keys:
                problems.append(duplicate(where, key) if key else required(where))
            problems += each(where, key, label_key_problems(key))
            keys.add(key)
    return problems


def check_csi_node_update(node: Object, old: Object) -> list[FieldError]:
    """Check an update of a CSINode: node ID and topology keys of a driver may not change."""
    problems = check_csi_node(node)
    before = {driver["name"]: driver for driver in old["spec"].get("drivers") or ()}
    for driver in node["spec"].get("drivers") or ():
        was = before.get(driver["name"])
        kept = was is None or all(
            driver.get(name) == was.get(name) for name in ("nodeID", "topologyKeys")
        )
        if not kept:
            problems.append(invalid("spec.drivers", driver, "field is immutable"))
    return problems


def check_attachment(attachment: Object) -> list[FieldError]:
    """Check the attachment of a volume to a node."""
    spec = attachment["spec"]
    problems: list[FieldError] = []
    problems += csi_driver_name(spec["attacher"], "spec.attacher")
    source = spec["source"]
    given = [
        name
        for name in ("inlineVolumeSpec", "persistentVolumeName")
        if source.get(name) is not None
    ]
    why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if not given:
        problems.append(required("spec.source", why))
    elif len(given) == 2:
        problems.append(forbidden("spec.source", why))
    elif (name := source.get("persistentVolumeName")) is not None:
        where = "spec.source.persistentVolumeName"
        if not name:
            problems.append(required(where, "must specify non empty persistentVolumeName"))
        problems += each(where, name, subdomain_problems(name))
    return problems + each("spec.nodeName", spec["nodeName"], subdomain_problems(spec["nodeName"]))


def check_attachment_update(attachment: Object, old: Object) -> list[FieldError]:
    """Check an update of an attachment: its spec may not change."""
    problems = immutable("spec", attachment["spec"], old["spec"], shown=False)
    return problems + check_attachment(attachment)


def check_capacity(capacity: Object) -> list[FieldError]:
    """Check a CSIStorageCapacity."""
    problems = check_selector(capacity.get("nodeTopology"), "nodeTopology")
    name = capacity["storageClassName"]
    problems += each("storageClassName", name, subdomain_problems(name))
    amount = capacity.get("capacity")
    if amount is not None and parse_nanos(amount) < 0:
        problems.append(invalid("capacity", amount, NEGATIVE))
    return problems


def check_capacity_update(capacity: Object, old: Object) -> list[FieldError]:
    """Check an update of a CSIStorageCapacity: its topology and storage class may not change."""
    problems = check_capacity(capacity)
    for field in ("nodeTopology", "storageClassName"):
        problems += immutable(field, capacity.get(field), old.get(field))
    return problems


def check_migration(migration: Object) -> list[FieldError]:
    """Check a storage version migration."""
    # kubernetes: pkg/apis/storagemigration/validation/validation.go
    resource = migration["spec"].get("resource") or {}
    problems: list[FieldError] = []
    for field, check in (("resource", label_1035_problems), ("group", subdomain_problems)):
        where, given = f"spec.resource.{field}", resource.get(field) or ""
        if given and (found := check(given)):
            problems.append(invalid(where, given, ",".join(found)))
        elif not given and field == "resource":
            problems.append(required(where, "resource is required to be set"))
    return problems


def check_migration_update(migration: Object, old: Object) -> list[FieldError]:
    """Check an update of a storage version migration: its spec may not change."""
    problems = check_migration(migration)
    return problems + immutable("spec", migration["spec"], old["spec"])

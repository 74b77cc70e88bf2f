"""Storage classes, CSI drivers and what they say about nodes."""

# kubernetes: pkg/apis/storage/validation/validation.go

from __future__ import annotations

from mooring.api.quantity import parse_nanos
from mooring.local.validation.metadata import check_selector
from mooring.local.validation.problems import (
    Object,
    Problem,
    duplicate,
    each,
    forbidden,
    immutable,
    invalid,
    non_negative,
    not_supported,
    required,
)
from mooring.local.validation.resources import NEGATIVE
from mooring.local.validation.texts import label_key_problems, subdomain_problems
from mooring.local.validation.volumes import csi_driver_name

_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES = ("Persistent", "Ephemeral")
_BINDING = ("Immediate", "WaitForFirstConsumer")


def check_storage_class(storage_class: Object) -> list[Problem]:
    """Check a storage class."""
    problems: list[Problem] = []
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
    for i, term in enumerate(storage_class.get("allowedTopologies") or ()):
        for j, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            where = f"allowedTopologies[{i}].matchLabelExpressions[{j}]"
            if not requirement.get("values"):
                problems.append(required(f"{where}.values"))
            key = requirement["key"]
            problems += each(f"{where}.key", key, label_key_problems(key))
    return problems


def check_storage_class_update(storage_class: Object, old: Object) -> list[Problem]:
    """Check the change of a storage class: what it makes stays."""
    problems: list[Problem] = []
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        problems += immutable(field, storage_class.get(field), old.get(field))
    return problems


def check_attributes_class(attributes: Object) -> list[Problem]:
    """Check a volume attributes class."""
    problems = csi_driver_name(attributes["driverName"], "driverName")
    if not attributes.get("parameters"):
        why = "must contain at least one key/value pair"
        problems.append(required("parameters", why))
    return problems


def check_attributes_class_update(attributes: Object, old: Object) -> list[Problem]:
    """Check the change of a volume attributes class: nothing but metadata may change."""
    return [
        forbidden(name, f"updates to {name} are forbidden.")
        for name in ("driverName", "parameters")
        if attributes.get(name) != old.get(name)
    ] + check_attributes_class(attributes)


def check_driver(driver: Object) -> list[Problem]:
    """Check a CSI driver."""
    problems: list[Problem] = []
    spec = driver["spec"]
    if spec.get("fsGroupPolicy") not in _GROUP_POLICIES:
        given = spec.get("fsGroupPolicy")
        problems.append(not_supported("spec.fsGroupPolicy", given, _GROUP_POLICIES))
    return problems + [
        not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLES)
        for mode in spec.get("volumeLifecycleModes") or ()
        if mode not in _LIFECYCLES
    ]


def check_driver_update(driver: Object, old: Object) -> list[Problem]:
    """Check the change of a CSI driver."""
    problems = check_driver(driver)
    new, before = driver["spec"], old["spec"]
    for field, name in (
        ("attachRequired", "attachedRequired"),
        ("volumeLifecycleModes", "volumeLifecycleModes"),
    ):
        problems += immutable(f"spec.{name}", new.get(field), before.get(field))
    return problems


def check_csi_node(node: Object) -> list[Problem]:
    """Check what CSI drivers say about a node."""
    problems: list[Problem] = []
    seen: set[str] = set()
    for i, driver in enumerate(node["spec"].get("drivers") or ()):
        where = f"spec.drivers[{i}]"
        problems += csi_driver_name(driver["name"], f"{where}.name")
        if not driver["nodeID"]:
            problems.append(required(f"{where}.nodeID"))
        count = (driver.get("allocatable") or {}).get("count")
        problems += non_negative(f"{where}.allocatable.count", count)
        if driver["name"] and driver["name"] in seen:
            problems.append(duplicate(f"{where}.name", driver["name"]))
        seen.add(driver["name"])
        keys: set[str] = set()
        for key in driver.get("topologyKeys") or ():
            if not key:
                problems.append(required(where))
            elif key in keys:
                problems.append(duplicate(where, key))
            else:
                problems += each(where, key, label_key_problems(key))
            keys.add(key)
    return problems


def check_attachment(attachment: Object) -> list[Problem]:
    """Check the attachment of a volume to a node."""
    spec = attachment["spec"]
    problems: list[Problem] = []
    if not spec["attacher"]:
        problems.append(required("spec.attacher"))
    source = spec["source"]
    given = [
        name
        for name in ("inlineVolumeSpec", "persistentVolumeName")
        if source.get(name) is not None
    ]
    if len(given) != 1:
        why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        problems.append(required("spec.source", why))
    return problems + each("spec.nodeName", spec["nodeName"], subdomain_problems(spec["nodeName"]))


def check_attachment_update(attachment: Object, old: Object) -> list[Problem]:
    """Check the change of an attachment: its spec stays."""
    return immutable("spec", attachment["spec"], old["spec"])


def check_capacity(capacity: Object) -> list[Problem]:
    """Check how much storage there is somewhere."""
    problems = check_selector(capacity.get("nodeTopology"), "nodeTopology")
    name = capacity["storageClassName"]
    problems += each("storageClassName", name, subdomain_problems(name))
    for field in ("capacity", "maximumVolumeSize"):
        amount = capacity.get(field)
        if amount is not None and parse_nanos(amount) < 0:
            problems.append(invalid(field, amount, NEGATIVE))
    return problems


def check_capacity_update(capacity: Object, old: Object) -> list[Problem]:
    """Check the change of a storage capacity: where it is stays."""
    problems = check_capacity(capacity)
    for field in ("nodeTopology", "storageClassName"):
        problems += immutable(field, capacity.get(field), old.get(field))
    return problems

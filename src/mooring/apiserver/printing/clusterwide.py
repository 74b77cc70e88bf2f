"""The printers of storage, access, scheduling, networking and device kinds."""

# kube-apiserver: pkg/printers/internalversion/printers.go

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from mooring.apiserver.printing.core import aged, load_balancers, more
from mooring.apiserver.printing.printer import (
    NAME,
    NONE,
    UNSET,
    Printer,
    Row,
    TableColumn,
    age,
    at,
    columns,
    human_duration,
    name,
    selector_text,
    since,
)
from mooring.controlplane.default_values import default_class_name

Object = dict[str, Any]

_FLOWS = "flowcontrol.apiserver.k8s.io"
_DEFAULT_INGRESS = "ingressclass.kubernetes.io/is-default-class"


def _parent(obj: Object) -> str:
    """Return the object that an IPAddress belongs to."""
    parent = at(obj, "spec.parentRef")
    if parent is None:
        return NONE
    kinds = ".".join(filter(None, (parent.get("resource"), parent.get("group")))).lower()
    return "/".join(filter(None, (kinds, parent.get("namespace"), parent.get("name"))))


def _storage_classes(listed: Sequence[Object]) -> Row:
    """Return the cells of a list, which marks only the class that claims without one get."""
    default = default_class_name(
        (
            name(one),
            one["metadata"].get("annotations") or {},
            str(at(one, "metadata.creationTimestamp", "")),
        )
        for one in listed
    )

    def cells(obj: Object, now: datetime.datetime) -> list[Any]:
        first, *others = _storage_class(obj, now)
        return [f"{first} (default)" if first == default else first, *others]

    return cells


def _storage_class(obj: Object, now: datetime.datetime) -> list[Any]:
    return [
        name(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


def _driver(obj: Object, now: datetime.datetime) -> list[Any]:
    requests = at(obj, "spec.tokenRequests")
    return [
        name(obj),
        at(obj, "spec.attachRequired", True),
        at(obj, "spec.podInfoOnMount", False),
        at(obj, "spec.storageCapacity", False),
        UNSET if requests is None else ",".join(one.get("audience", "") for one in requests),
        at(obj, "spec.requiresRepublish", False),
        ",".join(at(obj, "spec.volumeLifecycleModes", ())) or NONE,
        age(obj, now),
    ]


def _attachment(obj: Object, now: datetime.datetime) -> list[Any]:
    return [
        name(obj),
        at(obj, "spec.attacher", ""),
        at(obj, "spec.source.persistentVolumeName", ""),
        at(obj, "spec.nodeName", ""),
        at(obj, "status.attached", False),
        age(obj, now),
    ]


def _binding(obj: Object, now: datetime.datetime) -> list[Any]:
    found: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in obj.get("subjects") or ():
        text = one.get("name", "")
        if one.get("kind") == "ServiceAccount":
            text = f"{one.get('namespace', '')}/{text}"
        found.setdefault(one.get("kind", ""), []).append(text)
    role = obj.get("roleRef") or {}
    return [
        name(obj),
        f"{role.get('kind')}/{role.get('name')}",
        age(obj, now),
        *(", ".join(found[kind]) for kind in ("User", "Group", "ServiceAccount")),
    ]


def _priority_class(obj: Object, now: datetime.datetime) -> list[Any]:
    return [
        name(obj),
        obj.get("value", 0),
        bool(obj.get("globalDefault")),
        age(obj, now),
        obj.get("preemptionPolicy", ""),
    ]


def _ingress(obj: Object, now: datetime.datetime) -> list[Any]:
    rules = at(obj, "spec.rules", ())
    hosts = [one["host"] for one in rules if one.get("host")]
    given = {one.get("ip") or one.get("hostname", "") for one in load_balancers(obj)}
    return [
        name(obj),
        at(obj, "spec.ingressClassName", NONE),
        more(hosts) if hosts else "*",
        ",".join(sorted(given)),
        "80, 443" if at(obj, "spec.tls") else "80",
        age(obj, now),
    ]


def _ingress_class(obj: Object, now: datetime.datetime) -> list[Any]:
    parameters = at(obj, "spec.parameters")
    text = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        text = f"{parameters.get('kind')}{group}/{parameters.get('name')}"
    annotations = obj["metadata"].get("annotations") or {}
    default = " (default)" if annotations.get(_DEFAULT_INGRESS) == "true" else ""
    return [name(obj) + default, at(obj, "spec.controller", ""), text, age(obj, now)]


def _slice(obj: Object, now: datetime.datetime) -> list[Any]:
    ports = [str(one.get("port") or one.get("name") or "*") for one in obj.get("ports") or ()]
    addresses = [
        address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()
    ]
    return [
        name(obj),
        obj.get("addressType", ""),
        more(ports) if ports else UNSET,
        more(addresses) if addresses else UNSET,
        age(obj, now),
    ]


def _claim_state(obj: Object) -> str:
    words = []
    if obj["metadata"].get("deletionTimestamp"):
        words.append("deleted")
    status = obj.get("status") or {}
    if not status.get("allocation"):
        return words[0] if words else "pending"
    words.append("allocated")
    if status.get("reservedFor"):
        words.append("reserved")
    return ",".join(words)


def _device_taint_rule(obj: Object, now: datetime.datetime) -> list[Any]:
    added = at(obj, "spec.taint.timeAdded")
    return [
        name(obj),
        *(at(obj, f"spec.taint.{field}", "") for field in ("key", "value", "effect")),
        since(added, now) if added else "",
        age(obj, now),
    ]


def _signing_request(obj: Object, now: datetime.datetime) -> list[Any]:
    seconds = at(obj, "spec.expirationSeconds")
    types = [one.get("type", "") for one in at(obj, "status.conditions", ())]
    words = [one for one in ("Approved", "Denied", "Failed") if one in types]
    state = ",".join(words) or "Pending"
    if at(obj, "status.certificate"):
        state += ",Issued"
    return [
        name(obj),
        age(obj, now),
        at(obj, "spec.signerName", NONE) or NONE,
        at(obj, "spec.username", ""),
        human_duration(seconds) if seconds is not None else NONE,
        state,
    ]


_BINDING = Printer(columns("Name, Role, Age; Users, Groups, ServiceAccounts"), _binding)
_AGED = Printer(columns("Name, Age"), aged)
_STORAGE, _RBAC, _RESOURCE = "storage.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io"
_NETWORKING = "networking.k8s.io"

PRINTERS = {
    f"{_STORAGE}/StorageClass": Printer(
        columns("Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age"),
        _storage_class,
        cells_of_list=_storage_classes,
    ),
    f"{_STORAGE}/CSINode": Printer(
        columns("Name, Drivers:integer, Age"),
        lambda obj, now: [name(obj), len(at(obj, "spec.drivers", ())), age(obj, now)],
    ),
    f"{_STORAGE}/CSIDriver": Printer(
        columns(
            "Name, AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean, "
            "TokenRequests, RequiresRepublish:boolean, Modes, Age"
        ),
        _driver,
    ),
    f"{_STORAGE}/VolumeAttachment": Printer(
        (NAME, TableColumn("Attacher", format="name"), *columns("PV, Node, Attached:boolean, Age")),
        _attachment,
    ),
    f"{_STORAGE}/VolumeAttributesClass": Printer(
        columns("Name, DriverName, Age"),
        lambda obj, now: [name(obj), obj.get("driverName", ""), age(obj, now)],
    ),
    f"{_RBAC}/RoleBinding": _BINDING,
    f"{_RBAC}/ClusterRoleBinding": _BINDING,
    "scheduling.k8s.io/PriorityClass": Printer(
        columns("Name, Value:integer, Global-Default:boolean, Age, PreemptionPolicy"),
        _priority_class,
    ),
    "coordination.k8s.io/Lease": Printer(
        columns("Name, Holder, Age"),
        lambda obj, now: [name(obj), at(obj, "spec.holderIdentity", ""), age(obj, now)],
    ),
    "node.k8s.io/RuntimeClass": Printer(
        columns("Name, Handler, Age"),
        lambda obj, now: [name(obj), obj.get("handler", ""), age(obj, now)],
    ),
    "discovery.k8s.io/EndpointSlice": Printer(
        columns("Name, AddressType, Ports, Endpoints, Age"), _slice
    ),
    f"{_NETWORKING}/Ingress": Printer(columns("Name, Class, Hosts, Address, Ports, Age"), _ingress),
    f"{_NETWORKING}/IngressClass": Printer(
        columns("Name, Controller, Parameters, Age"), _ingress_class
    ),
    f"{_NETWORKING}/NetworkPolicy": Printer(
        columns("Name, Pod-Selector, Age"),
        lambda obj, now: [name(obj), selector_text(at(obj, "spec.podSelector")), age(obj, now)],
    ),
    f"{_NETWORKING}/IPAddress": Printer(
        columns("Name, ParentRef"),
        lambda obj, now: [name(obj), _parent(obj), age(obj, now)],
    ),
    f"{_FLOWS}/PriorityLevelConfiguration": Printer(
        columns("Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age"),
        lambda obj, now: [
            name(obj),
            at(obj, "spec.type", ""),
            at(obj, "spec.limited.nominalConcurrencyShares", NONE),
            *(
                at(obj, f"spec.limited.limitResponse.queuing.{field}", NONE)
                for field in ("queues", "handSize", "queueLengthLimit")
            ),
            age(obj, now),
        ],
    ),
    f"{_NETWORKING}/ServiceCIDR": Printer(
        columns("Name, CIDRs, Age"),
        lambda obj, now: [name(obj), ",".join(at(obj, "spec.cidrs", ())), age(obj, now)],
    ),
    f"{_RESOURCE}/DeviceClass": _AGED,
    f"{_RESOURCE}/ResourceClaimTemplate": _AGED,
    f"{_RESOURCE}/ResourceClaim": Printer(
        columns("Name, State, Age"),
        lambda obj, now: [name(obj), _claim_state(obj), age(obj, now)],
    ),
    f"{_RESOURCE}/ResourceSlice": Printer(
        columns("Name, Node, Driver, Pool, Age"),
        lambda obj, now: [
            name(obj),
            at(obj, "spec.nodeName", ""),
            at(obj, "spec.driver", ""),
            at(obj, "spec.pool.name", ""),
            age(obj, now),
        ],
    ),
    f"{_RESOURCE}/DeviceTaintRule": Printer(
        columns("Name, Key, Value, Effect, TimeAdded, Age"), _device_taint_rule
    ),
    "certificates.k8s.io/CertificateSigningRequest": Printer(
        columns("Name, Age, SignerName, Requestor, RequestedDuration, Condition"),
        _signing_request,
    ),
}

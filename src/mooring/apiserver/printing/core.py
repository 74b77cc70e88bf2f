"""The printers of nodes, services, events and the other kinds of the core group."""

# kube-apiserver: pkg/printers/internalversion/printers.go

from __future__ import annotations

import datetime
import itertools
from typing import Any

from mooring.apiserver.printing.printer import (
    NONE,
    UNKNOWN,
    UNSET,
    Printer,
    TableColumn,
    age,
    at,
    columns,
    map_text,
    name,
    since,
)

#: How many items of a long list a cell shows.
_SHOWN = 3

Object = dict[str, Any]

_ROLE = "node-role.kubernetes.io/"
_OLD_ROLE = "kubernetes.io/role"
_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _node(obj: Object, now: datetime.datetime) -> list[Any]:
    words = []
    for one in at(obj, "status.conditions", ()):
        if one.get("type") == "Ready":
            words = ["Ready" if one.get("status") == "True" else "NotReady"]
    words = words or ["Unknown"]
    if at(obj, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    info = at(obj, "status.nodeInfo", {})
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name(obj),
        ",".join(words),
        _roles(obj),
        age(obj, now),
        info.get("kubeletVersion", ""),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _roles(obj: Object) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    roles.add(labels.get(_OLD_ROLE) or "")
    return ",".join(sorted(roles - {""})) or NONE


def _address(obj: Object, type: str) -> str:
    for one in at(obj, "status.addresses", ()):
        if one.get("type") == type:
            return str(one.get("address", ""))
    return NONE


def _service(obj: Object, now: datetime.datetime) -> list[Any]:
    ips = at(obj, "spec.clusterIPs", ())
    return [
        name(obj),
        at(obj, "spec.type", ""),
        ips[0] if ips else NONE,
        _external(obj),
        _ports(at(obj, "spec.ports", ())),
        age(obj, now),
        map_text(at(obj, "spec.selector")),
    ]


def _external(obj: Object) -> str:
    type, ips = at(obj, "spec.type"), at(obj, "spec.externalIPs", [])
    if type == "ExternalName":
        return str(at(obj, "spec.externalName", ""))
    if type == "LoadBalancer":
        given = {one.get("ip") or one.get("hostname", "") for one in load_balancers(obj)}
        return ",".join([*sorted(given), *ips]) or "<pending>"
    return ",".join(ips) or NONE


def load_balancers(obj: Object) -> list[Object]:
    """Return the entries of a load balancer's status."""
    found: list[Object] = at(obj, "status.loadBalancer.ingress", [])
    return found


def _ports(ports: list[Object]) -> str:
    texts = []
    for one in ports:
        node = f":{one['nodePort']}" if one.get("nodePort") else ""
        texts.append(f"{one.get('port')}{node}/{one.get('protocol')}")
    return ",".join(texts) or NONE


def _endpoints(obj: Object, now: datetime.datetime) -> list[Any]:
    found: list[str] = []
    count = 0
    for subset in obj.get("subsets") or ():
        addresses = [one.get("ip", "") for one in subset.get("addresses") or ()]
        ports = [f":{one.get('port')}" for one in subset.get("ports") or ()] or [""]
        # Count all pairs, but build only the few that are shown.
        count += len(addresses) * len(ports)
        pairs = (f"{address}{port}" for port in ports for address in addresses)
        found += itertools.islice(pairs, _SHOWN - len(found))
    return [name(obj), _more(found, count) if obj.get("subsets") else NONE, age(obj, now)]


def more(words: list[str], limit: int = _SHOWN) -> str:
    """Return the first words, and the number of the others."""
    return _more(words[:limit], len(words))


def _more(shown: list[str], count: int) -> str:
    text = ",".join(shown)
    return f"{text} + {count - len(shown)} more..." if count > len(shown) else text


def _event(obj: Object, now: datetime.datetime) -> list[Any]:
    first = since(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = since(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    count = obj.get("count") or 1
    if obj.get("series"):
        last = since(obj["series"].get("lastObservedTime"), now)
        count = obj["series"].get("count", 0)
    target = obj.get("involvedObject") or {}
    kind = str(target.get("kind", "")).lower()
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{target['name']}" if target.get("name") else kind,
        target.get("fieldPath", ""),
        f"{component}, {instance}" if instance else component,
        str(obj.get("message", "")).strip(),
        first,
        count,
        name(obj),
    ]


def _namespace(obj: Object, now: datetime.datetime) -> list[Any]:
    return [name(obj), at(obj, "status.phase", ""), age(obj, now)]


def _secret(obj: Object, now: datetime.datetime) -> list[Any]:
    return [name(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]


def _config_map(obj: Object, now: datetime.datetime) -> list[Any]:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [name(obj), count, age(obj, now)]


def aged(obj: Object, now: datetime.datetime) -> list[Any]:
    """Return the row of a kind that shows only name and age."""
    return [name(obj), age(obj, now)]


def _modes(modes: list[str] | None) -> str:
    unique = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in unique)


def _class(obj: Object) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    return str(annotations.get(_STORAGE_CLASS) or at(obj, "spec.storageClassName", ""))


def _phase(obj: Object) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(at(obj, "status.phase", ""))


def _volume(obj: Object, now: datetime.datetime) -> list[Any]:
    claim = at(obj, "spec.claimRef")
    return [
        name(obj),
        at(obj, "spec.capacity", {}).get("storage", "0"),
        _modes(at(obj, "spec.accessModes")),
        at(obj, "spec.persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(obj),
        at(obj, "spec.volumeAttributesClassName", UNSET),
        at(obj, "status.reason", ""),
        age(obj, now),
        at(obj, "spec.volumeMode", UNSET),
    ]


def _claim(obj: Object, now: datetime.datetime) -> list[Any]:
    bound = at(obj, "spec.volumeName", "")
    return [
        name(obj),
        _phase(obj),
        bound,
        at(obj, "status.capacity", {}).get("storage", "0") if bound else "",
        _modes(at(obj, "status.accessModes")) if bound else "",
        _class(obj),
        at(obj, "spec.volumeAttributesClassName", UNSET),
        age(obj, now),
        at(obj, "spec.volumeMode", UNSET),
    ]


def _quota(obj: Object, now: datetime.datetime) -> list[Any]:
    hard, used = at(obj, "status.hard", {}), at(obj, "status.used", {})
    texts: dict[bool, list[str]] = {True: [], False: []}
    for one in sorted(hard):
        texts[one.startswith("limits.")].append(f"{one}: {used.get(one, '0')}/{hard[one]}")
    return [name(obj), ", ".join(texts[False]), ", ".join(texts[True]), age(obj, now)]


_EVENT = (
    TableColumn("Last Seen"),
    TableColumn("Type"),
    TableColumn("Reason"),
    TableColumn("Object"),
    TableColumn("Subobject", priority=1),
    TableColumn("Source", priority=1),
    TableColumn("Message"),
    TableColumn("First Seen", priority=1),
    TableColumn("Count", priority=1),
    TableColumn("Name", priority=1, format="name"),
)

PRINTERS = {
    "/Node": Printer(
        columns(
            "Name, Status, Roles, Age, Version; "
            "Internal-IP, External-IP, OS-Image, Kernel-Version, Container-Runtime"
        ),
        _node,
    ),
    "/Service": Printer(
        columns("Name, Type, Cluster-IP, External-IP, Port(s), Age; Selector"), _service
    ),
    "/Endpoints": Printer(columns("Name, Endpoints, Age"), _endpoints),
    "/Event": Printer(_EVENT, _event),
    "events.k8s.io/Event": Printer(_EVENT, _event),
    "/Namespace": Printer(columns("Name, Status, Age"), _namespace),
    "/Secret": Printer(columns("Name, Type, Data, Age"), _secret),
    "/ConfigMap": Printer(columns("Name, Data, Age"), _config_map),
    "/ServiceAccount": Printer(columns("Name, Age"), aged),
    "/PersistentVolume": Printer(
        columns(
            "Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, "
            "VolumeAttributesClass, Reason, Age; VolumeMode"
        ),
        _volume,
    ),
    "/PersistentVolumeClaim": Printer(
        columns(
            "Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, "
            "Age; VolumeMode"
        ),
        _claim,
    ),
    "/ResourceQuota": Printer(columns("Name, Request, Limit, Age"), _quota),
}

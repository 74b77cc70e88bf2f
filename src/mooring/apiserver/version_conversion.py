"""Conversion of objects between API versions, and of Events between their two groups."""

# kube-apiserver: pkg/apis/events/v1/conversion.go

from __future__ import annotations

from typing import Any

from mooring.apiserver.resource_store import Stored, encode
from mooring.apiserver.resource_table import Served

Object = dict[str, Any]

_EVENTS_GROUP = "events.k8s.io"
#: Two versions of pod groups and workloads are equal; the beta version is stored.
_GROUP_ALPHA, _GROUP_BETA = "scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1beta1"
_STORED_BETA = ("PodGroup", "Workload")
_AUTOSCALER = "HorizontalPodAutoscaler"
_CORE_TO_NEW = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_NEW_TO_CORE = {new: core for core, new in _CORE_TO_NEW.items()}
#: The core group's names for fields in events.k8s.io field selectors.
FIELD_LABELS = {
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
}

_CORE_ALWAYS: Object = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def to_stored(served: Served, obj: Object) -> Object:
    """Return an object from a request in the stored version."""
    if served.kind == _AUTOSCALER and served.version == "v1":
        return _autoscaler_v2(obj)
    if served.group_version == _GROUP_ALPHA and served.kind in _STORED_BETA:
        return obj | {"apiVersion": _GROUP_BETA}
    if served.group != _EVENTS_GROUP or served.kind != "Event":
        return obj
    renamed = {_NEW_TO_CORE.get(key, key): value for key, value in obj.items()}
    return _CORE_ALWAYS | renamed | {"apiVersion": "v1"}


def to_served(served: Served, obj: Object) -> Object:
    """Return a stored object in the version of `served`; the argument is not changed."""
    if obj.get("apiVersion") == served.group_version:
        return obj
    if served.group == _EVENTS_GROUP:
        renamed = {
            _CORE_TO_NEW.get(key, key): value
            for key, value in obj.items()
            if not (key in _CORE_ALWAYS and key != "eventTime" and not value)
        }
        shown = {"eventTime": None} | renamed | {"apiVersion": served.group_version}
        shown.setdefault("regarding", {})
        shown.setdefault("deprecatedSource", {})
        shown.setdefault("deprecatedFirstTimestamp", None)
        shown.setdefault("deprecatedLastTimestamp", None)
        return shown
    if served.kind == _AUTOSCALER and served.version == "v1":
        return _autoscaler_v1(obj)
    return obj | {"apiVersion": served.group_version, "kind": served.kind}


def _autoscaler_v2(obj: Object) -> Object:
    """Convert an autoscaler from v1 to v2."""
    # kube-apiserver: pkg/apis/autoscaling/v1/conversion.go
    spec = dict(obj.get("spec") or {})
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    status = dict(obj.get("status") or {})
    status.pop("currentCPUUtilizationPercentage", None)
    status = {"currentMetrics": None, "desiredReplicas": 0} | status
    return obj | {"apiVersion": "autoscaling/v2", "spec": spec, "status": status}


def _autoscaler_v1(obj: Object) -> Object:
    """Convert an autoscaler from v2 to v1."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    for one in spec.pop("metrics", None) or ():
        resource = one.get("resource") or {}
        percent = (resource.get("target") or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and percent is not None:
            spec["targetCPUUtilizationPercentage"] = percent
    spec.pop("behavior", None)
    for one in status.pop("currentMetrics", None) or ():
        resource = one.get("resource") or {}
        percent = (resource.get("current") or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and percent is not None:
            status["currentCPUUtilizationPercentage"] = percent
    status.pop("conditions", None)
    shown = {"currentReplicas": 0, "desiredReplicas": 0} | status
    return obj | {"apiVersion": "autoscaling/v1", "spec": spec, "status": shown}


def data_of(served: Served, stored: Stored) -> bytes:
    """Return a stored object as JSON in the version of `served`."""
    if stored.api_version == served.group_version:
        return stored.data
    if stored.views is None:
        stored.views = {}
    found = stored.views.get(served.group_version)
    if found is None:
        shown = to_served(served, stored.object)
        head = {"kind": served.kind, "apiVersion": served.group_version}
        found = stored.views[served.group_version] = encode(head | shown)
    return found

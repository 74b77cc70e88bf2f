"""The downward API: the fields of its pod that a container can read."""

# kubernetes: pkg/kubelet/kubelet_pods.go (podFieldSelectorRuntimeValue), pkg/fieldpath/fieldpath.go

from __future__ import annotations

import math
import re
from typing import Any

from mooring.api import milli_value
from mooring.api.go_format import go_quote

Object = dict[str, Any]

_SUBSCRIPT = re.compile(r"(metadata\.(?:annotations|labels))\['(.*)'\]")
_RESOURCE = re.compile(r"(requests|limits)\.(.+)")


class PodFieldError(Exception):
    """A pod field that does not exist."""


def field_value(pod: Object, path: str) -> str:
    """Return a field of a pod as text; raise PodFieldError if there is no such field."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    if found := _SUBSCRIPT.fullmatch(path):
        return str((metadata.get(found[1].partition(".")[2]) or {}).get(found[2], ""))
    known: Object = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "metadata.labels": _lines(metadata.get("labels")),
        "metadata.annotations": _lines(metadata.get("annotations")),
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.hostIP": status.get("hostIP", ""),
        "status.hostIPs": ",".join(one["ip"] for one in status.get("hostIPs") or ()),
        "status.podIP": status.get("podIP", ""),
        "status.podIPs": ",".join(one["ip"] for one in status.get("podIPs") or ()),
    }
    if path not in known:
        raise PodFieldError(f"unsupported fieldPath: {path}")
    return str(known[path])


def resource_value(pod: Object, reference: Object, container: str) -> str:
    """Return a container's request or limit, in units of the divisor, rounded up."""
    # kubernetes: pkg/api/v1/resource/helpers.go, convertResourceCPUToString and its siblings
    name = reference.get("containerName") or container
    found = _RESOURCE.fullmatch(reference["resource"])
    for one in pod["spec"]["containers"]:
        if one["name"] == name and found is not None:
            amount = ((one.get("resources") or {}).get(found[1]) or {}).get(found[2], "0")
            divisor = milli_value(str(reference.get("divisor") or "1")) or 1000
            return str(math.ceil(milli_value(str(amount)) / divisor))
    raise PodFieldError(f"container {name} not found")


def _lines(values: dict[str, str] | None) -> str:
    return "\n".join(f"{key}={go_quote(value)}" for key, value in sorted((values or {}).items()))

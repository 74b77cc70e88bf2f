"""Pod conditions, and the Status of a successful request."""

from __future__ import annotations

from typing import Any

from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]


def success(code: int = 0) -> Object:
    """Return the Status of a successful request."""
    result: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return result | {"code": code} if code else result


def set_condition(cluster: ServerState, status: Object, condition: Object) -> None:
    """Set a pod's condition; its lastTransitionTime changes only if its status does."""
    # kube-apiserver: pkg/api/pod/util.go, UpdatePodCondition
    fresh = {"lastProbeTime": None, "lastTransitionTime": cluster.timestamp(), **condition}
    conditions = status.setdefault("conditions", [])
    for i, one in enumerate(conditions):
        if one.get("type") == condition["type"]:
            if one.get("status") == condition["status"]:
                fresh["lastTransitionTime"] = one.get("lastTransitionTime")
            conditions[i] = fresh
            return
    conditions.append(fresh)

"""What writes of a CertificateSigningRequest's parts can change: its approval and its status."""

# kube-apiserver: pkg/registry/certificates/certificates/strategy.go

from __future__ import annotations

from typing import Any

from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]


def prepare_part(cluster: ServerState, request: Object, old: Object, subresource: str) -> None:
    """Restore what a write of the subresource must not change, and date the conditions."""
    before = old.get("status") or {}
    status = request["status"] = dict(request.get("status") or {})
    if subresource == "approval":
        conditions = status.get("conditions")
        status = request["status"] = dict(before)
        status.pop("conditions", None)
        if conditions:
            status["conditions"] = conditions
    else:
        for type in ("Approved", "Denied"):
            _preserve(status, before, type)
    _date(cluster, status, before)


def _preserve(status: Object, before: Object, type: str) -> None:
    """Restore the conditions of a type, unless one was added or removed, which is refused."""
    conditions = status.get("conditions") or []
    old = [one for one in before.get("conditions") or () if one.get("type") == type]
    places = [i for i, one in enumerate(conditions) if one.get("type") == type]
    if len(old) == len(places):
        for i, one in zip(places, old, strict=True):
            conditions[i] = one


def _date(cluster: ServerState, status: Object, before: Object) -> None:
    now = cluster.timestamp()
    since = {
        (one.get("type"), one.get("status")): one.get("lastTransitionTime")
        for one in reversed(before.get("conditions") or [])
    }
    for condition in status.get("conditions") or ():
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            kept = since.get((condition.get("type"), condition.get("status")))
            condition["lastTransitionTime"] = kept or now

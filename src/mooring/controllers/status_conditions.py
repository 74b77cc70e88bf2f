"""Conditions of workloads, as plain dicts."""

from __future__ import annotations

from mooring.controllers.writer import Object


def find(status: Object, type: str) -> Object | None:
    """Return the condition of a type, or None."""
    for condition in status.get("conditions") or ():
        if condition["type"] == type:
            found: Object = condition
            return found
    return None


def make(type: str, status: str, reason: str, message: str, when: str) -> Object:
    """Return a condition whose last transition is at `when`."""
    return {
        "type": type,
        "status": status,
        "lastTransitionTime": when,
        "reason": reason,
        "message": message,
    }


def put(status: Object, condition: Object) -> None:
    """Set a condition, in place; one with the same status and reason stays unchanged."""
    known = find(status, condition["type"])
    if known is not None:
        if (known["status"], known.get("reason")) == (condition["status"], condition["reason"]):
            return
        if known["status"] == condition["status"]:
            condition = {**condition, "lastTransitionTime": known.get("lastTransitionTime")}
    remove(status, condition["type"])
    status["conditions"] = [*(status.get("conditions") or ()), condition]


def remove(status: Object, type: str) -> None:
    """Remove a condition, in place."""
    kept = [one for one in status.get("conditions") or () if one["type"] != type]
    if kept:
        status["conditions"] = kept
    else:
        status.pop("conditions", None)

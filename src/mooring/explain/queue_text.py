"""Where a pending pod is in the queue, as a sentence."""

from __future__ import annotations

from datetime import datetime

from mooring.queue.queue_places import QueuePlace, Whereabouts

_DAY = 86400.0
_UNITS = ((_DAY, "d"), (3600.0, "h"), (60.0, "min"))


def queue_text(place: QueuePlace, now: float) -> str:
    """Return where a pod is and what it waits for."""
    text = _place_text(place, now)
    if not place.pod_group:
        return text
    above = "" if place.place is Whereabouts.WITHOUT_GROUP else place.composite_pod_group
    of = f" of composite pod group {above}" if above else ""
    return f"{text} (pod group {place.pod_group}{of})"


def _place_text(place: QueuePlace, now: float) -> str:
    by = ", ".join(place.plugins)
    until = "" if place.until is None else f" until {moment_text(place.until, now)}"
    if place.place is Whereabouts.GATED:
        return f"gated by {by}"
    if place.place is Whereabouts.ACTIVE:
        return "active" if place.position is None else f"active, position {place.position}"
    if place.place is Whereabouts.BACKING_OFF:
        return f"backing off{until}"
    if place.place is Whereabouts.WAITING_AT_PERMIT:
        return f"waiting at Permit for {by}{until}"
    if place.place is Whereabouts.WITHOUT_GROUP:
        if not place.composite_pod_group:
            return "waiting for its pod group to exist"
        # The parent that a group names does not exist, or the parents form a cycle.
        above = place.composite_pod_group
        return f"waiting for composite pod group {above}, which is missing or above itself"
    if place.place is Whereabouts.IN_FLIGHT:
        return "in flight"
    since = "" if place.since is None else f" for {duration_text(now - place.since)}"
    again = ", ".join(place.events)
    latest = "" if place.latest is None else f", at the latest {moment_text(place.latest, now)}"
    return f"unschedulable{since}; tried again on {again}{latest}"


def duration_text(seconds: float) -> str:
    """Return a duration in the unit that reads best.

    >>> duration_text(12.3), duration_text(119), duration_text(121), duration_text(86400 * 3)
    ('12 s', '119 s', '2 min', '3 d')
    """
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def moment_text(moment: float, now: float) -> str:
    """Return a time of day in local time, with the date if it is a day away."""
    form = "%H:%M:%S" if abs(moment - now) < _DAY else "%Y-%m-%d %H:%M:%S"
    return datetime.fromtimestamp(moment).strftime(form)

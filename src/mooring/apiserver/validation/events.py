"""Events in the form of the core group, in which those of events.k8s.io are checked too."""

# kubernetes: pkg/apis/core/validation/events.go

from __future__ import annotations

from mooring.api.field_errors import FieldError, each, invalid, required
from mooring.apiserver.validation.field_problems import Object, immutable
from mooring.apiserver.validation.formats import label_key_problems

_ELSEWHERE = "does not match event.namespace"
_LIMIT, _MESSAGE_LIMIT = 128, 1024
_FIXED = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count"),
    *("reason", "type", "eventTime", "action", "related"),
)


def check_event(event: Object) -> list[FieldError]:
    """Check an event of the core group."""
    return _check(event, "reportingComponent")


def _check(event: Object, controller: str) -> list[FieldError]:
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    where = "involvedObject.namespace"
    if not event.get("eventTime"):
        agrees = about == namespace if about else namespace in ("", "default")
        return [] if agrees else [invalid(where, about, _ELSEWHERE)]
    problems: list[FieldError] = []
    if not about and namespace not in ("default", "kube-system"):
        problems.append(invalid(where, about, _ELSEWHERE))
    reporter = event.get("reportingComponent") or ""
    if not reporter:
        problems.append(required(controller))
    problems += each(controller, reporter, label_key_problems(reporter))
    for field in ("reportingInstance", "action", "reason"):
        text = event.get(field) or ""
        if not text:
            problems.append(required(field))
        elif len(text) > _LIMIT:
            problems.append(invalid(field, "", f"can have at most {_LIMIT} characters"))
    if len(event.get("message") or "") > _MESSAGE_LIMIT:
        problems.append(invalid("message", "", f"can have at most {_MESSAGE_LIMIT} characters"))
    return problems


def check_new_event(event: Object) -> list[FieldError]:
    """Check an event that was created through events.k8s.io."""
    problems = _check(event, "reportingController") + _series(event)
    if not event.get("eventTime"):
        problems.append(required("eventTime"))
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        problems.append(invalid("type", "", f"has invalid value: {kind}"))
    return problems + [
        invalid(field, "", "needs to be unset")
        for field in ("firstTimestamp", "lastTimestamp", "count", "source")
        if event.get(field)
    ]


def _series(event: Object) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    problems: list[FieldError] = []
    if (series.get("count") or 0) < 2:
        problems.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        problems.append(required("series.lastObservedTime"))
    return problems


def check_new_event_update(event: Object, old: Object) -> list[FieldError]:
    """Check an update through events.k8s.io: only the series of an event may change."""
    problems = _check(event, "reportingController")
    if event.get("series") != old.get("series"):
        problems += _series(event)
    for field in _FIXED:
        problems += immutable(field, event.get(field), old.get(field))
    for field, shown in (
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ):
        problems += immutable(shown, event.get(field), old.get(field))
    return problems

"""The pods of a Job: when they ended, and the template of an indexed one."""

from __future__ import annotations

from mooring.api import Pod, parse_time
from mooring.controllers.job_status import INDEX
from mooring.controllers.writer import Object


def ended_at(pod: Pod) -> float:
    """Return when the last container of a pod ended, or when the pod was created if none has."""
    times = [
        (status.state.get("terminated") or {}).get("finishedAt")
        for status in pod.status.container_statuses
    ]
    known = [parse_time(text) for text in times if text]
    return max(known, default=parse_time(pod.metadata.creation_timestamp or "1970-01-01T00:00:00Z"))


def numbered(template: Object, job: str, number: int) -> Object:
    """Return the template for one completion index, which its containers get in a variable."""
    metadata = template.get("metadata") or {}
    spec = dict(template["spec"])
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [{**one, "env": [*one.get("env", ()), variable]} for one in spec[field]]
    spec.setdefault("hostname", f"{job}-{number}"[:63].rstrip("-"))
    marks = {INDEX: str(number)}
    changed = {
        **metadata,
        "annotations": {**metadata.get("annotations", {}), **marks},
        "labels": {**metadata.get("labels", {}), **marks},
    }
    return {"metadata": changed, "spec": spec}

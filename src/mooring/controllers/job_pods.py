"""The pods of a Job: when they ended, and how a numbered one is made."""

from __future__ import annotations

from mooring.api import Pod, parse_time
from mooring.controllers.job_status import INDEX
from mooring.controllers.writer import Object


def ended_at(pod: Pod) -> float:
    """Return when the last container of a pod ended; when it was made, where none has."""
    times = [
        (status.state.get("terminated") or {}).get("finishedAt")
        for status in pod.status.container_statuses
    ]
    known = [parse_time(text) for text in times if text]
    return max(known, default=parse_time(pod.metadata.creation_timestamp or "1970-01-01T00:00:00Z"))


def numbered(template: Object, job: str, number: int) -> Object:
    """Return a template for one completion, which its containers can read off the environment."""
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

from __future__ import annotations

from typing import Any

from mooring.api import Pod, parse_time
from mooring.api.kinds import decode_as
from mooring.controllers.job_pods import ended_at, numbered

INDEX = "batch.kubernetes.io/job-completion-index"


def _pod(*states: dict[str, Any], **metadata: Any) -> Pod:
    statuses = [{"name": f"c{i}", "state": state} for i, state in enumerate(states)]
    return decode_as({"metadata": metadata, "status": {"containerStatuses": statuses}}, Pod)


def test_a_pod_ends_with_its_last_container() -> None:
    first, last = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"
    pod = _pod(
        {"terminated": {"finishedAt": last}}, {"terminated": {"finishedAt": first}}, {"running": {}}
    )
    assert ended_at(pod) == parse_time(last)
    assert ended_at(_pod(creationTimestamp=first)) == parse_time(first)
    assert ended_at(_pod()) == 0.0


def test_a_pod_knows_its_index() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "containers": [{"name": "c", "env": [{"name": "X", "value": "1"}]}],
            "initContainers": [{"name": "i"}],
        },
    }
    found = numbered(template, "work", 3)
    assert found["metadata"]["labels"] == {"a": "b", INDEX: "3"}
    assert found["metadata"]["annotations"] == {INDEX: "3"}
    spec = found["spec"]
    assert spec["hostname"] == "work-3"
    names = [[one["name"] for one in container["env"]] for container in spec["containers"]]
    assert names == [["X", "JOB_COMPLETION_INDEX"]]
    (variable,) = spec["initContainers"][0]["env"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
    assert "env" not in template["spec"]["initContainers"][0]


def test_a_host_name_is_short_enough_and_may_be_given() -> None:
    spec: dict[str, Any] = {"containers": []}
    assert numbered({"spec": spec}, "j" * 62, 3)["spec"]["hostname"] == "j" * 62
    assert numbered({"spec": spec | {"hostname": "h"}}, "j", 3)["spec"]["hostname"] == "h"

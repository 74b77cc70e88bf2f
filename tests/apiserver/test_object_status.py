from __future__ import annotations

import datetime

from mooring.apiserver.object_status import set_condition, success
from tests.apiserver.api_server import ApiServer


def test_success() -> None:
    plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    assert success() == plain
    assert success(201) == plain | {"code": 201}


def test_a_new_condition_begins_now() -> None:
    status: dict[str, object] = {}
    set_condition(ApiServer().cluster, status, {"type": "Ready", "status": "True"})
    assert status["conditions"] == [
        {
            "type": "Ready",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]


def test_the_time_of_a_condition_changes_with_its_status_alone() -> None:
    server = ApiServer()
    status: dict[str, list[dict[str, str]]] = {}
    set_condition(server.cluster, status, {"type": "Other", "status": "True"})
    set_condition(server.cluster, status, {"type": "Ready", "status": "False", "reason": "a"})
    server.now += datetime.timedelta(seconds=5)
    set_condition(server.cluster, status, {"type": "Ready", "status": "False", "reason": "b"})
    other, ready = status["conditions"]
    assert (ready["reason"], ready["lastTransitionTime"]) == ("b", "2026-01-01T00:00:00Z")
    set_condition(server.cluster, status, {"type": "Ready", "status": "True"})
    other, ready = status["conditions"]
    assert ready["lastTransitionTime"] == "2026-01-01T00:00:05Z"
    assert "reason" not in ready
    assert other["lastTransitionTime"] == "2026-01-01T00:00:00Z"

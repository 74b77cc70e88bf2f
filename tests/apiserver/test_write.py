from __future__ import annotations

import pytest

from mooring.apiserver.bodies import WriteOptions
from mooring.apiserver.http import ApiRequest
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.write import Write
from tests.apiserver.api_server import ApiServer


def _write(manager: str = "", agent: str | None = "kubectl/v1.36 (linux)", part: str = "") -> Write:
    cluster = ApiServer().cluster
    headers = {} if agent is None else {"user-agent": agent}
    pods = cluster.catalogue.get("", "v1", "pods")
    assert pods is not None
    info = RequestInfo("update", "/", "", "v1", "pods", part)
    request = ApiRequest("PUT", "/", {}, headers)
    return Write(cluster, request, info, pods, WriteOptions(manager=manager))


def test_the_subresource_is_that_of_the_path() -> None:
    assert _write().subresource == ""
    assert _write(part="status").subresource == "status"


@pytest.mark.parametrize(
    ("manager", "agent", "expected"),
    [
        ("mine", "kubectl/v1.36", "mine"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", None, ""),
    ],
    ids=["the option", "the agent", "neither"],
)
def test_the_manager_of_fields(manager: str, agent: str | None, expected: str) -> None:
    assert _write(manager, agent).manager == expected

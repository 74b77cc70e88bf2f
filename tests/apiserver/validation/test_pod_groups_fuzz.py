"""The local API server answers requests about pod groups as a real one does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.api_server import GROUP_GATES, GROUP_VERSIONS, ApiServer
from tests.apiserver.real_server import RealServer
from tests.apiserver.validation.group_requests import GroupRequest, sequences
from tests.support.control_plane import ADMISSION_OFF, ControlPlane
from tests.support.real_parts import locate

#: So many objects, each with up to four requests, for each set of gates.
COUNT = 250
CLAIMS = "DRAWorkloadResourceClaims"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
#: What differs between any two servers.
TIMES = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "time", "lastTransitionTime", "managedFields"}
)
#: Names of Go types, the whole object in messages about patches, and values in Go's syntax.
GO_TYPE = re.compile(r"(Go struct field )\w+\.(\S+ )of type \S+|cannot convert \w+ to \S+")
GO_PATCH = re.compile(r'Invalid value: ".*"(?=: )')
GO_VALUE = re.compile(r"(Invalid|Duplicate) value: [{\[].*[}\]](?=: |$)")


def _same_time(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _same_time(one) for key, one in value.items() if key not in TIMES}
    return [_same_time(one) for one in value] if isinstance(value, list) else value


def _text(cause: dict[str, Any]) -> tuple[str, str, str]:
    text = str(cause["message"]).split("\n")[0]
    text = GO_TYPE.sub(r"\1\2", GO_VALUE.sub(r"\1 value", text))
    if cause["field"] == "patch":
        # Which of several wrong values is named depends on the order of the fields.
        text = "Invalid value: json" if "unmarshal" in text else GO_PATCH.sub("Invalid value", text)
    return str(cause["reason"]), str(cause["field"]), text


def _seen(code: int, body: Any) -> Any:
    """Return what a client sees in an answer, except what differs between any two servers."""
    if body.get("kind") != "Status":
        return code, _same_time(body)
    causes = (body.get("details") or {}).get("causes")
    if causes:
        return code, sorted(map(_text, causes))
    # The local server reports a client's mistakes as 400 where kube-apiserver reports 500.
    return (400 if code == 500 else code), GO_TYPE.sub(r"\1\2", body.get("message", ""))


@pytest.fixture(
    scope="module",
    params=[GROUP_GATES, frozenset({"GenericWorkload", CLAIMS})],
    ids=["the gates of a local cluster", "pod groups and their claims only"],
)
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ApiServer, RealServer]]:
    """Yield a local server and a real one, with the same gates."""
    gates = ",".join(f"{gate}=true" for gate in sorted(request.param))
    versions = ",".join(f"{version}=true" for version in GROUP_VERSIONS)
    flags = (f"--feature-gates={gates}", f"--runtime-config={versions}")
    folder: Path = tmp_path_factory.mktemp("groups")
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"), flags=flags)
    local = ApiServer(features=request.param)
    local.cluster.disabled = frozenset(ADMISSION_OFF)
    plane.start()
    real = RealServer(plane)
    yield local, real
    real.close()
    plane.stop()


@pytest.mark.parametrize("seed", [1, 2])
async def test_answers(servers: tuple[ApiServer, RealServer], seed: int) -> None:
    local, real = servers
    low = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}
    low["metadata"] = {"name": "low"}
    await local.send("POST", CLASSES, low)
    real.ask("POST", CLASSES, low)
    codes = set()
    for number, requests in enumerate(sequences(seed, COUNT)):
        for one in requests:
            request = _renamed(one, f"s{seed}-{number}")
            theirs = _seen(*_real(real, request))
            ours = _seen(*await _local(local, request))
            assert ours == theirs, f"{request.method} {request.path} {json.dumps(request.body)}"
            codes.add(theirs[0])
    assert {200, 201, 422} <= codes


def _renamed(request: GroupRequest, name: str) -> GroupRequest:
    """Return the request for an object of another name."""
    text = json.dumps([request.path, request.body])
    path, body = json.loads(re.sub(r'\bo\d+(?=["/])', name, text))
    return GroupRequest(request.method, path, body, request.content_type)


def _real(server: RealServer, request: GroupRequest) -> tuple[int, Any]:
    body = request.body
    if request.method == "PUT":
        body = _versioned(request, server.ask("GET", request.path).body)
    answer = server.ask(request.method, request.path, body, content_type=request.content_type)
    return answer.code, answer.body


async def _local(server: ApiServer, request: GroupRequest) -> tuple[int, Any]:
    body = request.body
    if request.method == "PUT":
        body = _versioned(request, await server.ask("GET", request.path))
    response = await server.send(
        request.method, request.path, body, content_type=request.content_type
    )
    return response.code, json.loads(response.body)


def _versioned(request: GroupRequest, there: dict[str, Any]) -> dict[str, Any]:
    body = request.body or {}
    version = there["metadata"].get("resourceVersion", "1")
    metadata = body["metadata"] | {"resourceVersion": version}
    return {**body, "metadata": metadata}

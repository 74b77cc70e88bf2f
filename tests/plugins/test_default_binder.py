from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mooring.errors import ApiError, NoAnswerError
from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.observe.clock import VirtualClock
from mooring.plugins.default_binder import DefaultBinder
from tests.plugins.cluster import make_pod

CONFLICT = ApiError(409, "pod p is already assigned", reason="Conflict")


class RecordingClient:
    def __init__(self, error: ApiError | None = None) -> None:
        self.bound: list[tuple[str, str]] = []
        self._error = error

    async def bind(self, pod, node_name: str) -> None:
        if self._error is not None:
            raise self._error
        self.bound.append((pod.metadata.name, node_name))

    async def get(self, kind, name: str, namespace: str):
        return make_pod(name, "another")


def handle(client: RecordingClient, release: str = "1.37") -> Any:
    features = FeatureGates(None, parse_versions([release]))
    return SimpleNamespace(client=client, clock=VirtualClock(), features=features)


async def test_a_pod_is_bound_through_the_client() -> None:
    client = RecordingClient()
    plugin = DefaultBinder(None, handle(client))
    assert await plugin.bind(CycleState(), make_pod("p"), "node") is None
    assert client.bound == [("p", "node")]


async def test_a_refusal_of_the_server_is_an_error() -> None:
    client = RecordingClient(CONFLICT)
    plugin = DefaultBinder(None, handle(client))
    status = await plugin.bind(CycleState(), make_pod("p"), "node")
    assert status == Status.error("pod p is already assigned")


async def test_it_is_said_once_that_another_scheduler_binds_the_pods(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plugin = DefaultBinder(
        None,
        SimpleNamespace(
            client=RecordingClient(CONFLICT), clock=VirtualClock(), features=FeatureGates()
        ),
    )
    for name in ("p", "q"):
        await plugin.bind(CycleState(), make_pod(name), "node")
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.message.startswith("Two schedulers serve one schedulerName: ")
    assert "give one another schedulerName and another lease" in record.message
    assert (record.kv["pod"].metadata.name, record.kv["node"]) == ("p", "another")


class VanishingClient(RecordingClient):
    """A client that fails after applying a bind, and fails the first reads."""

    def __init__(self, error: ApiError, reads: list[ApiError | str]) -> None:
        super().__init__()
        self._failure = error
        self._reads = reads

    async def bind(self, pod, node_name: str) -> None:
        if self.bound:
            raise CONFLICT
        await super().bind(pod, node_name)
        raise self._failure

    async def get(self, kind, name: str, namespace: str):
        answer = self._reads.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return make_pod(name, answer)


CUT = NoAnswerError("the connection was cut within the answer", sent=True)
REFUSED = NoAnswerError("connection refused", sent=False)


@pytest.mark.parametrize(
    ("failure", "reads", "expected"),
    [
        pytest.param(CUT, ["node"], None, id="an answer that was lost is found by reading"),
        pytest.param(
            ApiError(500, "etcdserver: request timed out"),
            [REFUSED, ApiError(503, ""), ApiError(429, ""), "node"],
            None,
            id="reading goes on until the server answers",
        ),
        pytest.param(
            CUT, [REFUSED, ""], Status.error(CUT.message), id="a bind that was not carried out"
        ),
        pytest.param(
            CUT, ["other"], Status.error(CUT.message), id="a pod that is on another node by then"
        ),
        pytest.param(
            CUT, [ApiError(404, "")], Status.error(CUT.message), id="a pod that is gone by then"
        ),
        pytest.param(
            CUT,
            [REFUSED, ApiError(403, ""), ApiError(401, ""), "node"],
            None,
            id="a server that has just started and knows nobody's rights",
        ),
        pytest.param(
            CUT,
            [REFUSED] * 12 + [ApiError(403, ""), "node"],
            None,
            id="a server that was gone for minutes and has just started",
        ),
        pytest.param(
            CUT, [ApiError(403, "")] * 9, Status.error(CUT.message), id="a pod that may not be read"
        ),
        pytest.param(
            CONFLICT,
            [ApiError(403, "")],
            Status.error(CONFLICT.message),
            id="a conflict whose pod may not be read",
        ),
    ],
)
async def test_an_unsettled_bind_is_settled_by_reading(failure, reads, expected) -> None:
    client = VanishingClient(failure, reads)
    plugin = DefaultBinder(None, handle(client))
    assert await plugin.bind(CycleState(), make_pod("p"), "node") == expected
    assert not reads
    assert len(client.bound) == 1


class FailingClient(RecordingClient):
    """A client whose first binds fail."""

    def __init__(self, *failures: ApiError) -> None:
        super().__init__()
        self._failures = list(failures)
        self.asked = 0

    async def bind(self, pod, node_name: str) -> None:
        self.asked += 1
        if self._failures:
            raise self._failures.pop(0)
        await super().bind(pod, node_name)

    async def get(self, kind, name: str, namespace: str = ""):
        """Return the pod, which has no node: the failed binds were not applied."""
        return make_pod(name)


UNAVAILABLE = ApiError(503, "the server is starting")
FORBIDDEN = ApiError(403, "not allowed")


@pytest.mark.parametrize(
    ("failures", "release", "asked", "expected"),
    [
        pytest.param([UNAVAILABLE] * 3, "1.37", 4, None, id="the fourth attempt succeeds"),
        pytest.param([REFUSED, ApiError(500, "")], "1.37", 3, None, id="other passing failures"),
        pytest.param(
            [UNAVAILABLE] * 4, "1.37", 4, Status.error("the server is starting"), id="four failures"
        ),
        pytest.param([FORBIDDEN], "1.37", 1, Status.error("not allowed"), id="a refusal"),
        pytest.param(
            [UNAVAILABLE], "1.36", 1, Status.error("the server is starting"), id="not in 1.36"
        ),
    ],
)
async def test_a_bind_is_sent_again(
    failures: list[ApiError], release: str, asked: int, expected: Status | None
) -> None:
    client = FailingClient(*failures)
    plugin = DefaultBinder(None, handle(client, release))
    status = await plugin.bind(CycleState(), make_pod("p"), "node")
    assert (status, client.asked) == (expected, asked)

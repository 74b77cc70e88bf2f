from __future__ import annotations

from types import SimpleNamespace

from mooring.errors import ApiError
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.default_binder import DefaultBinder
from tests.plugins.cluster import make_pod


class RecordingClient:
    def __init__(self, error: ApiError | None = None) -> None:
        self.bound: list[tuple[str, str]] = []
        self._error = error

    async def bind(self, pod, node_name: str) -> None:
        if self._error is not None:
            raise self._error
        self.bound.append((pod.metadata.name, node_name))


async def test_a_pod_is_bound_through_the_client() -> None:
    client = RecordingClient()
    plugin = DefaultBinder(None, SimpleNamespace(client=client))
    assert await plugin.bind(CycleState(), make_pod("p"), "node") is None
    assert client.bound == [("p", "node")]


async def test_a_refusal_of_the_server_is_an_error() -> None:
    client = RecordingClient(ApiError(409, "pod p is already assigned", reason="Conflict"))
    plugin = DefaultBinder(None, SimpleNamespace(client=client))
    status = await plugin.bind(CycleState(), make_pod("p"), "node")
    assert status == Status.error("pod p is already assigned")

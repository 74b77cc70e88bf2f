"""The transport of a process without a cluster."""

from __future__ import annotations

import pytest

from mooring.api import Pod
from mooring.client.client import Client
from mooring.client.no_server import NoServer
from mooring.client.transport import Request
from mooring.errors import NoAnswerError
from mooring.testing import make_pod


async def test_every_request_fails_at_once() -> None:
    client = Client(NoServer())
    with pytest.raises(NoAnswerError, match="there is no cluster: give --kubeconfig"):
        await client.get(Pod, "web", "default")
    with pytest.raises(NoAnswerError, match="there is no cluster") as found:
        await client.bind(make_pod("web"), "node")
    assert not found.value.maybe_applied
    with pytest.raises(NoAnswerError, match="there is no cluster"):
        NoServer().stream(Request("GET", "/"))
    assert NoServer().refusal_hint() == ""
    await client.close()

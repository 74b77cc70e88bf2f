"""A server over loopback, and what it shows."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import aiohttp

from mooring.api import Pod
from mooring.serve.endpoints import Sources
from mooring.serve.explain_paths import ExplainPaths
from mooring.serve.health import Health
from mooring.testing import make_pod
from tests.serve.explaining import FakeScheduler
from tests.support.certificates import Authority


class World:
    """The state that the endpoints show or change."""

    def __init__(self) -> None:
        self.health = Health()
        self.leads = True
        self.pods: list[Pod] = [make_pod("a", cpu="1")]
        self.verbosity = 0
        self.broken = False
        self.scheduler = FakeScheduler()

    def metrics(self) -> bytes:
        if self.broken:
            raise RuntimeError("a bug")
        return b"metric 1\n"

    def set_verbosity(self, v: int) -> None:
        self.verbosity = v

    def sources(self, **changes: Any) -> Sources:
        values: dict[str, Any] = {
            "health": self.health,
            "metrics": self.metrics,
            "pods": lambda: self.pods,
            "is_leader": lambda: self.leads,
            "config": {"kind": "KubeSchedulerConfiguration", "parallelism": 5},
            "flags": {"v": "2"},
            "version": "1.37.1",
            "emulation": "1.37",
            "set_verbosity": self.set_verbosity,
            "explain": ExplainPaths(self.scheduler),
        }
        return Sources(**{**values, **changes})


class Site:
    """A running server, and a client for it."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def ask(
        self,
        path: str,
        *,
        token: str = "",
        method: str = "GET",
        data: str = "",
        context: ssl.SSLContext | None = None,
        **headers: str,
    ) -> tuple[int, str, Any]:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method,
                self.url + path,
                data=data or None,
                headers=headers,
                ssl=context or False,
            ) as response,
        ):
            return response.status, await response.text(), response.headers


def certified(authority: Authority, user: str, *groups: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    pair = authority.client(user, groups)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])

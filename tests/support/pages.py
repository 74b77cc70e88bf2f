"""The page of `mooring ui` about a local cluster, in the process of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from mooring.client.kubeconfig import load_kubeconfig
from mooring.config import default_config
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.insight.following import following, reading_client
from mooring.insight.page_access import LOOPBACK, PageAccess
from mooring.insight.page_data import PageData
from mooring.insight.page_files import load_page
from mooring.insight.page_past import PagePast
from mooring.insight.page_questions import PageQuestions
from mooring.insight.page_server import PageServer, listen
from mooring.insight.page_source import FollowedCluster
from mooring.insight.replay.rules import recorded_rules
from mooring.registry import default_registry

RULES = "the default configuration"


class ServedPast(msgspec.Struct):
    """A page that is served, about the past."""

    #: The address that the command prints, with the token.
    url: str
    #: The address without it.
    origin: str


class ServedPage(ServedPast):
    """A page that is served, about a cluster."""

    port: int
    access: PageAccess
    data: PageData
    questions: PageQuestions


@asynccontextmanager
async def serving(
    folder: Path, *, plugins: Sequence[type[Plugin]] = (), port: int = 0, token: str = ""
) -> AsyncIterator[ServedPage]:
    """Serve the page about the cluster whose kubeconfig is in a folder."""
    registry, gates = default_registry(plugins), FeatureGates()
    enabled = dict.fromkeys(plugin.name for plugin in plugins)
    config = default_config(registry=registry, feature_gates=gates, enabled=enabled)
    connection = load_kubeconfig(folder / "kubeconfig")
    with listen(port) as listener:
        port = listener.getsockname()[1]
        access = PageAccess(port, token)
        async with (
            reading_client(connection, "test") as client,
            following(config, client, registry, gates) as running,
        ):
            data = PageData(FollowedCluster(running), rules=RULES, server=connection.server)
            questions = PageQuestions(running, config, registry, gates)
            server = PageServer(data, load_page(), access, questions=questions)
            server.start(listener)
            try:
                origin = f"http://{LOOPBACK}:{port}"
                yield ServedPage(access.url, origin, port, access, data, questions)
            finally:
                await server.stop()


@asynccontextmanager
async def serving_past(folder: Path) -> AsyncIterator[ServedPast]:
    """Serve the page about the journal in a folder, at its end."""
    past = PagePast(folder / "journal", recorded_rules)
    with listen(0) as listener:
        port = listener.getsockname()[1]
        access = PageAccess(port)
        server = PageServer(await past.move(past.end), load_page(), access, past=past)
        server.start(listener)
        try:
            yield ServedPast(access.url, f"http://{LOOPBACK}:{port}")
        finally:
            await server.stop()
            past.close()

"""The process of an extender: its port, its responses, and who may ask."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mooring import Plugin, Status
from mooring.errors import ConfigError
from mooring.extender.extender_options import ExtenderOptions
from mooring.extender.extender_profiles import load_served
from mooring.extender.extender_server import (
    ANYONE_BINDS,
    NEEDS_CLUSTER,
    NO_CLUSTER,
    ONLY_VERBS,
    ExtenderProcess,
)
from mooring.framework.features import FeatureGates
from mooring.observe.logs import Verbosity
from mooring.registry import default_registry
from mooring.serve.serving_options import SecureServing
from mooring.testing import make_node, make_pod
from tests.extender.extender_scenes import CLOSED, OpenNodes, Stars, body
from tests.serve.sites import Site, certified
from tests.support.certificates import Authority
from tests.support.control_plane import ControlPlane
from tests.support.processes import LOOPBACK, free_port

QUESTION = body(
    Pod=make_pod("web"),
    Nodes={"items": [make_node("a", closed="true"), make_node("b", stars="70")]},
).decode()


BLOCKS = "A plugin blocks the scheduling loop"


class Faulty(Plugin):
    """A plugin whose scores and binds fail."""

    def score(self, state: Any, pod: Any, node: Any) -> Any:
        return Status.error("the scale is broken")


class Binder(Plugin):
    """A plugin that binds."""

    async def bind(self, state: Any, pod: Any, node_name: str) -> Any:
        await self.handle.client.bind(pod, node_name)


@pytest.fixture(autouse=True)
def no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no kubeconfig to be found."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)


def make_options(*plugins: type[Plugin], **more: Any) -> ExtenderOptions:
    registry, gates = default_registry(plugins), FeatureGates()
    serving = SecureServing(bind_address=LOOPBACK, port=free_port(), pair_name="mooring-extender")
    return ExtenderOptions(
        config=load_served(None, plugins, registry, gates),
        registry=registry,
        features=gates,
        plugins=plugins,
        **{"serving": serving, **more},
    )


@asynccontextmanager
async def running(options: ExtenderOptions) -> AsyncIterator[Site]:
    """Run an extender, and stop it in the end, which must succeed."""
    process = ExtenderProcess(options, Verbosity(0))
    scheme = "http" if options.plain_http else "https"
    site = Site(f"{scheme}://{LOOPBACK}:{options.serving.port}")
    work = asyncio.create_task(process.run())
    try:
        while not work.done() and not await is_ready(site):
            await asyncio.sleep(0.01)
        if not work.done():
            yield site
    finally:
        process.stop()
        assert await work == 0


async def is_ready(site: Site) -> bool:
    try:
        return (await site.ask("/readyz"))[0] == 200
    except aiohttp.ClientError:
        return False


async def test_verbs_health_and_metrics_are_served(caplog: pytest.LogCaptureFixture) -> None:
    async with running(make_options(OpenNodes, Stars)) as site:
        status, text, headers = await site.ask("/filter", method="POST", data=QUESTION)
        assert (status, headers["Content-Type"]) == (200, "application/json")
        found = json.loads(text)
        assert [one["metadata"]["name"] for one in found["Nodes"]["items"]] == ["b"]
        assert found["FailedAndUnresolvableNodes"] == {"a": CLOSED}
        status, text, _ = await site.ask("/prioritize", method="POST", data=QUESTION)
        assert json.loads(text) == [{"Host": "a", "Score": 0}, {"Host": "b", "Score": 7}]
        for page in ("/healthz", "/livez", "/readyz"):
            assert (await site.ask(page))[:2] == (200, "ok")
        _, metrics, _ = await site.ask("/metrics")
        assert 'mooring_extender_requests_total{code="200",verb="filter"} 1\n' in metrics
        assert 'mooring_extender_request_duration_seconds_count{verb="prioritize"} 1\n' in metrics
        assert 'scheduler_plugin_evaluation_total{extension_point="Filter",plugin="OpenN' in metrics
        assert "scheduler_pending_pods" not in metrics
    assert NO_CLUSTER in caplog.messages


@pytest.mark.parametrize("plain_http", [True, False], ids=["http", "https"])
async def test_plain_http_serves_only_health_and_verbs(*, plain_http: bool) -> None:
    async with running(make_options(OpenNodes, plain_http=plain_http)) as site:
        for path in ("/healthz", "/livez/ping", "/readyz"):
            assert (await site.ask(path))[0] == 200
        for path in ("/filter", "/prioritize", "/bind", "/preempt"):
            assert (await site.ask(path, method="POST", data=QUESTION))[0] in (200, 400, 404)
        for path in ("/metrics", "/metrics/slis", "/metrics/resources", "/configz", "//metrics"):
            status, text, _ = await site.ask(path)
            assert status == (403 if plain_http else 404 if path == "//metrics" else 200), path
            assert (ONLY_VERBS in text) == plain_http


@pytest.mark.parametrize(
    ("path", "method", "data", "status", "said"),
    [
        ("/bind", "POST", "{}", 404, "bind is not served: no plugin of this extender runs at Bind"),
        ("/filter", "GET", "", 405, "filter takes POST, got GET"),
        ("/filter", "POST", "{", 400, "filter: unexpected EOF"),
        ("/filter", "POST", "x" * 2000, 413, "--max-request-size allows more"),
        ("/prioritize", "POST", QUESTION, 500, "prioritize: plugin Faulty: running Score plugins"),
    ],
    ids=["not served", "not POST", "not JSON", "too large", "a plugin's fault"],
)
async def test_failures_have_a_status_and_a_line(
    path: str, method: str, data: str, status: int, said: str
) -> None:
    options = make_options(OpenNodes, Faulty, plain_http=True, max_request=1500)
    async with running(options) as site:
        found, text, _ = await site.ask(path, method=method, data=data)
        assert found == status
        assert said in text
        assert text.count("\n") == 1


async def test_a_certificate_is_made_and_kept(tmp_path: Path) -> None:
    serving = SecureServing(
        bind_address=LOOPBACK,
        port=free_port(),
        cert_dir=str(tmp_path / "certificates"),
        pair_name="mooring-extender",
    )
    async with running(make_options(OpenNodes, serving=serving)) as site:
        file = tmp_path / "certificates" / "mooring-extender.crt"
        context = ssl.create_default_context(cafile=str(file))
        assert (await site.ask("/healthz", context=context))[0] == 200


async def test_with_authorities_only_their_clients_may_ask(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    pair = authority.server("extender")
    serving = SecureServing(
        bind_address=LOOPBACK,
        port=free_port(),
        certificate_file=str(pair.certificate),
        key_file=str(pair.key),
    )
    options = make_options(OpenNodes, serving=serving, client_ca_file=str(authority.certificate))
    async with running(options) as site:
        assert (await site.ask("/healthz"))[0] == 200
        status, text, _ = await site.ask("/filter", method="POST", data=QUESTION)
        assert status == 403
        assert "it has no client certificate" in text
        assert (await site.ask("/metrics"))[0] == 403
        known = certified(authority, "kube-scheduler")
        status, _, _ = await site.ask("/filter", method="POST", data=QUESTION, context=known)
        assert status == 200


async def test_a_plugin_that_blocks_the_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck(Plugin):
        """A plugin that returns once the log names it."""

        def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            while BLOCKS not in caplog.messages:
                time.sleep(0.01)
            return ()

    async with running(make_options(Stuck, plain_http=True)) as site:
        status, _, _ = await site.ask("/filter", method="POST", data=QUESTION)
        assert status == 200
    assert BLOCKS in caplog.messages


def test_a_bind_plugin_needs_a_cluster() -> None:
    with pytest.raises(ConfigError, match=NEEDS_CLUSTER):
        ExtenderProcess(make_options(Binder), Verbosity(0))


def test_a_kubeconfig_that_is_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing"):
        ExtenderProcess(make_options(OpenNodes, kubeconfig=str(tmp_path / "nothing")), Verbosity(0))


async def test_a_port_that_is_taken_is_an_error() -> None:
    options = make_options(OpenNodes, plain_http=True)
    async with running(options):
        with pytest.raises(ConfigError, match="address already in use"):
            await ExtenderProcess(options, Verbosity(0)).run()


async def test_it_follows_a_cluster_and_warns_of_open_binds(
    control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    kubeconfig = str(control_plane.scheduler_kubeconfig)
    with caplog.at_level(logging.INFO):
        options = make_options(OpenNodes, Binder, kubeconfig=kubeconfig)
        async with running(options) as site:
            question = body(Pod=make_pod("web"), NodeNames=["unknown"]).decode()
            _, text, _ = await site.ask("/filter", method="POST", data=question)
            assert json.loads(text)["FailedNodes"] == {
                "unknown": "node(s) were unknown to the extender"
            }
            gone = body(PodName="p", PodNamespace="default", PodUID="u", Node="n").decode()
            _, text, _ = await site.ask("/bind", method="POST", data=gone)
            assert 'pods "p" not found' in json.loads(text)["Error"]
    assert ANYONE_BINDS in caplog.messages
    assert NO_CLUSTER not in caplog.messages

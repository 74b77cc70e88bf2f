"""Credential plugins of a kubeconfig that hang, print garbage or leave children behind."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from mooring.api import Node
from mooring.client.client import Client
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.transports import make_transport
from mooring.errors import NoAnswerError
from mooring.informers.factory import InformerFactory
from tests.client.fakes import serving
from tests.support.certificates import Authority
from tests.support.waiting import PATIENCE

V1 = "client.authentication.k8s.io/v1"
CREDENTIAL = json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": {"token": "good"}})

# Runs the commands in the file `behaviour` beside it.
PLUGIN = """#!/bin/sh
. {folder}/behaviour
"""


class Plugin:
    """A credential plugin whose behaviour can be changed, and a kubeconfig that names it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.command = folder / "plugin"
        self.command.write_text(PLUGIN.format(folder=folder))
        self.command.chmod(0o755)

    def behave(self, body: str) -> None:
        new = self.folder / "new"
        new.write_text(f"{body}\n")
        new.rename(self.folder / "behaviour")

    def kubeconfig(self, server: str, authority: Authority) -> Path:
        file = self.folder / "kubeconfig"
        program = {"command": str(self.command), "apiVersion": V1, "interactiveMode": "Never"}
        cluster = {"server": server, "certificate-authority": str(authority.certificate)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"exec": program}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        file.write_text(yaml.safe_dump(document))
        return file


async def answer(request: web.Request) -> web.StreamResponse:
    """Respond as a server without nodes that accepts one token."""
    if request.headers.get("Authorization") != "Bearer good":
        return web.Response(status=401)
    if "watch" in request.query:
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.Event().wait()
    return web.json_response(
        {"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
    )


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("exec sleep 1000", "no credentials within the time allowed"),
        ("cat /dev/zero", "printed more than 1048576 bytes"),
        ("echo garbage", "decoding stdout"),
        ("echo secret >&2; exit 9", "failed with exit code 9"),
        ("kill -9 $$", "failed with exit code -9"),
    ],
    ids=["hangs", "prints without end", "prints garbage", "fails", "is killed"],
)
async def test_the_scheduler_goes_on_trying(tmp_path: Path, behaviour: str, words: str) -> None:
    """A request fails in time and says why; informers sync once the plugin works."""
    hangs = "sleep" in behaviour
    seconds = 0.5 if hangs else PATIENCE / 2
    plugin = Plugin(tmp_path)
    plugin.behave(behaviour)
    authority = Authority(tmp_path / "pki")
    pair = authority.server("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    async with (
        asyncio.timeout(PATIENCE),
        serving(answer, ssl_context=context, handler_cancellation=True) as server,
    ):
        client = Client(make_transport(load_kubeconfig(plugin.kubeconfig(server, authority))))
        informers = InformerFactory(client, watch_list=False)
        try:
            with pytest.raises(NoAnswerError) as raised:
                await client.request("GET", "/api/v1/nodes", timeout=seconds)
            assert words in str(raised.value) and "secret" not in str(raised.value)
            assert not raised.value.sent
            if hangs:
                # The current run of the plugin would go on for a minute.
                await client.close()
                client = Client(make_transport(load_kubeconfig(tmp_path / "kubeconfig")))
                informers = InformerFactory(client, watch_list=False)
            informers.informer(Node)
            informers.start()
            plugin.behave(f"echo '{CREDENTIAL}'")
            await informers.wait_synced()
        finally:
            await informers.close()
            await client.close()

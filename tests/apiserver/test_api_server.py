"""The API server on its socket: TLS, client certificates, limits, files, a restart."""

from __future__ import annotations

import base64
import gzip
import io
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import yaml

from mooring.apiserver.api_server import ApiServer, ServerSettings
from mooring.apiserver.http import BODY_LIMIT
from tests.apiserver.api_server import MAPS, config_map
from tests.apiserver.listeners import count_listeners

PATIENCE = aiohttp.ClientTimeout(total=10)


class Client:
    """A client of a cluster, with the credentials in its kubeconfig."""

    def __init__(self, path: Path, folder: Path) -> None:
        config = yaml.safe_load(path.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.url = cluster["server"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.anonymous = ssl.create_default_context(cadata=authority)
        self.admin = ssl.create_default_context(cadata=authority)
        pair = folder / "admin.pem"
        pair.write_bytes(
            base64.b64decode(user["client-key-data"])
            + base64.b64decode(user["client-certificate-data"])
        )
        self.admin.load_cert_chain(pair)

    async def ask(
        self, method: str, path: str, body: bytes = b"", *, anonymous: bool = False, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return the code, the headers and the raw body of a response."""
        context = self.anonymous if anonymous else self.admin
        headers = {"Content-Type": "application/json", **headers}
        async with (
            aiohttp.ClientSession(auto_decompress=False, timeout=PATIENCE) as session,
            session.request(
                method, self.url + path, data=io.BytesIO(body), ssl=context, headers=headers
            ) as response,
        ):
            return response.status, dict(response.headers), await response.read()


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[tuple[ApiServer, Client]]:
    cluster = ApiServer(ServerSettings(kubeconfig=tmp_path / "kubeconfig"))
    await cluster.start()
    cluster.write_kubeconfig()
    try:
        yield cluster, Client(tmp_path / "kubeconfig", tmp_path)
    finally:
        await cluster.stop()


Running = tuple[ApiServer, Client]


async def test_the_administrator_comes_with_a_certificate(running: Running) -> None:
    _, client = running
    code, _, body = await client.ask("GET", "/api/v1/namespaces")
    assert code == 200
    assert len(json.loads(body)["items"]) == 4


async def test_without_a_certificate_only_health_answers(running: Running) -> None:
    _, client = running
    assert (await client.ask("GET", "/readyz", anonymous=True))[0] == 200
    assert (await client.ask("GET", "/api/v1/namespaces", anonymous=True))[0] == 403


async def test_the_kubeconfig_is_for_its_owner_alone(running: Running, tmp_path: Path) -> None:
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o777 == 0o600


async def test_a_body_that_is_too_large_is_refused(running: Running) -> None:
    _, client = running
    code, _, body = await client.ask("POST", MAPS, b" " * (BODY_LIMIT + 1))
    assert code == 413
    assert json.loads(body)["reason"] == "RequestEntityTooLarge"
    assert (await client.ask("GET", "/readyz"))[0] == 200


async def test_large_answers_are_packed_where_asked(running: Running) -> None:
    _, client = running
    for i in range(3):
        body = json.dumps(config_map(f"m{i}", text="x" * 100_000)).encode()
        assert (await client.ask("POST", MAPS, body))[0] == 201
    _, headers, data = await client.ask("GET", MAPS, **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(data))["items"]) == 3
    _, headers, _ = await client.ask("GET", MAPS, **{"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in headers


async def test_a_watch_streams_and_ends_with_its_client(running: Running) -> None:
    cluster, client = running
    listeners = count_listeners(cluster.cluster.store)
    async with (
        aiohttp.ClientSession(timeout=PATIENCE) as session,
        session.get(f"{client.url}{MAPS}?watch=true", ssl=client.admin) as response,
    ):
        assert listeners["/configmaps"] == 1
        await client.ask("POST", MAPS, json.dumps(config_map("a")).encode())
        line = await response.content.readline()
        assert json.loads(line)["object"]["metadata"]["name"] == "a"
    for _ in range(100):
        if listeners["/configmaps"] == 0:
            return
        await client.ask("GET", "/readyz")
    pytest.fail("the watch is still listening")


async def test_a_folder_keeps_everything_over_a_restart(tmp_path: Path) -> None:
    settings = ServerSettings(kubeconfig=tmp_path / "kubeconfig", data_dir=tmp_path / "data")
    cluster = ApiServer(settings)
    await cluster.start()
    cluster.write_kubeconfig()
    first = Client(tmp_path / "kubeconfig", tmp_path)
    await first.ask("POST", MAPS, json.dumps(config_map("kept", a="b")).encode())
    await cluster.stop()
    again = ApiServer(settings)
    await again.start()
    again.write_kubeconfig()
    try:
        # The authority is the same, so the first kubeconfig's certificate is still valid.
        first.url = again.url
        code, _, body = await first.ask("GET", f"{MAPS}/kept")
        assert (code, json.loads(body)["data"]) == (200, {"a": "b"})
    finally:
        await again.stop()
    for file in (tmp_path / "data").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file

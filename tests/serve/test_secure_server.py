"""Listeners, and how requests are answered or fail."""

from __future__ import annotations

import logging
import socket
import ssl

import pytest

from mooring.errors import ApiError, ConfigError
from mooring.serve.secure_server import listen, listen_insecurely
from mooring.serve.serving_options import (
    InsecureServing,
    SecureServing,
)
from tests.serve.fake_api import FakeApi
from tests.serve.sites import Site, World, free_port

JANE = {"status": {"authenticated": True, "user": {"username": "jane"}}}


ALLOWED = {"status": {"allowed": True}}


REFUSED = {"status": {"allowed": False, "reason": "not today"}}


async def test_strangers_are_forbidden(site: Site, api: FakeApi) -> None:
    api.answers = [{"status": {}}]
    status, text, headers = await site.ask("/metrics", **{"User-Agent": "curl/8"})
    assert status == 403
    assert headers["Content-Type"] == "application/json"
    assert text == (
        '{\n  "kind": "Status",\n  "apiVersion": "v1",\n  "metadata": {},\n'
        '  "status": "Failure",\n'
        '  "message": "forbidden: User \\"system:anonymous\\" cannot get path \\"/metrics\\"",\n'
        '  "reason": "Forbidden",\n  "details": {},\n  "code": 403\n}'
    )


async def test_a_reason_is_passed_on_and_text_is_harmless(site: Site, api: FakeApi) -> None:
    api.answers = [JANE, REFUSED]
    status, text, _ = await site.ask("/<script>", token="t", method="POST")
    assert status == 403
    assert r"User \"jane\" cannot post path \"/&lt;script&gt;\": not today" in text


async def test_a_review_that_fails_is_a_failure(site: Site, api: FakeApi) -> None:
    api.answers = [JANE, ApiError(403, "may not review")]
    status, text, _ = await site.ask("/metrics", token="t")
    assert status == 500
    assert text == 'Internal Server Error: "/metrics": 403: may not review\n'


async def test_a_bug_is_an_answer_and_a_traceback_in_the_log(
    site: Site, admin: ssl.SSLContext, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.broken = True
    status, text, _ = await site.ask("/metrics", context=admin)
    assert (status, text) == (500, 'Internal Server Error: "/metrics"\n')
    assert "RuntimeError: a bug" in caplog.text


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as caught:
            listen(SecureServing(bind_address="127.0.0.1", port=port))
    assert str(caught.value) == (
        f"failed to create listener: failed to listen on 127.0.0.1:{port}: "
        f"listen tcp 127.0.0.1:{port}: bind: address already in use"
    )


def test_port_zero_listens_nowhere() -> None:
    assert listen(SecureServing(port=0)) is None
    assert listen_insecurely(InsecureServing(port=0)) is None


def test_an_unspecified_address_means_every_address() -> None:
    listener = listen(SecureServing(port=free_port()))
    assert listener is not None
    with listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])):
        pass


async def test_requests_are_logged_at_verbosity_3(
    site: Site, admin: ssl.SSLContext, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO - 3, logger="mooring.serve.secure_server")
    await site.ask("/healthz?a=b", context=admin, **{"User-Agent": "curl/\u00e9"})
    (record,) = [one for one in caplog.records if one.getMessage() == "HTTP"]
    assert (record.kv["verb"], record.kv["URI"], record.kv["resp"]) == ("GET", "/healthz?a=b", 200)
    assert record.kv["srcIP"].startswith("127.0.0.1:")

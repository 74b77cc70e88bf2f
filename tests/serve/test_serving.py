"""The whole server over loopback: who gets which response."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ConfigError
from mooring.observe.clock import SystemClock
from mooring.serve.serving import Serving, ServingSettings
from mooring.serve.serving_options import (
    Authentication,
    Authorization,
    InsecureServing,
    SecureServing,
)
from tests.serve.fake_api import FakeApi
from tests.serve.sites import Site, World, free_port
from tests.support.control_plane import ADMIN_TOKEN, NOBODY_TOKEN, ControlPlane

JANE = {"status": {"authenticated": True, "user": {"username": "jane"}}}
ALLOWED = {"status": {"allowed": True}}
REFUSED = {"status": {"allowed": False, "reason": "not today"}}


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
async def test_health_is_open_to_everybody(site: Site, path: str) -> None:
    status, text, headers = await site.ask(path)
    assert (status, text) == (200, "ok")
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert headers["Cache-Control"] == "no-cache, private"
    assert headers["X-Content-Type-Options"] == "nosniff"


async def test_readiness_in_words(site: Site, world: World) -> None:
    assert (await site.ask("/readyz"))[0] == 500
    world.health.handlers_synced()
    status, text, _ = await site.ask("/readyz?verbose&exclude=shutdown")
    assert status == 200
    assert text == "[+]shutdown excluded: ok\n[+]sched-handler-sync ok\nreadyz check passed\n"


async def test_a_bad_token_is_unauthorized_even_on_open_paths(site: Site, api: FakeApi) -> None:
    for path in ("/metrics", "/healthz"):
        api.answers = [{"status": {"authenticated": False}}]
        status, text, _ = await site.ask(path, token="bad")
        assert status == 401
        assert '"message":"Unauthorized","reason":"Unauthorized","code":401' in text


async def test_who_may_gets_the_metrics(site: Site, api: FakeApi) -> None:
    api.answers = [JANE, ALLOWED]
    status, text, headers = await site.ask("/metrics", token="t")
    assert (status, text) == (200, "metric 1\n")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert int(headers["Process-Start-Time-Unix"]) > 0


async def test_an_administrators_certificate_opens_everything(
    site: Site, admin: ssl.SSLContext
) -> None:
    assert (await site.ask("/metrics", context=admin))[0] == 200
    status, text, _ = await site.ask("/nowhere", context=admin)
    assert (status, text) == (404, "404 page not found\n")
    assert (await site.ask("/", context=admin))[0] == 404


async def test_plain_http_is_open_to_everybody(world: World) -> None:
    port = free_port()
    settings = ServingSettings(
        secure=SecureServing(port=0),
        insecure=InsecureServing(address="127.0.0.1", port=port),
    )
    serving = Serving(settings, world.sources(), SystemClock())
    serving.listen()
    await serving.start()
    try:
        assert (await Site(f"http://127.0.0.1:{port}").ask("/metrics"))[0] == 200
    finally:
        await serving.stop()


async def test_without_kubeconfigs_health_is_open_and_the_rest_closed(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    port = free_port()
    settings = ServingSettings(secure=SecureServing(bind_address="127.0.0.1", port=port))
    serving = Serving(settings, world.sources(), SystemClock())
    serving.listen()
    await serving.start()
    try:
        site = Site(f"https://127.0.0.1:{port}")
        assert (await site.ask("/healthz"))[0] == 200
        assert (await site.ask("/metrics", token="any"))[0] == 403
    finally:
        await serving.stop()
    assert "No authorization-kubeconfig provided" in caplog.text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"authentication": Authentication(kubeconfig="/absent")},
            "failed to get delegated authentication kubeconfig: ",
        ),
        (
            {"authorization": Authorization(kubeconfig="/absent")},
            "failed to get delegated authorization kubeconfig: ",
        ),
        ({"authorization": Authorization(always_allow_paths=("a*b",))}, "only trailing"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_settings_that_cannot_be_used_are_refused(
    world: World, changes: dict[str, Any], message: str
) -> None:
    secure = SecureServing(bind_address="127.0.0.1", port=free_port())
    serving = Serving(ServingSettings(secure=secure, **changes), world.sources(), SystemClock())
    serving.listen()
    with pytest.raises(ConfigError, match=message):
        await serving.start()
    await serving.stop()


async def test_a_real_api_server_says_who_may(world: World, control_plane: ControlPlane) -> None:
    if not control_plane.owned:
        pytest.skip("tokens of a given cluster are not known")
    port = free_port()
    kubeconfig = str(control_plane.scheduler_kubeconfig)
    settings = ServingSettings(
        secure=SecureServing(bind_address="127.0.0.1", port=port),
        authentication=Authentication(kubeconfig=kubeconfig),
        authorization=Authorization(kubeconfig=kubeconfig),
    )
    serving = Serving(settings, world.sources(), SystemClock())
    serving.listen()
    await serving.start()
    try:
        site = Site(f"https://127.0.0.1:{port}")
        assert (await site.ask("/healthz"))[0] == 200
        assert (await site.ask("/metrics"))[0] == 403
        assert (await site.ask("/metrics", token="nobody-knows-me"))[0] == 401
        status, text, _ = await site.ask("/metrics", token=NOBODY_TOKEN)
        assert status == 403
        assert "test-nobody" in text
        assert (await site.ask("/metrics", token=ADMIN_TOKEN))[0] == 200
        # The authority of client certificates comes from the cluster.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        certificate = Path(str(control_plane.admin_kubeconfig)).with_suffix(".crt")
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        assert (await site.ask("/metrics", context=context))[0] == 200
    finally:
        await serving.stop()

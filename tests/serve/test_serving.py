"""The whole server over loopback: who gets which response."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mooring.api import Pod
from mooring.errors import ApiError, ConfigError
from mooring.observe.clock import SystemClock
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.delegated_authentication import DelegatingAuthenticator
from mooring.serve.delegated_authorization import DelegatingAuthorizer
from mooring.serve.endpoints import Endpoints, Sources
from mooring.serve.health import Health
from mooring.serve.review_client import AccessReviews, TokenReviews
from mooring.serve.secure_server import Gate, SecureServer, address_of, listen, listen_insecurely
from mooring.serve.serving import Serving, ServingSettings
from mooring.serve.serving_options import (
    Authentication,
    Authorization,
    InsecureServing,
    SecureServing,
)
from mooring.serve.serving_tls import ServingTls
from mooring.testing import make_pod
from tests.serve.fake_api import FakeApi
from tests.support.certificates import Authority
from tests.support.control_plane import ADMIN_TOKEN, NOBODY_TOKEN, ControlPlane

JANE = {"status": {"authenticated": True, "user": {"username": "jane"}}}
ALLOWED = {"status": {"allowed": True}}
REFUSED = {"status": {"allowed": False, "reason": "not today"}}


class World:
    """The state that the endpoints show or change."""

    def __init__(self) -> None:
        self.health = Health()
        self.leads = True
        self.pods: list[Pod] = [make_pod("a", cpu="1")]
        self.verbosity = 0
        self.broken = False

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
            "version": "1.36.4",
            "set_verbosity": self.set_verbosity,
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


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki") / "one")


@pytest.fixture
async def site(world: World, api: FakeApi, authority: Authority) -> AsyncIterator[Site]:
    clock = SystemClock()
    settings = Authentication(client_ca_file=str(authority.certificate), skip_lookup=True)
    authorities = ClientAuthorities(settings)
    await authorities.load()
    endpoints = Endpoints(world.sources(), clock)
    gate = Gate(
        endpoints,
        DelegatingAuthenticator(authorities, TokenReviews(api, clock, 0)),
        DelegatingAuthorizer(("/healthz", "/livez", "/readyz"), AccessReviews(api, clock, 0, 0)),
    )
    listener = socket.create_server(("127.0.0.1", 0))
    tls = ServingTls(SecureServing(bind_address="127.0.0.1"), ask=True, authorities=authorities.pem)
    server = SecureServer(endpoints, clock)
    await server.serve_securely(listener, tls, gate, authorities)
    yield Site(f"https://{address_of(listener)}")
    await server.stop()
    listener.close()


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


async def test_a_review_that_fails_is_a_failure(site: Site, api: FakeApi) -> None:
    api.answers = [JANE, ApiError(403, "may not review")]
    status, text, _ = await site.ask("/metrics", token="t")
    assert status == 500
    assert text == 'Internal Server Error: "/metrics": 403: may not review\n'


def certified(authority: Authority, user: str, *groups: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    pair = authority.client(user, groups)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


@pytest.fixture
def admin(authority: Authority) -> ssl.SSLContext:
    return certified(authority, "root", "system:masters")


async def test_an_administrators_certificate_opens_everything(
    site: Site, admin: ssl.SSLContext
) -> None:
    assert (await site.ask("/metrics", context=admin))[0] == 200
    status, text, _ = await site.ask("/nowhere", context=admin)
    assert (status, text) == (404, "404 page not found\n")
    assert (await site.ask("/", context=admin))[0] == 404


async def test_resources_are_shown_by_the_leader(
    site: Site, admin: ssl.SSLContext, world: World
) -> None:
    status, text, _ = await site.ask("/metrics/resources", context=admin)
    assert status == 200
    assert 'kube_pod_resource_request{namespace="default"' in text
    world.leads = False
    assert (await site.ask("/metrics/resources", context=admin))[:2] == (200, "")


async def test_the_other_pages(site: Site, admin: ssl.SSLContext) -> None:
    assert (await site.ask("/configz", context=admin))[1] == (
        '{"componentconfig":{"kind":"KubeSchedulerConfiguration","parallelism":5}}'
    )
    assert "\nv 2\n" in (await site.ask("/flagz", context=admin))[1]
    accept = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz"
    assert '"flags":{"v":"2"}' in (await site.ask("/flagz", context=admin, Accept=accept))[1]
    statusz = (await site.ask("/statusz", context=admin))[1]
    assert "Paths: /configz /flagz /healthz /livez /metrics /readyz" in statusz
    accept = accept.replace("Flagz", "Statusz")
    page = (await site.ask("/statusz", context=admin, Accept=accept))[1]
    assert '"binaryVersion":"1.36.4"' in page
    yaml = accept.replace("json", "yaml").replace("v1beta1", "v1alpha1")
    _, page, headers = await site.ask("/statusz", context=admin, Accept=yaml)
    assert "\nbinaryVersion: 1.36.4\n" in page
    assert headers["Content-Type"] == "application/yaml;g=config.k8s.io;v=v1alpha1;as=Statusz"
    assert "deprecated" in headers["Warning"]
    refused, page, headers = await site.ask("/statusz", context=admin, Accept="image/png")
    assert (refused, headers["Content-Type"]) == (406, "application/json")
    assert "only the following media types are accepted" in page
    slis = (await site.ask("/metrics/slis", context=admin))[1]
    assert "process_start_time_seconds" in slis
    one = await site.ask("/readyz/sched-handler-sync", context=admin)
    assert one[:2] == (500, "internal server error: handlers are not fully synchronized\n")
    assert (await site.ask("/readyz/nothing", context=admin))[0] == 404


@pytest.mark.parametrize(
    ("method", "data", "status", "text"),
    [
        ("PUT", "5", 200, "successfully set klog.logging.verbosity to 5\n"),
        ("PUT", "abc", 400, 'strconv.ParseUint: parsing "abc": invalid syntax\n'),
        (
            "PUT",
            "99999999999",
            400,
            'strconv.ParseUint: parsing "99999999999": value out of range\n',
        ),
        ("GET", "", 406, "unsupported http method\n"),
    ],
)
async def test_the_verbosity_is_changed(
    site: Site, admin: ssl.SSLContext, world: World, method: str, data: str, status: int, text: str
) -> None:
    answer = await site.ask("/debug/flags/v", context=admin, method=method, data=data)
    assert answer[:2] == (status, text)
    assert world.verbosity == (5 if status == 200 else 0)
    assert "<tr>v<br>" in (await site.ask("/debug/flags", context=admin))[1]


async def test_a_bug_is_an_answer_and_a_traceback_in_the_log(
    site: Site, admin: ssl.SSLContext, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.broken = True
    status, text, _ = await site.ask("/metrics", context=admin)
    assert (status, text) == (500, 'Internal Server Error: "/metrics"\n')
    assert "RuntimeError: a bug" in caplog.text


async def test_without_profiling_there_is_no_debugging(world: World) -> None:
    endpoints = Endpoints(world.sources(profiling=False, flagz=False, statusz=False), SystemClock())
    for path in ("/debug/flags/v", "/flagz", "/statusz"):
        assert path not in endpoints._listed
        assert path not in endpoints._unlisted


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


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

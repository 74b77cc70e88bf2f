from __future__ import annotations

from pathlib import Path

import pytest

from mooring.errors import ApiError, ConfigError
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.serving_options import Authentication, RequestHeaders
from tests.serve.fake_api import FakeApi
from tests.support.certificates import Authority


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Authority(tmp_path_factory.mktemp("pki") / "one").certificate


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Authority(tmp_path_factory.mktemp("pki") / "two").certificate


def config_map(clients: Path, proxies: Path) -> dict[str, object]:
    return {
        "data": {
            "client-ca-file": clients.read_text(),
            "requestheader-client-ca-file": proxies.read_text(),
            "requestheader-allowed-names": '["proxy"]',
            "requestheader-username-headers": '["X-U"]',
            "requestheader-group-headers": '["X-G"]',
            "requestheader-extra-headers-prefix": '["X-E-"]',
        }
    }


async def test_the_cluster_says_whose_certificates_count(pem: Path, other: Path) -> None:
    api = FakeApi()
    api.answers = [config_map(pem, other)]
    authorities = ClientAuthorities(Authentication(), api)
    await authorities.load()
    assert api.asked == [
        ("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", None)
    ]
    assert authorities.clients.pem == pem.read_bytes()
    assert authorities.proxies.pem == other.read_bytes()
    assert authorities.headers == RequestHeaders(
        allowed_names=("proxy",),
        username_headers=("X-U",),
        group_headers=("X-G",),
        extra_prefixes=("X-E-",),
    )
    assert authorities.wanted


async def test_files_stand_over_what_the_cluster_says(pem: Path, other: Path) -> None:
    api = FakeApi()
    api.answers = [config_map(other, other)]
    authorities = ClientAuthorities(Authentication(client_ca_file=str(pem)), api)
    await authorities.load()
    assert authorities.clients.pem == pem.read_bytes()
    assert authorities.proxies.pem == other.read_bytes()


async def test_the_cluster_is_not_asked_where_files_say_all_or_it_is_not_to_be(
    pem: Path,
) -> None:
    files = Authentication(
        client_ca_file=str(pem), request_headers=RequestHeaders(client_ca_file=str(pem))
    )
    for settings in (files, Authentication(skip_lookup=True)):
        api = FakeApi()
        await ClientAuthorities(settings, api).load()
        assert api.asked == []


async def test_a_lookup_that_fails_is_tolerated_unless_it_must_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api = FakeApi()
    api.answers = [ApiError(403, "may not"), ApiError(403, "may not")]
    authorities = ClientAuthorities(Authentication(), api)
    await authorities.load()
    assert not authorities.clients
    assert "Error looking up in-cluster authentication configuration" in caplog.text
    strict = ClientAuthorities(Authentication(tolerate_lookup_failure=False), api)
    with pytest.raises(ConfigError, match="unable to load configmap based request-header"):
        await strict.load()


async def test_without_a_kubeconfig_it_is_said_what_will_not_work(
    caplog: pytest.LogCaptureFixture,
) -> None:
    authorities = ClientAuthorities(Authentication())
    await authorities.load()
    assert not authorities.wanted
    assert [record.getMessage() for record in caplog.records] == [
        "No authentication-kubeconfig provided in order to lookup client-ca-file in "
        "configmap/extension-apiserver-authentication in kube-system, so client certificate "
        "authentication won't work.",
        "No authentication-kubeconfig provided in order to lookup requestheader-client-ca-file in "
        "configmap/extension-apiserver-authentication in kube-system, so request-header client "
        "certificate authentication won't work.",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"unable to load client CA provider: open .*: no such file or directory"),
        ("garbage", r"unable to load client CA provider: .* does not contain any valid cert"),
    ],
    ids=["no file", "no certificates"],
)
async def test_a_file_without_authorities_is_refused(
    tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "ca.crt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        await ClientAuthorities(Authentication(client_ca_file=str(file))).load()


async def test_changes_are_noticed_and_trouble_changes_nothing(
    tmp_path: Path, pem: Path, other: Path
) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(pem.read_bytes())
    settings = Authentication(client_ca_file=str(file), skip_lookup=True)
    authorities = ClientAuthorities(settings)
    await authorities.load()
    assert await authorities.refresh() is False
    file.write_text("half-written")
    assert await authorities.refresh() is False
    assert authorities.pem == pem.read_bytes()
    file.write_bytes(other.read_bytes())
    assert await authorities.refresh() is True
    assert authorities.pem == other.read_bytes()


async def test_what_cannot_be_read_keeps_nothing_else_from_being_read(
    tmp_path: Path, pem: Path, other: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clients, proxies = tmp_path / "clients.crt", tmp_path / "proxies.crt"
    for file in (clients, proxies):
        file.write_bytes(pem.read_bytes())
    headers = RequestHeaders(client_ca_file=str(proxies))
    settings = Authentication(client_ca_file=str(clients), request_headers=headers)
    authorities = ClientAuthorities(settings)
    await authorities.load()
    caplog.clear()
    clients.unlink()
    proxies.write_bytes(other.read_bytes())
    assert await authorities.refresh() is True
    assert await authorities.refresh() is False
    assert authorities.clients.pem == pem.read_bytes()
    assert authorities.proxies.pem == other.read_bytes()
    assert len(caplog.records) == 1, "a problem that lasts is logged once"


async def test_the_cluster_is_asked_while_a_file_cannot_be_read(
    tmp_path: Path, pem: Path, other: Path
) -> None:
    clients = tmp_path / "clients.crt"
    clients.write_bytes(pem.read_bytes())
    api = FakeApi()
    api.answers = [config_map(pem, pem), config_map(pem, other)]
    authorities = ClientAuthorities(Authentication(client_ca_file=str(clients)), api)
    await authorities.load()
    clients.write_text("half-written")
    assert await authorities.refresh() is True
    assert authorities.proxies.pem == other.read_bytes()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Authentication(client_ca_file="/absent"), "unable to load client CA provider"),
        (
            Authentication(request_headers=RequestHeaders(client_ca_file="/absent")),
            "unable to create request header authentication config",
        ),
    ],
)
async def test_a_file_that_is_missing_at_the_start_is_fatal(
    settings: Authentication, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        await ClientAuthorities(settings).load()


async def test_a_cluster_that_is_not_asked_is_not_asked_again(pem: Path) -> None:
    api = FakeApi()
    settings = Authentication(client_ca_file=str(pem), skip_lookup=True)
    authorities = ClientAuthorities(settings, api)
    await authorities.load()
    await authorities.look_up()
    assert api.asked == []


@pytest.mark.parametrize(
    "change", [{"requestheader-allowed-names": "no list"}, {"client-ca-file": "no PEM"}]
)
async def test_what_the_cluster_says_later_must_be_readable(
    pem: Path, change: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    api = FakeApi()
    good = config_map(pem, pem)
    data = good["data"]
    assert isinstance(data, dict)
    api.answers = [good, {"data": {**data, **change}}, []]
    authorities = ClientAuthorities(Authentication(), api)
    await authorities.load()
    for _ in range(2):
        await authorities.look_up()
        assert authorities.clients.pem == pem.read_bytes()
    assert next(iter(change)) in caplog.text

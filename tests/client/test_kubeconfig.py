"""The connections that kubeconfig files describe."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mooring.client import exec_plugin, kubeconfig
from mooring.client.connection import Connection
from mooring.client.exec_plugin import V1, V1BETA1
from mooring.client.kubeconfig import connection_from_flags, load_kubeconfig
from mooring.errors import ConfigError
from tests.client.kubeconfigs import SERVER, document, header, load, write

__all__ = ["load"]


class Programs:
    """What is run in place of programs, at a terminal."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, ...]] = []
        self.environment: dict[str, str] = {}

    async def run(
        self, command: tuple[str, ...], environment: dict[str, str], **more: Any
    ) -> tuple[int, bytes]:
        self.commands.append(tuple(command))
        self.environment = environment
        info = json.loads(environment["KUBERNETES_EXEC_INFO"])
        return 0, json.dumps({**info, "status": {"token": "t"}}).encode()

    async def told(self, connection: Connection) -> Any:
        """Return what the program of a connection is told."""
        assert await header(connection) == "Bearer t"
        return json.loads(self.environment["KUBERNETES_EXEC_INFO"])["spec"]


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    made = Programs()
    monkeypatch.setattr(exec_plugin, "run_program", made.run)
    monkeypatch.setattr(sys, "stdin", Terminal())
    return made


async def test_a_plain_file(load: Any) -> None:
    connection = load({"token": "t"}, namespace="team")
    assert (connection.server, connection.namespace) == (SERVER, "team")
    assert await header(connection) == "Bearer t"
    assert connection.compression and not connection.proxy and not connection.headers


async def test_credentials_of_each_sort(load: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from file")
    assert await header(load({"username": "ada", "password": "pw"})) == "Basic YWRhOnB3"
    assert await header(load({"tokenFile": "token"})) == "Bearer from file"
    assert await header(load({"tokenFile": "token", "token": "t"})) == "Bearer from file"
    assert await header(load({"tokenFile": "nothing", "token": "t"})) == "Bearer t"
    assert await header(load({})) == ""


async def test_credentials_are_not_sent_in_the_clear(load: Any) -> None:
    connection = load({"token": "t"}, {"server": "http://server:8080"})
    assert await header(connection) == ""


def test_files_are_found_beside_the_kubeconfig(load: Any, tmp_path: Path) -> None:
    for name in ("ca", "crt", "key"):
        (tmp_path / name).write_text(name)
    connection = load(
        {"client-certificate": "crt", "client-key": str(tmp_path / "key")},
        {"certificate-authority": "ca", "tls-server-name": "kubernetes"},
    )
    tls = connection.tls
    assert tls.authority.read() == b"ca"
    assert tls.key_pair is not None
    assert (tls.key_pair.certificate.read(), tls.key_pair.key.read()) == (b"crt", b"key")
    assert tls.server_name == "kubernetes"


def test_embedded_data_wins_over_files(load: Any, tmp_path: Path) -> None:
    for name in ("ca", "crt", "key"):
        (tmp_path / name).write_text("file")
    data = base64.b64encode(b"data").decode()
    connection = load(
        {
            "client-certificate": "crt",
            "client-key": "key",
            "client-certificate-data": data,
            "client-key-data": data,
        },
        {"certificate-authority": "ca", "certificate-authority-data": data},
    )
    pair = connection.tls.key_pair
    assert [connection.tls.authority.read(), pair.certificate.read(), pair.key.read()] == [
        b"data"
    ] * 3


def test_a_connection_may_be_insecure_or_uncompressed_or_through_a_proxy(load: Any) -> None:
    connection = load(
        {},
        {
            "insecure-skip-tls-verify": True,
            "disable-compression": True,
            "proxy-url": "http://proxy:3128",
        },
    )
    assert connection.tls.insecure and not connection.compression
    assert connection.proxy == "http://proxy:3128"


def test_someone_else_may_be_impersonated(load: Any) -> None:
    connection = load(
        {
            "as": "ada",
            "as-uid": "5",
            "as-groups": ["one", "two"],
            "as-user-extra": {"Reason/why": ["x", "y"]},
        }
    )
    assert connection.headers == (
        ("Impersonate-User", "ada"),
        ("Impersonate-Uid", "5"),
        ("Impersonate-Group", "one"),
        ("Impersonate-Group", "two"),
        ("Impersonate-Extra-Reason%2Fwhy", "x"),
        ("Impersonate-Extra-Reason%2Fwhy", "y"),
    )


@pytest.mark.parametrize(
    ("config", "interactive"),
    [
        ({"apiVersion": V1, "interactiveMode": "Never"}, False),
        ({"apiVersion": V1BETA1}, True),
    ],
    ids=["v1", "v1beta1"],
)
async def test_a_program_for_credentials(
    load: Any, tmp_path: Path, programs: Programs, config: dict[str, str], interactive: bool
) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    connection = load(
        {"exec": {"command": "bin/login", "provideClusterInfo": True, **config}},
        {"extensions": [extension], "tls-server-name": "k"},
    )
    spec = await programs.told(connection)
    assert programs.commands == [(str(tmp_path / "bin/login"),)]
    assert spec["interactive"] is interactive
    assert spec["cluster"] == {
        "server": SERVER,
        "tls-server-name": "k",
        "config": {"audience": "a"},
    }


async def test_a_program_is_told_all_that_is_known_of_the_cluster(
    load: Any, tmp_path: Path, programs: Programs
) -> None:
    (tmp_path / "ca.crt").write_bytes(b"PEM")
    program = {
        "command": "login",
        "apiVersion": V1,
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    connection = load(
        {"exec": program},
        {
            "insecure-skip-tls-verify": True,
            "disable-compression": True,
            "proxy-url": "http://proxy:3128",
            "extensions": [{"name": "another", "extension": {"x": "y"}}],
        },
    )
    assert (await programs.told(connection))["cluster"] == {
        "server": SERVER,
        "insecure-skip-tls-verify": True,
        "disable-compression": True,
        "proxy-url": "http://proxy:3128",
    }
    connection = load({"exec": program}, {"certificate-authority": "ca.crt"})
    assert (await programs.told(connection))["cluster"] == {
        "server": SERVER,
        "certificate-authority-data": "UEVN",
    }


async def test_a_token_goes_before_a_program(load: Any) -> None:
    program = {"command": "login", "apiVersion": V1, "interactiveMode": "Never"}
    assert await header(load({"token": "t", "exec": program})) == "Bearer t"


@pytest.mark.parametrize(
    ("user", "cluster", "words"),
    [
        ({"token": "t", "username": "u"}, {}, "more than one authentication method found"),
        (
            {"client-certificate-data": "YQ=="},
            {},
            "client-key-data or client-key must",
        ),
        (
            {"client-certificate": "a", "client-key": "b"},
            {},
            "client-certificate of u: cannot",
        ),
        ({}, {"certificate-authority": "a"}, "certificate-authority of c: cannot read"),
        ({}, {"server": ""}, 'no server found for cluster "c"'),
        ({}, {"server": "ftp://x"}, "must be a URL or a valid host:port pair, got 'ftp://x'"),
        ({}, {"server": "https://x:bad"}, "must be a URL or a valid host:port pair"),
        ({}, {"proxy-url": "socks5://x"}, "invalid 'proxy-url'"),
        (
            {},
            {"certificate-authority-data": "YQ==", "insecure-skip-tls-verify": True},
            "root certificates file with the insecure flag is not allowed",
        ),
        ({"as-groups": ["a"]}, {}, "without impersonating a user"),
        ({"auth-provider": {"name": "gcp"}}, {}, "gke-gcloud-auth-plugin"),
        ({"auth-provider": {"name": "azure"}}, {}, "kubelogin"),
        ({"auth-provider": {"name": "oidc"}}, {}, 'no Auth Provider found for name "oidc"'),
        ({"exec": {"apiVersion": V1}}, {}, "command must be specified for u"),
        ({"exec": {"command": "a"}}, {}, 'invalid apiVersion ""'),
        ({"exec": {"command": "a", "apiVersion": V1}}, {}, "interactiveMode must be specified"),
        (
            {"exec": {"command": "a", "apiVersion": V1, "interactiveMode": "Maybe"}},
            {},
            'invalid interactiveMode for u: "Maybe"',
        ),
        (
            {"exec": {"command": "a", "apiVersion": V1, "env": [{"value": "x"}]}},
            {},
            "env variable name must be specified",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_is_told_in_a_line_with_the_file(
    load: Any, tmp_path: Path, user: Any, cluster: Any, words: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        load(user, cluster)
    text = str(raised.value)
    assert words in text
    assert text.startswith(str(tmp_path / "config"))
    assert "\n" not in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"current-context": ""}, "current-context is not set"),
        ({"current-context": "y"}, 'context "y" does not exist'),
        ({"contexts": [{"name": "x", "context": {"cluster": "c"}}]}, "user was not specified"),
        (
            {"contexts": [{"name": "x", "context": {"cluster": "d", "user": "u"}}]},
            'cluster "d" was not found for context "x"',
        ),
    ],
    ids=["none chosen", "unknown", "half a context", "unknown cluster"],
)
def test_a_context_that_cannot_be_used(tmp_path: Path, change: Any, words: str) -> None:
    file = write(tmp_path / "config", {**document(), **change})
    with pytest.raises(ConfigError) as raised:
        load_kubeconfig(file)
    assert words in str(raised.value)


def test_a_variable_that_names_missing_files_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError) as raised:
        load_kubeconfig(environment={"KUBECONFIG": "/a/missing:/b/missing"})
    assert str(raised.value) == "$KUBECONFIG names /a/missing, /b/missing: no such file"
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="no configuration has been provided; name a kubeconfig"):
        load_kubeconfig(environment={})
    (tmp_path / "empty").touch()
    with pytest.raises(ConfigError, match="empty: invalid configuration: no configuration has"):
        load_kubeconfig(tmp_path / "empty")


def test_flags_name_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "config", document())
    assert connection_from_flags(str(file)).server == SERVER
    assert connection_from_flags(str(file), "https://other").server == "https://other"
    assert connection_from_flags(master="localhost:8080").server == "http://localhost:8080"
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="--kubeconfig") as raised:
        connection_from_flags()
    assert "\n" not in str(raised.value)


def test_outside_a_cluster_the_users_files_count_unless_it_replaces_kube_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    home = write(tmp_path / ".kube" / "config", document())
    found = connection_from_flags()
    assert (found.source, found.context, found.cluster) == (str(home), "x", "c")
    file = write(tmp_path / "config", document())
    monkeypatch.setenv("KUBECONFIG", str(file))
    assert connection_from_flags().source == str(file)
    with pytest.raises(ConfigError, match=r"--kubeconfig .*KUBERNETES_SERVICE_HOST"):
        connection_from_flags(drop_in=True)


def test_without_a_name_the_file_in_the_home_folder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / ".kube" / "config", document())
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_kubeconfig(environment={}).server == SERVER


def test_in_a_cluster_its_own_server_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Connection(server="https://10.0.0.1:443")
    monkeypatch.setattr(kubeconfig, "in_cluster_connection", lambda: own)
    assert connection_from_flags() is own


@pytest.mark.parametrize("basic", [{"username": "ada"}, {"password": "pw"}], ids=["name", "word"])
async def test_a_name_or_a_password_alone_is_a_method_too(load: Any, basic: Any) -> None:
    shown = f"{basic.get('username', '')}:{basic.get('password', '')}"
    assert await header(load(basic)) == "Basic " + base64.b64encode(shown.encode()).decode()
    with pytest.raises(ConfigError, match="more than one authentication method"):
        load({**basic, "token": "t"})


@pytest.mark.parametrize(
    "asked",
    [{"as-uid": "1"}, {"as-groups": ["a"]}, {"as-user-extra": {"a": ["b"]}}],
    ids=["a uid", "groups", "more"],
)
def test_someone_must_be_named_to_be_impersonated(load: Any, asked: Any) -> None:
    with pytest.raises(ConfigError, match="without impersonating a user"):
        load(asked)


@pytest.mark.parametrize("part", ["clusters", "users", "contexts"])
def test_a_file_with_one_part_is_a_configuration(tmp_path: Path, part: str) -> None:
    body = {"current-context": "none", part: document()[part]}
    with pytest.raises(ConfigError, match='context "none" does not exist'):
        load_kubeconfig(write(tmp_path / "config", body))

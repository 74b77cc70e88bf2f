"""The in-cluster connection of a pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.client.in_cluster import in_cluster_connection
from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock

ENVIRONMENT = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("one")
    (tmp_path / "ca.crt").write_text("ca")
    (tmp_path / "namespace").write_text("team\n")
    return tmp_path


async def test_everything_is_found_in_the_pod(folder: Path) -> None:
    connection = in_cluster_connection(ENVIRONMENT, folder)
    assert connection.server == "https://10.0.0.1:443"
    assert connection.namespace == "team"
    assert connection.tls.authority.file == str(folder / "ca.crt")
    clock = VirtualClock()
    credentials = connection.credentials(clock)
    assert await credentials.authorization() == "Bearer one"
    (folder / "token").write_text("two")
    clock.advance(60.0)
    assert await credentials.authorization() == "Bearer two"


def test_an_address_of_the_newer_sort_stands_in_brackets(folder: Path) -> None:
    environment = {**ENVIRONMENT, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert in_cluster_connection(environment, folder).server == "https://[fd00::1]:443"


def test_the_pod_may_name_its_namespace(folder: Path) -> None:
    assert in_cluster_connection({**ENVIRONMENT, "POD_NAMESPACE": "x"}, folder).namespace == "x"
    (folder / "namespace").unlink()
    assert in_cluster_connection(ENVIRONMENT, folder).namespace == "default"


def test_without_an_authority_the_systems_is_trusted(folder: Path) -> None:
    (folder / "ca.crt").unlink()
    assert not in_cluster_connection(ENVIRONMENT, folder).tls.authority


@pytest.mark.parametrize("content", [b"", b"\xff"], ids=["empty", "no text"])
def test_a_namespace_that_cannot_be_read_is_the_default(folder: Path, content: bytes) -> None:
    (folder / "namespace").write_bytes(content)
    assert in_cluster_connection(ENVIRONMENT, folder).namespace == "default"


@pytest.mark.parametrize("missing", ENVIRONMENT)
def test_host_and_port_must_both_be_known(folder: Path, missing: str) -> None:
    environment = {name: value for name, value in ENVIRONMENT.items() if name != missing}
    with pytest.raises(ConfigError, match="unable to load in-cluster configuration"):
        in_cluster_connection(environment, folder)


def test_outside_a_cluster_that_is_said(folder: Path) -> None:
    with pytest.raises(ConfigError, match="unable to load in-cluster configuration"):
        in_cluster_connection({}, folder)
    (folder / "token").unlink()
    with pytest.raises(ConfigError, match="failed to read token file"):
        in_cluster_connection(ENVIRONMENT, folder)

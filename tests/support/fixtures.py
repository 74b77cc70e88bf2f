"""The fixtures that give tests a control plane; tests/conftest.py hands them to pytest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import Api
from tests.support.cluster import Cluster, turn_on
from tests.support.control_plane import ControlPlane, GivenCluster
from tests.support.real_parts import locate

OPTION = "--mooring-cluster"


@pytest.fixture(scope="session")
def control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane | GivenCluster]:
    """Give an API server to the whole run: one started here, or that of --mooring-cluster."""
    folder = tmp_path_factory.mktemp("control-plane")
    if given := request.config.getoption(OPTION):
        yield GivenCluster(Path(given).expanduser(), folder)
        return
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"))
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def cluster(control_plane: ControlPlane | GivenCluster) -> Iterator[Cluster]:
    """Give a namespace of its own to a test, and wipe the cluster when it ends."""
    with turn_on(control_plane), Api(control_plane.access) as api:
        cluster = Cluster(control_plane, api)
        yield cluster
        cluster.wipe()


@pytest.fixture
def private_control_plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Give a control plane to one test alone, which may kill its parts."""
    folder = tmp_path / "control-plane"
    folder.mkdir()
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"))
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def kube_scheduler() -> Path:
    """Give the reference kube-scheduler."""
    return locate("KUBE_SCHEDULER")


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """Give kubectl of the reference's version."""
    return locate("KUBECTL")

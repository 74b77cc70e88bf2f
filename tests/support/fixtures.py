"""The fixtures of a control plane; tests/conftest.py makes them available to tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.api import Api
from tests.support.cluster import Cluster, turn_on
from tests.support.control_plane import ControlPlane, GivenCluster
from tests.support.real_parts import locate
from tools.testenv import build

OPTION = "--mooring-cluster"


@contextmanager
def run_control_plane(
    folder: Path, release: str = build.REFERENCE, *, flags: tuple[str, ...] = ()
) -> Iterator[ControlPlane]:
    """Run an API server of a release of tools/testenv, and etcd, with their files in a folder.

    `flags` are additional ones of the API server.
    """
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER", release), flags=flags)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane | GivenCluster]:
    """Yield the API server of the whole run: one started here, or that of --mooring-cluster."""
    folder = tmp_path_factory.mktemp("control-plane")
    if given := request.config.getoption(OPTION):
        yield GivenCluster(Path(given).expanduser(), folder)
        return
    with run_control_plane(folder) as plane:
        yield plane


@pytest.fixture(scope="session")
def oldest_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield the API server of the oldest supported release, for the whole run."""
    with run_control_plane(tmp_path_factory.mktemp("oldest"), build.OLDEST) as plane:
        yield plane


@pytest.fixture
def cluster(control_plane: ControlPlane | GivenCluster) -> Iterator[Cluster]:
    """Yield a cluster with a namespace for one test, and wipe it when the test ends."""
    with turn_on(control_plane), Api(control_plane.access) as api:
        cluster = Cluster(control_plane, api)
        yield cluster
        cluster.wipe()


@pytest.fixture
def private_control_plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Yield a control plane for one test alone, which may kill its parts."""
    folder = tmp_path / "control-plane"
    folder.mkdir()
    with run_control_plane(folder) as plane:
        yield plane


@pytest.fixture(scope="module")
def pod_group_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield an API server that serves pod groups, for the tests of a module."""
    flags = (
        "--feature-gates=GenericWorkload=true",
        "--runtime-config=scheduling.k8s.io/v1beta1=true",
    )
    with run_control_plane(tmp_path_factory.mktemp("pod-groups"), flags=flags) as plane:
        yield plane


@pytest.fixture(scope="session")
def kube_scheduler() -> Path:
    """Return the path of the reference kube-scheduler."""
    return locate("KUBE_SCHEDULER")


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """Return the path of kubectl of the reference's version."""
    return locate("KUBECTL")

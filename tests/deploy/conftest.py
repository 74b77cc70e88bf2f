"""The fixtures of a scheduler that runs as its manifests say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.deployed import Deployed, manifests
from tests.deploy.scheduler_pods import SchedulerPod
from tests.live.running import eventually
from tests.support.api import Api
from tests.support.control_plane import ControlPlane, GivenCluster

NAME = "my-scheduler"
# Keeps a pod at Permit until another comes by, and refuses some whatever happens.
HOLD = '''
from mooring import Plugin, Status


class Hold(Plugin):
    """Let a pod wait until another one lets it go."""

    def pre_filter(self, state, pod, nodes):
        if "refuse" in pod.metadata.labels:
            return Status.unschedulable("refused")

    def permit(self, state, pod, node_name):
        if "hold" in pod.metadata.labels:
            return Status.wait(60)
        for waiting in self.handle.waiting_pods():
            waiting.allow(self.name)
'''


@pytest.fixture(scope="module")
def deployed(
    control_plane: ControlPlane | GivenCluster,
    kubectl: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Deployed]:
    """Give a scheduler's objects, applied by kubectl."""
    if isinstance(control_plane, GivenCluster):
        pytest.skip("takes rights away, on a cluster of its own only")
    folder = tmp_path_factory.mktemp("deployed")
    (folder / "hold.py").write_text(HOLD)
    found = manifests("--name", NAME, "--plugin", str(folder / "hold.py"))
    with Api(control_plane.access) as api:
        deployed = Deployed(control_plane, kubectl, folder, api, found)
        deployed.kubectl("apply", "-f", "-")
        yield deployed
        deployed.kubectl("delete", "--wait=false", "-f", "-")


@pytest.fixture(scope="module")
def running(deployed: Deployed) -> Iterator[SchedulerPod]:
    """Give a scheduler that leads."""
    with deployed.started() as pod:
        eventually(lambda: pod.status("/readyz") == 200, "the scheduler is ready", 60)
        pod.wait_logged("Successfully acquired lease")
        yield pod
        assert pod.runs

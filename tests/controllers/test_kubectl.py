"""What kubectl users do with workloads, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mooring.api import Deployment, Pod
from mooring.controllers.controlled_kinds import DEPLOYMENTS
from tests.support.controllers import Workbench, workload
from tests.support.waiting import PATIENCE


class Kubectl:
    """A kubectl that runs in the test's namespace."""

    def __init__(self, program: Path, bench: Workbench) -> None:
        self._program = program
        self._bench = bench

    async def __call__(self, *arguments: str) -> str:
        bench = self._bench
        process = await asyncio.create_subprocess_exec(
            str(self._program),
            f"--kubeconfig={bench.kubeconfig}",
            f"--namespace={bench.namespace}",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 2 * PATIENCE)
        assert process.returncode == 0, err.decode()
        return out.decode()


@pytest.fixture
def run(kubectl: Path, workbench: Workbench) -> Kubectl:
    return Kubectl(kubectl, workbench)


async def test_a_rollout_is_watched_and_undone(run: Kubectl, workbench: Workbench) -> None:
    await run("create", "deployment", "web", "--image=image:1", "--replicas=3")
    watched = await run("rollout", "status", "deployment/web", f"--timeout={PATIENCE:.0f}s")
    assert watched.endswith('deployment "web" successfully rolled out\n')
    await run("set", "image", "deployment/web", "image=image:2")
    await run("rollout", "status", "deployment/web", f"--timeout={PATIENCE:.0f}s")
    history = await run("rollout", "history", "deployment/web")
    assert [line.split()[0] for line in history.splitlines()[2:4]] == ["1", "2"]
    await run("rollout", "undo", "deployment/web")
    await run("rollout", "status", "deployment/web", f"--timeout={PATIENCE:.0f}s")
    found = workbench.raw(Deployment, "web")
    assert found is not None
    assert found.get("spec.template.spec.containers.0.image") == "image:1"
    assert found.metadata.annotations["deployment.kubernetes.io/revision"] == "3"
    described = await run("describe", "deployment", "web")
    assert "NewReplicaSet:   web-" in described
    assert "Scaled up replica set web-" in described
    assert "deployment-controller" in described


async def test_workloads_are_waited_for_scaled_and_restarted(
    run: Kubectl, workbench: Workbench
) -> None:
    await workbench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=1))
    await run("wait", "--for=condition=Available", "deployment/web", f"--timeout={PATIENCE:.0f}s")
    await run("scale", "deployment/web", "--replicas=2")
    await run("rollout", "status", "deployment/web", f"--timeout={PATIENCE:.0f}s")
    before = {pod.metadata.uid for pod in workbench.all(Pod)}
    await run("rollout", "restart", "deployment/web")
    await run("rollout", "status", "deployment/web", f"--timeout={PATIENCE:.0f}s")
    await workbench.until(
        lambda: not before & {pod.metadata.uid for pod in workbench.all(Pod)}, "new pods"
    )
    table = (await run("get", "deployment", "web", "--no-headers")).split()
    assert table[:4] == ["web", "2/2", "2", "2"]
    await run("create", "job", "once", "--image=image", "--", "true")
    await run("wait", "--for=condition=Complete", "job/once", f"--timeout={PATIENCE:.0f}s")
    assert (await run("get", "job", "once", "--no-headers")).split()[1:3] == ["Complete", "1/1"]
    await run("delete", "deployment", "web", "--cascade=foreground", f"--timeout={PATIENCE:.0f}s")
    await run("delete", "job", "once", f"--timeout={PATIENCE:.0f}s")
    await workbench.until(lambda: not workbench.all(Pod), "no pods")


async def test_a_node_is_drained(run: Kubectl, workbench: Workbench) -> None:
    await workbench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2))
    await run("rollout", "status", "deployment/web", f"--timeout={PATIENCE:.0f}s")
    host = workbench.pods()[0].spec.node_name
    workbench.binds = False
    await run("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=0")
    await run("drain", host, f"--timeout={PATIENCE:.0f}s", "--pod-selector=app=web")
    assert not [pod for pod in workbench.pods() if pod.spec.node_name == host]
    described = await run("describe", "node", host)
    assert "node.kubernetes.io/unschedulable:NoSchedule" in described
    await run("uncordon", host)

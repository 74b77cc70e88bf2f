"""Pods whose containers run as processes; here the processes are the test's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.kubelet import real_pod
from mooring.kubelet.container_log import ContainerLog
from mooring.kubelet.container_ports import Ports
from mooring.kubelet.image_contents import ImageContents
from mooring.kubelet.real_pod import CONFIG_ERROR, REFRESH_SECONDS, PodRuntime, RealPod
from tests.controllers.still_cluster import StillCluster, still_cluster

Object = dict[str, Any]

WHEN = "2026-01-01T00:00:00Z"


class Process:
    """A process that ends when a test ends it."""

    made: ClassVar[list[Process]] = []

    def __init__(self, log: Any, ended: Callable[[], None]) -> None:
        self.exit_code: int | None = None
        self.words: list[str] = []
        self.variables: dict[str, str] = {}
        self.signals: list[str] = []
        self.log = log
        self.ended = ended
        Process.made.append(self)

    async def start(
        self, words: list[str], variables: Any, root: Path, working: str, image: Any
    ) -> None:
        self.words, self.variables = list(words), dict(variables)

    def end(self, code: int) -> None:
        self.exit_code = code
        self.log.close()
        self.ended()

    def terminate(self) -> None:
        self.signals.append("TERM")

    def kill(self) -> None:
        self.signals.append("KILL")

    async def close(self, grace: float) -> None:
        self.signals.append(f"close {grace}")
        self.log.close()


class Running:
    """A real pod, with what it told."""

    def __init__(
        self, cluster: StillCluster, folder: Path, spec: dict[str, Any], status: Any
    ) -> None:
        self.cluster = cluster
        self.told: list[tuple[str, str]] = []
        self.changes = 0
        self.folder = folder
        container = {"name": "c", "image": "mooring", **spec.pop("container", {})}
        self.raw: dict[str, Any] = {
            "metadata": {"name": "p", "namespace": "default", "uid": "u"},
            "spec": {"containers": [container], **spec},
            "status": status,
        }
        self.pod = decode_as(self.raw, Pod)
        images = ImageContents([("mooring", "")])
        around = PodRuntime(cluster.client, cluster.clock, images, {"HOST": "h"}, Ports(), folder)
        self.real = RealPod(self.pod, self.raw, around, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    async def sync(self) -> float:
        def tell(kind: str, reason: str, message: str) -> None:
            self.told.append((reason, message))

        return await self.real.sync(self.pod, ("1", "2"), tell)

    def stop(self, seconds: float) -> bool:
        return self.real.stop(self.pod, seconds, lambda *what: self.told.append(what[1:]))  # type: ignore[arg-type]

    @property
    def reasons(self) -> list[str]:
        return [reason for reason, _ in self.told]

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.real.statuses(self.pod, WHEN)[0]["state"]
        return state


@asynccontextmanager
async def running_pod(
    folder: Path, status: Object | None = None, **spec: Any
) -> AsyncIterator[Running]:
    """Yield a pod on a cluster that stands still."""
    async with still_cluster() as cluster:
        running = Running(cluster, folder, spec, status or {})
        try:
            yield running
        finally:
            await running.real.close(0)


@pytest.fixture(autouse=True)
def processes(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """Return the processes that were made; none of them really runs."""
    monkeypatch.setattr(real_pod, "ContainerProcess", Process)
    monkeypatch.setattr(Process, "made", [])
    return Process.made


async def test_a_container_is_started_with_its_command_and_variables(tmp_path: Path) -> None:
    variables = {"env": [{"name": "A", "value": "1"}], "args": ["run", "--v=2"]}
    async with running_pod(tmp_path, container=variables) as running:
        assert running.state == {"waiting": {"reason": "ContainerCreating"}}
        assert not running.real.has_sandbox
        assert await running.sync() == REFRESH_SECONDS
        assert running.reasons == ["Pulled", "Created", "Started"]
        (process,) = Process.made
        assert process.words[:2] == ["run", "--v=2"]
        assert process.variables["A"] == "1" and process.variables["HOST"] == "h"
        assert process.variables["HOSTNAME"] == "p"
        assert running.state == {"running": {"startedAt": WHEN}}
        assert running.real.has_sandbox
        assert await running.sync() == REFRESH_SECONDS
        assert len(Process.made) == 1


async def test_a_working_directory_that_cannot_be_is_a_failed_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[ContainerLog] = []

    class Log(ContainerLog):
        def close(self) -> None:
            closed.append(self)
            super().close()

    monkeypatch.setattr(real_pod, "ContainerLog", Log)
    async with running_pod(tmp_path, container={"workingDir": "/a\0b"}) as running:
        await running.sync()
        assert running.reasons == ["Pulled", "Created", "Failed"]
        assert running.state["terminated"]["reason"] == "StartError"
        assert closed == [Process.made[0].log]


async def test_a_container_that_fails_backs_off(tmp_path: Path) -> None:
    async with running_pod(tmp_path) as running:
        await running.sync()
        Process.made[0].end(1)
        assert running.changes == 1
        await running.sync()
        assert len(Process.made) == 2
        Process.made[1].end(1)
        assert await running.sync() == 10.0
        assert running.state["waiting"]["reason"] == "CrashLoopBackOff"
        assert running.reasons[-1] == "BackOff"
        told = len(running.told)
        await running.sync()
        assert len(running.told) == told
        running.cluster.advance(10)
        await running.sync()
        assert len(Process.made) == 3


async def test_a_container_that_may_not_restart_stays_ended(tmp_path: Path) -> None:
    async with running_pod(tmp_path, restartPolicy="Never") as running:
        await running.sync()
        Process.made[0].end(0)
        await running.sync()
        assert len(Process.made) == 1
        assert running.state["terminated"]["exitCode"] == 0


async def test_a_volume_that_is_missing_is_tried_again_ever_later(tmp_path: Path) -> None:
    volumes = [{"name": "v", "configMap": {"name": "m"}}]
    async with running_pod(tmp_path, volumes=volumes) as running:
        waits = []
        for _ in range(4):
            waits.append(await running.sync())
            running.cluster.advance(waits[-1])
        assert waits == [0.5, 1.0, 2.0, 2.0]
        assert set(running.reasons) == {"FailedMount"}
        assert not running.real.has_sandbox and Process.made == []
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
        await running.cluster.create("configmaps.v1.", config)
        await running.sync()
        assert len(Process.made) == 1


async def test_a_variable_that_is_missing_is_waited_for(tmp_path: Path) -> None:
    source = {"configMapKeyRef": {"name": "m", "key": "k"}}
    env = {"env": [{"name": "A", "valueFrom": source}]}
    async with running_pod(tmp_path, container=env) as running:
        assert await running.sync() == 0.5
        assert running.reasons == ["Pulled", "Failed"]
        assert running.state["waiting"]["reason"] == CONFIG_ERROR
        # Before the time has come, nothing is tried.
        running.cluster.advance(0.25)
        assert await running.sync() == 0.25
        assert running.reasons == ["Pulled", "Failed"]
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
        await running.cluster.create("configmaps.v1.", {**config, "data": {"k": "v"}})
        running.cluster.advance(0.25)
        await running.sync()
        assert Process.made[0].variables["A"] == "v"


async def test_a_program_that_the_image_does_not_have(tmp_path: Path) -> None:
    async with running_pod(tmp_path, container={"command": ["/bin/sh"]}) as running:
        await running.sync()
        assert Process.made == []
        assert running.changes == 1
        ended = running.state["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
        assert running.reasons == ["Pulled", "Created", "Failed"]


async def test_other_containers_are_simulated(tmp_path: Path) -> None:
    others = [{"name": "c", "image": "mooring"}, {"name": "d", "image": "nginx"}]
    async with running_pod(tmp_path) as running:
        running.raw["spec"]["containers"] = others
        running.pod = decode_as(running.raw, Pod)
        before = running.real.statuses(running.pod, WHEN)
        assert "waiting" in before[1]["state"]
        assert running.real.find("d") is None and running.real.find("c") is not None
        await running.sync()
        after = running.real.statuses(running.pod, WHEN)
        assert after[1]["state"] == {"running": {"startedAt": WHEN}}


async def test_a_stop_is_asked_for_once_and_then_forced(tmp_path: Path) -> None:
    async with running_pod(tmp_path) as running:
        await running.sync()
        (process,) = Process.made
        assert not running.stop(5)
        assert not running.stop(4)
        assert process.signals == ["TERM"]
        assert running.reasons.count("Killing") == 1
        assert not running.stop(0)
        assert process.signals == ["TERM", "KILL"]
        process.end(137)
        assert running.stop(0)


async def test_closing_ends_processes_and_deletes_files(tmp_path: Path) -> None:
    async with running_pod(tmp_path) as running:
        await running.sync()
        assert (tmp_path / "u" / "logs").is_dir()
        await running.real.close(3.0)
        assert Process.made[0].signals == ["TERM", "close 3.0"]
        assert not (tmp_path / "u").exists()


async def test_a_pod_of_an_earlier_kubelet_counts_its_restarts(tmp_path: Path) -> None:
    known = {"name": "c", "containerID": "containerd://x", "restartCount": 4}
    known |= {"state": {"running": {"startedAt": WHEN}}}
    async with running_pod(tmp_path, {"containerStatuses": [known]}) as running:
        assert running.state == {"waiting": {"reason": "ContainerCreating"}}
        await running.sync()
        (status,) = running.real.statuses(running.pod, WHEN)
        assert status["restartCount"] == 5
        assert status["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"

"""Pods whose containers really run, on Mooring's API server and a clock that tests advance."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.api import Pod
from mooring.apiserver.api_server import ApiServer, ServerSettings
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.subresources.pod_logs import PodLogOptions
from mooring.client.resources import raw_resource
from mooring.kubelet.image_contents import ImageContents
from mooring.kubelet.real_pods import ContainerSettings
from tests.support.controllers import ManualClock, Object, Workbench
from tests.support.waiting import PATIENCE

EVENTS = raw_resource("events.v1")
# The scheduler ends at once with an error message.
FAILS = ["--config=/etc/kubernetes/missing.yaml"]
# The scheduler runs until it is stopped: no API server listens at this address.
RUNS = ["--secure-port=0", "--leader-elect=false", "--master=https://127.0.0.1:1"]


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that tests advance."""
    return ManualClock()


@pytest.fixture
async def bench(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Workbench]:
    """Yield a cluster that runs containers of the image `mooring`."""
    server = ApiServer(ServerSettings(kubeconfig=tmp_path / "kubeconfig"))
    await server.start()
    server.write_kubeconfig()
    server.publish_authority()
    settings = ContainerSettings(server.url, ImageContents([("mooring", "")]))
    made = Workbench(tmp_path / "kubeconfig", clock=clock, containers=settings)
    try:
        await made.start()
        yield made
    finally:
        await made.close()
        await server.stop()


def a_pod(args: list[str], volumes: list[Object] | None = None, **more: Any) -> Object:
    container: Object = {"name": "scheduler", "image": "example.com/mooring:v1", "args": args}
    container |= {key: more.pop(key) for key in ("env", "volumeMounts", "command") if key in more}
    spec: Object = {"containers": [container], "terminationGracePeriodSeconds": 5, **more}
    if volumes:
        spec["volumes"] = volumes
    metadata = {"name": "p"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def state(bench: Workbench) -> Object:
    found = bench.get(Pod, "p")
    statuses = found.status.container_statuses if found else ()
    return dict(statuses[0].state) if statuses else {}


def phase(bench: Workbench) -> str:
    found = bench.get(Pod, "p")
    return found.status.phase if found else ""


async def pass_time(
    bench: Workbench, clock: ManualClock, found: Callable[[], object], what: str
) -> None:
    """Advance the clock until `found()` is true; in steps, as a timer may be set later."""
    for _ in range(100):
        clock.advance(8)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                await bench.until(found, what)
                return
    raise AssertionError(f"waited for {what} in vain")


def waiting(bench: Workbench) -> str:
    return str((state(bench).get("waiting") or {}).get("reason", ""))


def events(bench: Workbench) -> dict[str, tuple[str, int]]:
    """Return the message and count of the kubelets' Events, by reason."""
    return {
        one.raw["reason"]: (one.raw["message"], one.raw["count"])
        for one in bench.all(EVENTS)
        if one.raw["source"].get("component") == "kubelet"
    }


async def log(bench: Workbench, **options: Any) -> str:
    source = bench.fake_nodes.log_source
    assert source is not None
    pod = await bench.writer.get(raw_resource(Pod), bench.namespace, "p")
    chunks = source.log(pod, "scheduler", PodLogOptions(**options))
    assert chunks is not None
    return b"".join([chunk async for chunk in chunks]).decode()


async def test_a_container_that_fails_is_restarted_ever_more_slowly(
    bench: Workbench, clock: ManualClock
) -> None:
    bench.store(EVENTS)
    await bench.create(Pod, a_pod(FAILS))
    # The first restart is immediate, the second waits.
    await bench.until(lambda: waiting(bench) == "CrashLoopBackOff", "the back-off")
    pod = bench.get(Pod, "p")
    status = pod.status.container_statuses[0]
    text = f"p_{bench.namespace}({pod.metadata.uid})"
    assert status.state["waiting"]["message"] == (
        f"back-off 10s restarting failed container=scheduler pod={text}"
    )
    last = status.last_state["terminated"]
    assert (last["exitCode"], last["reason"]) == (1, "Error")
    assert (status.restart_count, status.ready, pod.status.phase) == (1, False, "Running")
    ready = {one.type: (one.status, one.reason, one.message) for one in pod.status.conditions}
    assert ready["Ready"] == (
        "False",
        "ContainersNotReady",
        "containers with unready status: [scheduler]",
    )
    await bench.until(lambda: "BackOff" in events(bench), "the Event")
    told = events(bench)
    assert told["BackOff"][0] == f"Back-off restarting failed container scheduler in pod {text}"
    assert told["Started"] == ("Container started", 2)
    assert "/etc/kubernetes/missing.yaml" in await log(bench)
    assert "/etc/kubernetes/missing.yaml" in await log(bench, previous=True)
    clock.advance(9)
    assert waiting(bench) == "CrashLoopBackOff"
    clock.advance(1)
    await bench.until(
        lambda: bench.get(Pod, "p").status.container_statuses[0].restart_count == 2, "a restart"
    )
    await bench.until(
        lambda: "back-off 20s" in (state(bench).get("waiting") or {}).get("message", ""),
        "a longer back-off",
    )


async def test_a_container_that_may_not_be_restarted(bench: Workbench) -> None:
    await bench.create(Pod, a_pod(FAILS, restartPolicy="Never"))
    await bench.until(lambda: phase(bench) == "Failed", "the failure")
    assert state(bench)["terminated"]["exitCode"] == 1
    assert "missing.yaml" in await log(bench)
    with pytest.raises(Refusal, match="previous terminated container"):
        await log(bench, previous=True)
    await bench.delete(Pod, "p")
    await bench.until(lambda: bench.get(Pod, "p") is None, "its end")


async def test_a_pod_that_is_deleted_ends_its_process(bench: Workbench, clock: ManualClock) -> None:
    bench.store(EVENTS)
    await bench.create(Pod, a_pod(RUNS))
    await bench.until(lambda: "running" in state(bench), "the process")
    following = asyncio.create_task(log(bench, follow=True))
    pod = bench.get(Pod, "p")
    assert pod.status.phase == "Running" and len(pod.status.pod_ips) == 1
    await bench.delete(Pod, "p")
    # If SIGTERM comes before the process handles it, the process is killed after the grace period.
    await pass_time(bench, clock, lambda: bench.get(Pod, "p") is None, "its end")
    async with asyncio.timeout(PATIENCE):
        await following
    await bench.until(lambda: "Killing" in events(bench), "the Event")
    assert events(bench)["Killing"][0] == "Stopping container scheduler"


async def test_a_volume_that_is_missing_is_waited_for(bench: Workbench, clock: ManualClock) -> None:
    bench.store(EVENTS)
    volume = {"name": "config", "configMap": {"name": "late"}}
    mount = {"name": "config", "mountPath": "/etc/kubernetes"}
    await bench.create(Pod, a_pod(["--config=/etc/kubernetes/a"], [volume], volumeMounts=[mount]))
    await bench.until(lambda: waiting(bench) == "ContainerCreating", "the wait")
    assert bench.get(Pod, "p").status.phase == "Pending"
    await bench.until(lambda: "FailedMount" in events(bench), "the Event")
    assert events(bench)["FailedMount"][0] == (
        'MountVolume.SetUp failed for volume "config" : configmap "late" not found'
    )
    with pytest.raises(Refusal, match='"scheduler" in pod "p" is waiting to start: Cont'):
        await log(bench)
    late = {"metadata": {"name": "late"}, "data": {"a": "kind: Nonsense\n"}}
    await bench.create("configmaps.v1", {"apiVersion": "v1", "kind": "ConfigMap", **late})
    await pass_time(bench, clock, lambda: "Started" in events(bench), "the start")
    await bench.until(lambda: waiting(bench) == "CrashLoopBackOff", "the end")
    # The message shows the file's path in the container.
    assert "/etc/kubernetes/a:1" in await log(bench)


async def test_a_variable_that_is_missing_is_waited_for(
    bench: Workbench, clock: ManualClock
) -> None:
    bench.store(EVENTS)
    reference = {"secretKeyRef": {"name": "late", "key": "level"}}
    variable = {"name": "LEVEL", "valueFrom": reference}
    await bench.create(Pod, a_pod(["--v=$(LEVEL)"], env=[variable], restartPolicy="Never"))
    await bench.until(lambda: waiting(bench) == "CreateContainerConfigError", "the wait")
    assert state(bench)["waiting"]["message"] == 'secret "late" not found'
    await bench.until(lambda: "Failed" in events(bench), "the Event")
    assert events(bench)["Failed"][0] == 'Error: secret "late" not found'
    late = {"metadata": {"name": "late"}, "stringData": {"level": "high"}}
    await bench.create("secrets.v1", {"apiVersion": "v1", "kind": "Secret", **late})
    await pass_time(bench, clock, lambda: phase(bench) == "Failed", "the end")
    assert 'invalid argument "high" for "-v, --v"' in await log(bench)


async def test_a_program_that_is_not_in_the_image(bench: Workbench) -> None:
    await bench.create(Pod, a_pod([], command=["/bin/sh"], restartPolicy="Never"))
    await bench.until(lambda: "terminated" in state(bench), "the end")
    ended = state(bench)["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("StartError", 128)
    assert 'exec: "/bin/sh": executable file not found' in ended["message"]


async def test_others_are_simulated_beside_it(bench: Workbench) -> None:
    made = a_pod(FAILS)
    made["spec"]["containers"].append({"name": "web", "image": "nginx"})
    await bench.create(Pod, made)
    await bench.until(lambda: waiting(bench) == "CrashLoopBackOff", "the back-off")
    _, web = bench.get(Pod, "p").status.container_statuses
    assert web.ready and "running" in web.state


async def test_a_pod_that_is_gone_takes_its_process_along(
    bench: Workbench, clock: ManualClock
) -> None:
    await bench.create(Pod, a_pod(RUNS))
    await bench.until(lambda: "running" in state(bench), "the process")
    following = asyncio.create_task(log(bench, follow=True))
    await asyncio.sleep(0)
    await bench.delete(Pod, "p", gracePeriodSeconds=0)
    async with asyncio.timeout(PATIENCE):
        await following

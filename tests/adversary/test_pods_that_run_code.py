"""Pods that try to run code on the machine of whoever runs the local cluster."""

from __future__ import annotations

import asyncio
import copy
import sqlite3
from collections.abc import Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.api.manifest_reading import Where
from mooring.apiserver.api import SIMULATED
from mooring.apiserver.api_server import ServerSettings
from mooring.client.client import MERGE
from mooring.client.kubeconfig import load_kubeconfig
from mooring.kubelet.container_process import ContainerProcess
from mooring.kubelet.image_contents import Image, ImageContents
from tests.local.clusters import Reader, running
from tests.support.waiting import PATIENCE

Object = dict[str, Any]

FREE = ImageContents([("mooring", "")])
CODE = "--plugin=/info/p.py:X"
PODS = "/api/v1/namespaces/default/pods"
LOADED = "--run-loaded-images"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Image]:
    """Return the images of the processes that were started; none of them really runs."""
    images: list[Image] = []

    async def start(
        process: ContainerProcess, words: object, variables: object, *rest: Any
    ) -> None:
        images.append(rest[-1])

    monkeypatch.setattr(ContainerProcess, "start", start)
    return images


def template(image: str = "mooring", labels: Object | None = None) -> Object:
    annotations = {"code": "import os"}
    info = {"items": [{"path": "p.py", "fieldRef": {"fieldPath": "metadata.annotations['code']"}}]}
    container = {
        "name": "c",
        "image": image,
        "args": [CODE],
        "volumeMounts": [{"name": "info", "mountPath": "/info"}],
    }
    return {
        "metadata": {"labels": labels or {"app": "x"}, "annotations": annotations},
        "spec": {"containers": [container], "volumes": [{"name": "info", "downwardAPI": info}]},
    }


def pod(name: str = "p", image: str = "mooring", **metadata: Any) -> Object:
    made = template(image)
    made["metadata"] |= {"name": name, "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "Pod", **made}


def workload(kind: str, image: str = "mooring") -> Object:
    """Return a workload named w that makes one pod."""
    group = {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1"}
    spec: Object = {"selector": {"matchLabels": {"app": "x"}}, "template": template(image)}
    if kind == "ReplicationController":
        spec["selector"] = {"app": "x"}
    if kind == "StatefulSet":
        spec["serviceName"] = "w"
    if kind in ("Job", "CronJob"):
        del spec["selector"]
        spec["template"]["spec"]["restartPolicy"] = "Never"
    if kind == "CronJob":
        spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}}
    metadata = {"name": "w", "namespace": "default"}
    return {
        "apiVersion": group.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def dumped(obj: Object, uid: str = "8d7d4a1e-0000-4000-8000-000000000001") -> Object:
    """Return an object as `kubectl get -o yaml` prints it: a server has given it a uid."""
    made = copy.deepcopy(obj)
    made["metadata"] |= {"uid": uid, "resourceVersion": "7"}
    if made["kind"] == "Pod":
        made["spec"] |= {"nodeName": "node-0"}
        made["status"] = {"phase": "Pending"}
    if made["kind"] == "Job":
        one = dict.fromkeys(("parallelism", "completions"), 1)
        selector = {"selector": {"matchLabels": {"app": "x"}}, "manualSelector": True}
        made["spec"] |= one | selector | {"completionMode": "NonIndexed", "backoffLimit": 6}
    return made


def loaded(*objects: Object) -> tuple[tuple[Object, Where], ...]:
    return tuple((copy.deepcopy(one), Where("dump.yaml")) for one in objects)


async def simulated(reader: Reader, flags: str, count: int = 1) -> None:
    """Wait until the cluster reports pods that lack flags, and has an Event that names them."""
    await reader.until(SIMULATED, lambda found: found["pods"].get(flags) == count)
    await reader.until(
        "/api/v1/namespaces/default/events",
        lambda found: any(
            one["reason"] == "Simulated" and f"start it with {flags} to run" in one["message"]
            for one in found["items"]
        ),
    )


async def until_started(started: list[Image], count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(started) < count:
            await asyncio.sleep(0.01)


@asynccontextmanager
async def cluster(folder: Path, objects: Sequence[Object] = (), **more: Any) -> Any:
    folder.mkdir(exist_ok=True)
    async with running(folder, nodes=1, objects=loaded(*objects), **more) as reader:
        yield reader


async def change(reader: Reader, path: str, patch: Object) -> None:
    await reader.client.request("PATCH", path, msgspec.json.encode(patch), MERGE)


@pytest.mark.parametrize(
    "image", ["mooring", "mooring:v1", "evil.example:5000/a/mooring", "mooring@sha256:12"]
)
async def test_no_pod_starts_a_process_by_default(
    tmp_path: Path, started: list[Image], image: str
) -> None:
    async with cluster(tmp_path) as reader:
        await reader.post(PODS, pod(image=image))
        await simulated(reader, "--image mooring")
        await reader.until(f"{PODS}/p", lambda found: found["status"]["phase"] == "Running")
        # The log of a simulated container is not that of a process either.
        assert await reader.client.request("GET", f"{PODS}/p/log") is not None
        await reader.client.request("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
        await reader.until(SIMULATED, lambda found: found == {"pods": {}})
    assert not started


async def test_a_named_image_starts_a_process(tmp_path: Path, started: list[Image]) -> None:
    async with cluster(tmp_path, images=FREE) as reader:
        await reader.post(PODS, pod())
        await reader.post(PODS, pod("other", "nginx"))
        await until_started(started, 1)
        assert (await reader.get(SIMULATED))["pods"] == {}
    assert started == [Image()]


@pytest.mark.parametrize("form", [copy.copy, dumped], ids=["a manifest", "a dump"])
async def test_a_loaded_pod_starts_no_process(
    tmp_path: Path, started: list[Image], form: Any
) -> None:
    async with cluster(tmp_path, [form(pod())], images=FREE) as reader:
        await simulated(reader, LOADED)
    assert not started
    async with cluster(tmp_path, [form(pod())]) as reader:
        await simulated(reader, f"--image mooring {LOADED}")
    assert not started
    async with cluster(tmp_path, [form(pod())], images=FREE, run_loaded_images=True) as reader:
        await until_started(started, 1)
        assert (await reader.get(SIMULATED))["pods"] == {}


async def test_a_copied_pod_starts_no_process(tmp_path: Path, started: list[Image]) -> None:
    (tmp_path / "source").mkdir()
    async with cluster(tmp_path / "source") as source:
        await source.post(PODS, pod())
        await source.post("/apis/apps/v1/namespaces/default/deployments", workload("Deployment"))
        await simulated(source, "--image mooring", 2)
        connection = load_kubeconfig(tmp_path / "source" / "kubeconfig")
        async with cluster(tmp_path, source=connection, images=FREE) as reader:
            await simulated(reader, LOADED, 2)
            await reader.client.request("DELETE", f"{PODS}?gracePeriodSeconds=0")
            # The Deployment makes its pod again.
            await reader.until(PODS, lambda found: len(found["items"]) == 1)
            await simulated(reader, LOADED)
    assert not started


@pytest.mark.parametrize("form", [copy.copy, dumped], ids=["a manifest", "a dump"])
@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"])
async def test_pods_of_a_loaded_workload_start_no_process(
    tmp_path: Path, started: list[Image], kind: str, form: Any
) -> None:
    async with cluster(tmp_path, [form(workload(kind))], images=FREE) as reader:
        await simulated(reader, LOADED)
    assert not started


async def test_a_job_of_a_loaded_cron_job_starts_no_process(
    tmp_path: Path, started: list[Image]
) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    async with cluster(tmp_path, [workload("CronJob")], images=FREE) as reader:
        found = await reader.get("/apis/batch/v1/namespaces/default/cronjobs/w")
        job = workload("Job")
        # kubectl create job --from=cronjob/w
        job["metadata"]["ownerReferences"] = [owner(found, "batch/v1", "CronJob")]
        await reader.post(jobs, job)
        await simulated(reader, LOADED)
    assert not started


def owner(found: Object, version: str, kind: str, **more: Any) -> Object:
    metadata = found["metadata"]
    return {
        "apiVersion": version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        **more,
    }


CHANGES: list[Object] = [
    {"metadata": {"annotations": None, "labels": {"app": "x", "mooring.dev/loaded": "false"}}},
    {"metadata": {"annotations": {"mooring.dev/loaded": "false"}, "ownerReferences": None}},
    {"metadata": {"managedFields": [], "finalizers": ["a.example/b"]}},
    {"spec": {"containers": [{"name": "c", "image": "example/mooring:2"}]}},
]


@pytest.mark.parametrize("patch", CHANGES, ids=lambda patch: str(patch)[:60])
async def test_no_change_of_a_loaded_pod_makes_it_run(
    tmp_path: Path, started: list[Image], patch: Object
) -> None:
    async with cluster(tmp_path, [pod()], images=FREE) as reader:
        await simulated(reader, LOADED)
        patch = copy.deepcopy(patch)
        for one in patch.get("spec", {}).get("containers", ()):
            one |= {key: value for key, value in (await spec(reader))[0].items() if key != "image"}
        await change(reader, f"{PODS}/p", patch)
        await reader.post(PODS, pod("later"))
        # The later pod starts after the kubelet has seen the change.
        await until_started(started, 1)
        assert (await reader.get(SIMULATED))["pods"] == {LOADED: 1}
    assert len(started) == 1


async def spec(reader: Reader) -> list[Object]:
    found: list[Object] = (await reader.get(f"{PODS}/p"))["spec"]["containers"]
    return found


async def test_a_loaded_deployment_stays_loaded(tmp_path: Path, started: list[Image]) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments/w"
    async with cluster(tmp_path, [workload("Deployment")], images=FREE) as reader:
        await simulated(reader, LOADED)
        # A new template: another ReplicaSet, another pod.
        args = [{**template()["spec"]["containers"][0], "args": ["--v=9"]}]
        await change(reader, path, {"spec": {"template": {"spec": {"containers": args}}}})
        await reader.until(
            PODS, lambda found: [args_of(one) for one in found["items"]] == [["--v=9"]]
        )
        # Orphaned, its ReplicaSet goes on without it.
        await reader.client.request("DELETE", f"{path}?propagationPolicy=Orphan")
        await reader.client.request("DELETE", f"{PODS}?gracePeriodSeconds=0")
        await reader.until(PODS, lambda found: len(found["items"]) == 1)
        await simulated(reader, LOADED)
    assert not started


def args_of(found: Object) -> list[str]:
    args: list[str] = found["spec"]["containers"][0].get("args") or []
    return args


async def test_a_pod_of_an_unknown_controller_starts_no_process(
    tmp_path: Path, started: list[Image]
) -> None:
    gone = {"metadata": {"name": "gone", "uid": "8d7d4a1e-0000-4000-8000-00000000000f"}}
    reference = owner(gone, "example.com/v1", "Rollout", controller=True)
    async with cluster(tmp_path, images=FREE) as reader:
        await reader.post(PODS, pod(ownerReferences=[reference]))
        await simulated(reader, LOADED)
    assert not started


async def test_nobody_marks_the_pod_of_another_as_loaded(
    tmp_path: Path, started: list[Image]
) -> None:
    async with cluster(tmp_path, [workload("Deployment")], images=FREE) as reader:
        await simulated(reader, LOADED)
        deployment = await reader.get("/apis/apps/v1/namespaces/default/deployments/w")
        reference = owner(deployment, "apps/v1", "Deployment")
        await reader.post(PODS, pod())
        await until_started(started, 1)
        await change(reader, f"{PODS}/p", {"metadata": {"ownerReferences": [reference]}})
        # One's own pod, which says that it belongs to a loaded object, is simulated.
        await reader.post(PODS, pod("q", ownerReferences=[reference]))
        await reader.until(SIMULATED, lambda found: found["pods"] == {LOADED: 2})
        log = await reader.get(f"{PODS}/p")
        assert log["status"]["containerStatuses"][0]["ready"]
    assert len(started) == 1


async def test_the_mark_survives_a_restart(tmp_path: Path, started: list[Image]) -> None:
    server = ServerSettings(kubeconfig=tmp_path / "kubeconfig", data_dir=tmp_path / "data")
    objects = [pod(), workload("Deployment")]
    async with cluster(tmp_path, objects, server=server) as reader:
        await simulated(reader, f"--image mooring {LOADED}", 2)
        await change(reader, f"{PODS}/p", {"metadata": {"annotations": {"code": "other"}}})
    async with cluster(tmp_path, server=server, images=FREE) as reader:
        await simulated(reader, LOADED, 2)
        assert not started
        # What is made after the restart is not loaded, unless it belongs to a loaded object.
        await reader.post(PODS, pod("mine"))
        await until_started(started, 1)
        await reader.client.request("DELETE", f"{PODS}?labelSelector=app=x&gracePeriodSeconds=0")
        await reader.until(SIMULATED, lambda found: found["pods"] == {LOADED: 1})
    assert len(started) == 1


async def test_objects_of_unknown_origin_count_as_loaded(
    tmp_path: Path, started: list[Image]
) -> None:
    server = ServerSettings(kubeconfig=tmp_path / "kubeconfig", data_dir=tmp_path / "data")
    async with cluster(tmp_path, server=server) as reader:
        await reader.post(PODS, pod())
        await simulated(reader, "--image mooring")
    # As Mooring 0.2 wrote it.
    with closing(sqlite3.connect(tmp_path / "data" / "objects.db")) as database:
        database.execute("ALTER TABLE objects DROP COLUMN loaded")
    async with cluster(tmp_path, server=server, images=FREE) as reader:
        await simulated(reader, LOADED)
    assert not started


async def test_a_loaded_pod_cannot_name_folders_of_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects of another cluster are not validated: their names may be paths."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    out = "../" * 30 + str(tmp_path).lstrip("/")
    made = dumped(pod(), f"{out}/made")
    volume = {"name": f"{out}/precious", **made["spec"]["volumes"][0]}
    volume["name"] = f"{out}/precious"
    volume["downwardAPI"]["items"][0]["path"] = f"{out}/precious/p.py"
    container = made["spec"]["containers"][0]
    container |= {"name": f"{out}/precious", "workingDir": f"{out}/worked", "args": ["--version"]}
    container["volumeMounts"] = [{"name": volume["name"], "mountPath": f"{out}/mounted"}]
    made["spec"] |= {"volumes": [volume], "restartPolicy": "Never"}
    settings = {"images": FREE, "run_loaded_images": True}
    async with cluster(tmp_path / "cluster", [made], **settings) as reader:
        found = await reader.until(
            f"{PODS}/p", lambda found: found["status"].get("phase") in ("Succeeded", "Failed")
        )
    assert found["status"]["phase"] == "Succeeded"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cluster", "precious"]
    assert [one.name for one in precious.iterdir()] == ["file"]

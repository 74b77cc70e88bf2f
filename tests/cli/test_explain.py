"""`mooring explain` on a local cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring import Plugin, Status
from mooring.api import Pod
from mooring.cli.main import main
from mooring.explain import questions
from mooring.serve.explain_paths import OFF
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import Reader, running

HUGE = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "900"}}}]}
#: Tries to write whenever it is called.
HOSTILE = """
import pathlib
from mooring import Plugin
from mooring.api import Pod


class Hostile(Plugin):
    async def write(self):
        try:
            await self.handle.client.delete(Pod, "web", "default")
            text = "deleted"
        except Exception as error:
            text = type(error).__name__
        with open(pathlib.Path(__file__).with_name("tried"), "a") as file:
            print(text, file=file)

    def filter(self, state, pod, node):
        self.handle.spawn(self.write(), pod)

    async def post_filter(self, state, pod, statuses):
        await self.write()

    async def close(self):
        await self.write()
"""


@pytest.fixture(autouse=True)
def unlimited_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no line be wrapped, whatever the terminal of the test run."""
    monkeypatch.delenv("COLUMNS", raising=False)


async def called(cluster: Reader, folder: Path, *args: str) -> int:
    """Run the command in a thread, because it has an event loop of its own."""
    flags = ["explain", *args, "--kubeconfig", str(folder / "kubeconfig")]
    return await asyncio.to_thread(main, flags)


async def test_a_pending_and_a_placed_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=3) as cluster:
        await cluster.post(PODS, pod("web"))
        await cluster.post(PODS, {**pod("huge"), "spec": HUGE})
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        assert await called(cluster, tmp_path, "huge", "--now") == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == (
            "default/huge is pending. Asked now, by the rules of the default configuration:"
        )
        assert lines[2] == "default/huge, profile default-scheduler, asked now: unschedulable"
        assert lines[-1].startswith("NEAREST  3 nodes if it asked for ")
        assert await called(cluster, tmp_path, "default/web", "--now") == 0
        out = capsys.readouterr().out
        assert "Asked now as if it were not there" in out
        assert "has the highest total" in out.splitlines()[-1]
        assert await called(cluster, tmp_path, "pod/web", "-o", "json", "--now") == 0
        data = json.loads(capsys.readouterr().out)
        assert (data["version"], data["name"], data["unread"]) == (2, "web", [])
        assert data["currentNode"] in data["nodes"]
        assert await called(cluster, tmp_path, "huge", "-o", "yaml", "--now") == 0
        assert yaml.safe_load(capsys.readouterr().out)["outcome"] == "unschedulable"


async def test_the_scheduler_of_a_local_cluster_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "QUESTIONS", 100)
    async with running(tmp_path, nodes=3) as cluster:
        url = cluster.cluster.server.url
        await cluster.post(PODS, pod("web"))
        await cluster.post(PODS, {**pod("huge"), "spec": HUGE})
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        await cluster.until(f"{PODS}/huge", lambda found: found["status"].get("conditions"))
        assert await called(cluster, tmp_path, "huge") == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[:2] == [f"Answered by the scheduler of the local cluster {url}:", ""]
        assert lines[2].startswith("default/huge is pending: attempt 1, ")
        assert lines[3].startswith("  0/3 nodes are available: 3 Insufficient cpu.")
        assert lines[-1].startswith("QUEUE    unschedulable for ")
        assert await called(cluster, tmp_path, "web", "-o", "json", "--attempt", "1") == 0
        data = json.loads(capsys.readouterr().out)
        assert data["answeredBy"] == f"the scheduler of the local cluster {url}"
        assert (data["version"], data["record"]["attempt"]) == (2, 1)
        assert data["currentNode"] == data["chosenNode"]
        assert await called(cluster, tmp_path, "web", "--attempt", "7") == 1
        assert capsys.readouterr().err == (
            "error: attempt 7 of pod default/web is not known; known are: 1\n"
        )
        await cluster.client.delete(Pod, "web", "default")
        explanation = "/explain/v1/namespaces/default/pods/web"
        await cluster.until(explanation, lambda found: not found["exists"])
        assert await called(cluster, tmp_path, "web") == 0
        assert capsys.readouterr().out.splitlines()[2].startswith("default/web is gone: attempt 1")


async def test_without_records_the_question_is_asked_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=1, explain_memory=0) as cluster:
        await cluster.post(PODS, pod("web"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        assert await called(cluster, tmp_path, "web") == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[1] == f"  asked here, because no Mooring leads: {OFF}"
        assert await called(cluster, tmp_path, "web", "--attempt", "1") == 1
        assert capsys.readouterr().err == f"error: no scheduler knows of its attempts: {OFF}\n"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--now", "--attempt", "1"], "--now applies rules of your own, here and now, and "),
        (["--plugin", "a:B", "--lease", "a/b"], "--plugin applies rules of your own"),
        (["--certificate-sha256", "0" * 64], "--certificate-sha256 needs --scheduler"),
        (["--lease", "kube-scheduler"], "--lease must be NAMESPACE/NAME, got 'kube-scheduler'"),
        (["--scheduler", "http://127.0.0.1:1"], "the certificate of http://127.0.0.1:1 cannot be "),
        (
            ["--scheduler", "http://127.0.0.1:1", "--certificate-sha256", "0" * 64],
            "--scheduler must be an https:// URL, got ",
        ),
        (
            ["--scheduler", "https://127.0.0.1:1", "--certificate-sha256", "0" * 64],
            "the scheduler https://127.0.0.1:1 cannot be asked: connection refused; --now asks ",
        ),
    ],
)
async def test_flags_that_cannot_be_used(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=0) as cluster:
        assert await called(cluster, tmp_path, "web", *flags) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1


async def test_a_pod_of_the_name_in_other_namespaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        for namespace in ("shop", "test"):
            await cluster.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
            await cluster.post(f"/api/v1/namespaces/{namespace}/pods", pod("web"))
        for more in ([], ["--now"]):
            assert await called(cluster, tmp_path, "web", *more) == 1
            assert capsys.readouterr().err == (
                'error: there is no pod "web" in namespace default, but in shop, test: choose '
                "with -n\n"
            )


async def test_a_pod_that_no_profile_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        await cluster.post(PODS, pod("web", schedulerName="other"))
        for more in ([], ["--now"]):
            assert await called(cluster, tmp_path, "web", *more) == 1
            error = capsys.readouterr().err
            assert 'no profile serves schedulerName "other" of pod default/web' in error
            assert error.count("\n") == 1


async def test_a_user_without_rights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        await cluster.post(PODS, pod("web"))
        config = await _config_of_reader(cluster, tmp_path, ["nodes"])
        assert await asyncio.to_thread(main, ["explain", "web", "--kubeconfig", config]) == 1
        error = capsys.readouterr().err
        assert "cannot get path" in error and "get pods or get /explain/* is needed" in error
        assert error.count("\n") == 1


async def test_a_pod_that_does_not_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        assert await called(cluster, tmp_path, "nope", "-n", "shop") == 1
    assert capsys.readouterr().err == (
        'error: there is no pod "nope" in namespace shop; -n names another one\n'
    )


async def test_only_reads_are_sent_whatever_plugins_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hostile.py").write_text(HOSTILE)
    async with running(tmp_path, nodes=2) as cluster:
        await cluster.post(PODS, pod("web"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        reference = f"{tmp_path / 'hostile.py'}:Hostile"
        assert await called(cluster, tmp_path, "web", "--plugin", reference) == 0
        assert await cluster.get(f"{PODS}/web")
    assert set((tmp_path / "tried").read_text().split()) == {"ReadOnlyError"}
    assert f"plugin {reference}" in capsys.readouterr().out


async def test_kinds_that_may_not_be_read_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        await cluster.post(PODS, pod("web"))
        config = await _config_of_reader(cluster, tmp_path, ["pods"])
        command = ["explain", "web", "--now", "--kubeconfig", config]
        assert await asyncio.to_thread(main, command) == 1
        assert capsys.readouterr().err.startswith("error: nodes cannot be read: ")
        await _allow(cluster, "more", ["nodes"])
        assert await asyncio.to_thread(main, command) == 0
        line = capsys.readouterr().out.splitlines()[1]
        assert line.startswith("  could not be read, and count as if there were none: ")
        assert "persistentvolumes, " in line
        assert "storageclasses.storage.k8s.io" in line


async def _allow(cluster: Reader, name: str, resources: list[str]) -> None:
    rule = {"apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch"]}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    await cluster.post(f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": [rule]})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    }
    await cluster.post(f"{rbac}/clusterrolebindings", binding)


async def _config_of_reader(cluster: Reader, folder: Path, resources: list[str]) -> str:
    """Return the kubeconfig of a service account that may read these resources alone."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await cluster.post(accounts, {"metadata": {"name": "reader"}})
    answer = await cluster.post(f"{accounts}/reader/token", {"spec": {}})
    await _allow(cluster, "reader", resources)
    config = yaml.safe_load((folder / "kubeconfig").read_text())
    config["users"][0]["user"] = {"token": answer["status"]["token"]}
    file = folder / "reader"
    file.write_text(yaml.safe_dump(config))
    return str(file)


def test_a_plugin_is_named_in_the_rules() -> None:
    class Mine(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
            return None

    assert main(["explain", "p", "--kubeconfig", "/nowhere"], plugins=[Mine]) == 1

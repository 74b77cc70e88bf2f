"""`mooring up` and `mooring down` as processes: started, used, stopped, killed, refused."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support import kubeconfigs
from tests.support.waiting import PATIENCE, eventually

RUN = "import sys; from mooring.cli.main import main; sys.exit(main())"
COMMAND = (sys.executable, "-c", RUN)
PLUGIN = """from mooring import Plugin, Status


class Mine(Plugin):
    def filter(self, state, pod, node):
        if node.name != "node-1":
            return Status.unschedulable("not node-1")
"""


class Cluster:
    """A process that runs a cluster, with access to its API server."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.kubeconfig = folder / ".mooring" / "kubeconfig"
        self.kubeconfig.unlink(missing_ok=True)
        self.log = folder / "up.log"
        with self.log.open("ab") as output:
            command = [*COMMAND, "up", *flags]
            self.process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)

    def wait_ready(self) -> None:
        """Wait until the cluster is ready."""

        def ready() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return self.kubeconfig.exists()

        eventually(ready, "the kubeconfig is there")
        assert self.ask("GET", "/readyz").text == "ok"

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        """Return the response to a request by the administrator."""
        access = kubeconfigs.access(*kubeconfigs.read(self.kubeconfig), self.folder)
        return requests.request(
            method,
            access.server + path,
            json=body,
            cert=tuple(map(str, access.client_certificate or ())),
            verify=str(access.certificate_authority),
            timeout=PATIENCE,
        )

    def run_pod(self, name: str) -> None:
        """Create a pod."""
        spec = {"containers": [{"name": "c", "image": "i"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        answer = self.ask("POST", "/api/v1/namespaces/default/pods", pod)
        assert answer.status_code == 201, answer.text

    def wait_running(self, name: str) -> str:
        """Return the node of a pod once it runs there."""

        def running() -> str:
            pod = self.ask("GET", f"/api/v1/namespaces/default/pods/{name}").json()
            return pod["spec"]["nodeName"] if pod["status"].get("phase") == "Running" else ""

        return eventually(running, f"{name} runs")

    def wait_said(self, text: str) -> None:
        """Wait until the process has printed a text."""
        eventually(lambda: text in self.log.read_text(), f"{text} is printed")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the process and return its exit status."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Yield a function that starts a cluster, which runs until the test ends, and waits for it."""
    started: list[Cluster] = []

    def start(*flags: str) -> Cluster:
        started.append(Cluster(tmp_path, *flags))
        started[-1].wait_ready()
        return started[-1]

    yield start
    for cluster in started:
        if cluster.process.poll() is None:
            cluster.process.kill()
            cluster.process.wait()


def mooring(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_it_says_what_runs_and_ends_cleanly(
    tmp_path: Path, up: Callable[..., Cluster], how: signal.Signals
) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    cluster = up("--plugin=mine.py:Mine")
    cluster.run_pod("a")
    assert cluster.wait_running("a") == "node-1"
    started = time.monotonic()
    assert cluster.end(how) == 0
    assert time.monotonic() - started < 10
    first, _, rest = cluster.log.read_text().partition("\n")
    assert first.startswith("The local cluster runs at https://127.0.0.1:")
    assert rest.splitlines()[1:] == [
        "  nodes       node-0, node-1, node-2",
        "  scheduler   default-scheduler, with Mine",
        "  kubeconfig  .mooring/kubeconfig",
        "Try: export KUBECONFIG=.mooring/kubeconfig",
        "     kubectl run web --image=nginx && kubectl get pods -o wide",
        "Ctrl-C ends it.",
    ]
    assert [one.name for one in cluster.kubeconfig.parent.iterdir()] == ["kubeconfig"]


def test_without_a_scheduler_pods_wait_for_one_of_another_process(
    tmp_path: Path, up: Callable[..., Cluster]
) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    cluster = up("--no-scheduler")
    assert "scheduler   none: pods stay pending until you start one" in cluster.log.read_text()
    for place in range(6):
        cluster.run_pod(f"p{place}")
    command = [*COMMAND, "run", f"--kubeconfig={cluster.kubeconfig}", "--plugin=mine.py:Mine"]
    with (tmp_path / "run.log").open("wb") as log:
        scheduler = subprocess.Popen(
            [*command, "--secure-port=0"], cwd=tmp_path, stdout=log, stderr=log
        )
    try:
        assert {cluster.wait_running(f"p{place}") for place in range(6)} == {"node-1"}
    finally:
        scheduler.terminate()
        scheduler.wait()


def test_manifests_and_numbers_of_nodes_add_up(tmp_path: Path, up: Callable[..., Cluster]) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("{apiVersion: v1, kind: Node, metadata: {name: mine}}")
    cluster = up("-f", "cluster.yaml", "--nodes=1")
    nodes = cluster.ask("GET", "/api/v1/nodes").json()["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["mine", "node-0"]


def test_a_killed_cluster_comes_back_with_all_it_acknowledged(
    tmp_path: Path, up: Callable[..., Cluster]
) -> None:
    cluster = up("--nodes=2", "--data-dir=data")
    cluster.run_pod("before")
    node = cluster.wait_running("before")
    uids = {one["metadata"]["uid"] for one in cluster.ask("GET", "/api/v1/nodes").json()["items"]}
    for place in range(20):
        cluster.run_pod(f"last-{place}")
    cluster.process.kill()
    cluster.process.wait()
    cluster = up("--nodes=2", "--data-dir=data")
    assert cluster.wait_running("before") == node
    for place in range(20):
        assert cluster.wait_running(f"last-{place}")
    nodes = cluster.ask("GET", "/api/v1/nodes").json()["items"]
    assert {one["metadata"]["uid"] for one in nodes} == uids
    assert cluster.end() == 0


def test_a_data_folder_remembers_its_nodes(up: Callable[..., Cluster]) -> None:
    def names(cluster: Cluster) -> list[str]:
        nodes = cluster.ask("GET", "/api/v1/nodes").json()["items"]
        return [node["metadata"]["name"] for node in nodes]

    cluster = up("--nodes=2", "--data-dir=data")
    assert cluster.ask("DELETE", "/api/v1/nodes/node-0").status_code == 200
    assert cluster.end() == 0
    cluster = up("--data-dir=data")
    assert names(cluster) == ["node-1"]
    cluster.run_pod("a")
    assert cluster.wait_running("a") == "node-1"
    assert cluster.end() == 0
    assert names(up("--data-dir=data", "--nodes=3")) == ["node-0", "node-1", "node-2"]


def test_a_plugin_is_reloaded_when_its_file_changes(
    tmp_path: Path, up: Callable[..., Cluster]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    cluster = up("--watch", "--plugin=mine.py:Mine")
    file.write_text(PLUGIN.replace("node-1", "node-7"))
    cluster.wait_said("mine.py: reloaded")
    cluster.run_pod("a")
    file.write_text(PLUGIN + "def")
    cluster.wait_said("mine.py:8:4: invalid syntax; the old one stays in use")
    file.write_text(PLUGIN.replace("node-1", "node-2"))
    # The pod was pending until now.
    assert cluster.wait_running("a") == "node-2"


def test_in_the_background_it_is_ready_on_return_and_down_ends_it(tmp_path: Path) -> None:
    done = mooring(tmp_path, "up", "--detach", "--nodes=1")
    try:
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "     mooring down"
        folder = tmp_path / ".mooring"
        for name in ("kubeconfig", "kubeconfig.pid", "kubeconfig.log"):
            assert (folder / name).stat().st_mode & 0o777 == 0o600, name
        pid = int((folder / "kubeconfig.pid").read_text())
        again = mooring(tmp_path, "up", "--nodes=1")
        assert again.returncode == 1
        assert f"runs already (process {pid}): end it with `mooring down`" in again.stderr
    finally:
        ended = mooring(tmp_path, "down")
    assert (ended.returncode, ended.stdout) == (0, "The local cluster has ended.\n")
    assert not (folder / "kubeconfig.pid").exists()
    server, _ = kubeconfigs.read(folder / "kubeconfig")
    with pytest.raises(requests.ConnectionError):
        requests.get(server["server"], timeout=PATIENCE)
    once_more = mooring(tmp_path, "down")
    assert once_more.returncode == 1
    assert once_more.stderr == (
        "error: no local cluster runs with the kubeconfig .mooring/kubeconfig\n"
    )


def test_a_file_that_a_killed_process_left_behind_is_in_nobodys_way(
    tmp_path: Path, up: Callable[..., Cluster]
) -> None:
    cluster = up("--nodes=0")
    cluster.process.kill()
    cluster.process.wait()
    left = tmp_path / ".mooring" / "kubeconfig.pid"
    # The pid may belong to another process by now.
    left.write_text(f"{os.getpid()}\n")
    assert mooring(tmp_path, "down").returncode == 1
    assert not left.exists()
    left.write_text(f"{os.getpid()}\n")
    cluster = up("--nodes=0")
    assert mooring(tmp_path, "down").returncode == 0
    assert cluster.process.wait(PATIENCE) == 0


def test_what_fails_in_the_background_is_said_by_the_command(tmp_path: Path) -> None:
    done = mooring(tmp_path, "up", "--detach", "--config=none.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: none.yaml: No such file or directory\n"


@pytest.mark.parametrize(
    ("flags", "status", "error"),
    [
        (["--nodes=-1"], 2, "argument --nodes: must be a non-negative integer, got -1"),
        (["--port=99999"], 2, "argument --port: must be a port from 0 to 65535, got 99999"),
        (["--bind-address=no.such.host.invalid"], 1, "error: cannot listen on no.such.host."),
        (["--kubeconfig=."], 1, "error: .: is a folder; name a file in it"),
        (["--kubeconfig=mine.py/kubeconfig"], 1, "error: mine.py/kubeconfig.pid: "),
        (["--runtime-config=nonsense/v1=true"], 1, "error: --runtime-config nonsense/v1=true: "),
        (["--event-ttl=soon"], 1, 'error: --event-ttl: time: invalid duration "soon"'),
        (["--event-ttl=0s"], 1, "error: --event-ttl: must be more than 0, got 0s"),
        (["--explain-memory=much"], 1, "error: --explain-memory: quantity 'much' is malformed"),
        (["--explain-memory=-1"], 1, "error: --explain-memory: must be a size, or 0 to keep"),
        (["-f", ".", "--config=none.yaml"], 1, "error: none.yaml: No such file or directory"),
        (["-f", "none.yaml"], 1, "error: none.yaml: No such file or directory"),
        (["--config=none.yaml"], 1, "error: none.yaml: No such file or directory"),
        (["--plugin=none.py:Mine"], 1, "plugin none.py: no such file"),
        (["--plugin=mine.py:Yours"], 1, "mine.py has no Yours; its plugins: Mine"),
        (["--plugin=broken.py:Mine"], 1, "error: broken.py:1:4: invalid syntax"),
        (
            ["--plugin=raises.py:Mine"],
            1,
            "raises.py does not load: ValueError('never') (raises.py:2)",
        ),
        (["-f", "bad.yaml"], 1, 'bad.yaml:1: document 1: no matches for kind "Boat"'),
        (["--from-kubeconfig=none"], 1, "error: none"),
        (["--from-kubeconfig"], 1, "error: $KUBECONFIG names absent: no such file"),
        (["--from-kubeconfig=nobody.yaml"], 1, "http://127.0.0.1:1"),
        (["--data-dir=mine.py"], 1, "error: mine.py: File exists"),
        (["--watch"], 1, "error: --watch: there is no file to watch"),
        (["--no-scheduler", "--plugin=mine.py:Mine"], 1, "cannot be combined with --plugin"),
        (["--no-default-scheduler"], 1, "needs a --config with other profiles"),
        (["--no-default-scheduler", "--config=default.yaml"], 1, "has a profile default-scheduler"),
        (["--image=x="], 1, "error: --image x=: expected"),
        (["--feature-gates=Nonsense=true"], 1, "Nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_an_error_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], status: int, error: str
) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "broken.py").write_text("def")
    (tmp_path / "raises.py").write_text("def never():\n    raise ValueError('never')\nnever()\n")
    (tmp_path / "bad.yaml").write_text("{apiVersion: v1, kind: Boat, metadata: {name: a}}")
    (tmp_path / "default.yaml").write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}"
    )
    (tmp_path / "nobody.yaml").write_text(
        "{apiVersion: v1, kind: Config, current-context: c,"
        " clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}],"
        " users: [{name: u, user: {token: t}}],"
        " contexts: [{name: c, context: {cluster: c, user: u}}]}"
    )
    before = sorted(tmp_path.iterdir())
    monkeypatch.setenv("KUBECONFIG", "absent")
    done = mooring(tmp_path, "up", *flags)
    assert done.returncode == status, done.stderr
    assert error in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = mooring(tmp_path, "up", f"--port={port}")
    assert done.returncode == 1
    assert f"error: cannot listen on 127.0.0.1:{port}: " in done.stderr
    assert not list(tmp_path.iterdir())

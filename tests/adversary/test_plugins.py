"""Plugins that raise what ends a process, wait forever, block the loop, or ignore signals.

Each test runs real processes. A plugin marks in a file how far it has got, so that nothing here
depends on how fast a machine is.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.live.running import MOORING, Mooring, condition, configuration, events, is_bound, node
from tests.live.running import pod as make_pod
from tests.support.api import Object
from tests.support.cluster import Cluster
from tests.support.processes import Process
from tests.support.waiting import eventually

#: Seconds after which a process that should have ended is assumed to run forever.
FOREVER = 40.0

HOSTILE = '''
import asyncio
import pathlib
import threading
import time

from mooring import Plugin, Status
from mooring.api import Pod
from mooring.informers.store import EventHandler

MARKS = pathlib.Path(__file__).parent


def mark(name):
    (MARKS / name).touch()


def exhaust():
    raise SystemExit("out of a callback")


class Hostile(Plugin):
    """Does what the name of a pod says, at its first attempt."""

    def __init__(self, args=None, handle=None):
        super().__init__(args, handle)
        self.tried = set()

    def start(self):
        self.handle.lister(Pod).add_handler(EventHandler(on_add=self.on_add))

    def on_add(self, pod):
        if pod.metadata.name == "handler":
            raise SystemExit("out of a handler")

    def first(self, pod, name):
        if pod.metadata.name != name or name in self.tried:
            return False
        self.tried.add(name)
        mark(name)
        return True

    def filter(self, state, pod, node):
        if self.first(pod, "exit"):
            raise SystemExit(3)
        if self.first(pod, "interrupt"):
            raise KeyboardInterrupt
        if self.first(pod, "callback"):
            asyncio.get_running_loop().call_soon(exhaust)
        if self.first(pod, "loops"):
            while True:
                pass
        if self.first(pod, "sleeps"):
            time.sleep(3600)
        if pod.metadata.name == "refused":
            return Status.unschedulable("refused")

    async def post_filter(self, state, pod, statuses):
        if self.first(pod, "refused"):
            await asyncio.Event().wait()

    async def pre_bind(self, state, pod, node_name):
        if self.first(pod, "cancelled"):
            future = asyncio.get_running_loop().create_future()
            future.cancel()
            await future
        if self.first(pod, "threads"):
            threading.Thread(target=time.sleep, args=(3600,)).start()
            asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)

    async def close(self):
        if "closes" in self.tried:
            await asyncio.Event().wait()

    def post_bind(self, state, pod, node_name):
        self.first(pod, "closes")
'''


class Stage:
    """A folder with the plugin, a node, and the schedulers that a test starts."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.started: list[Mooring] = []
        (folder / "hostile.py").write_text(HOSTILE, encoding="utf-8")
        cluster.create(node("node-1"))

    def run(self, *flags: str, **config: Any) -> Mooring:
        enabled = {"multiPoint": {"enabled": [{"name": "Hostile"}]}}
        whole = configuration(
            self.cluster.plane.scheduler_kubeconfig, profiles=[{"plugins": enabled}], **config
        )
        plugin = f"--plugin={self.folder}/hostile.py:Hostile"
        self.started.append(Mooring(self.folder / str(len(self.started)), whole, plugin, *flags))
        self.started[-1].wait_ready()
        return self.started[-1]

    def create(self, name: str) -> None:
        self.cluster.create(make_pod(name))

    def wait_marked(self, name: str) -> None:
        """Wait until the plugin has been called for a pod."""
        eventually((self.folder / name).exists, f"the plugin at pod {name}", FOREVER)

    def wait_bound(self, name: str) -> None:
        self.cluster.wait_for("Pod", name, is_bound, seconds=FOREVER)


@pytest.fixture
def stage(cluster: Cluster, tmp_path: Path) -> Iterator[Stage]:
    """Yield a stage; kill the processes that a test leaves running."""
    made = Stage(cluster, tmp_path)
    yield made
    for mooring in made.started:
        mooring.process.kill()


@pytest.mark.parametrize(
    ("name", "raised"),
    [
        ("cancelled", "CancelledError"),
        ("exit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt"),
    ],
)
def test_what_a_plugin_raises_is_told_of_its_pod_which_is_tried_again(
    stage: Stage, name: str, raised: str
) -> None:
    mooring = stage.run()
    stage.create(name)

    def is_refused(found: Object) -> bool:
        return condition(found).get("status") == "False"

    found = condition(stage.cluster.wait_for("Pod", name, is_refused, seconds=FOREVER))
    assert found["reason"] == "SchedulerError"
    assert "plugin Hostile" in found["message"] and raised in found["message"]
    (event,) = eventually(lambda: events(stage.cluster, name, "FailedScheduling"), "the Event")
    assert event["note"] == found["message"]
    assert mooring.wait_logged("hostile.py")
    stage.wait_bound(name)


@pytest.mark.parametrize("name", ["handler", "callback"])
def test_what_a_handler_or_a_callback_of_a_plugin_raises_is_logged(stage: Stage, name: str) -> None:
    mooring = stage.run()
    stage.create(name)
    stage.wait_bound(name)
    mooring.wait_logged("SystemExit: out of a")
    stage.create("next")
    stage.wait_bound("next")


def test_a_cycle_that_awaits_forever_fails_livez_and_is_named(stage: Stage) -> None:
    mooring = stage.run("--livez-scheduling-cycle-timeout=1s")
    assert mooring.get("/livez") == 200
    stage.create("refused")
    eventually(lambda: mooring.get("/livez") == 500, "a failing /livez", FOREVER)
    line = mooring.wait_logged("A scheduling cycle does not end")
    for part in (f'pod="{stage.cluster.namespace}/refused"', "Hostile", "PostFilter"):
        assert part in line
    mooring.process.send(signal.SIGTERM)
    assert mooring.process.wait(FOREVER) == 1
    assert "finished without leader elect" in mooring.process.tail(300)


def test_an_idle_scheduler_is_well(stage: Stage) -> None:
    mooring = stage.run("--livez-scheduling-cycle-timeout=100ms")
    for number in range(3):
        stage.create(f"plain-{number}")
        stage.wait_bound(f"plain-{number}")
        assert mooring.get("/livez") == 200
    assert mooring.lines("does not end") == []


@pytest.mark.parametrize(
    ("name", "signals"),
    [
        pytest.param("loops", [signal.SIGTERM], id="in Python, SIGTERM"),
        pytest.param("sleeps", [signal.SIGINT], id="in C, SIGINT"),
        pytest.param("loops", [signal.SIGTERM, signal.SIGINT], id="a second signal"),
    ],
)
def test_a_signal_ends_a_scheduler_whose_plugin_blocks(
    stage: Stage, name: str, signals: list[signal.Signals]
) -> None:
    mooring = stage.run()
    stage.create(name)
    stage.wait_marked(name)
    line = mooring.wait_logged("A plugin blocks the scheduling loop")
    for part in ("Hostile", "Filter", f"{stage.cluster.namespace}/{name}", "hostile.py"):
        assert part in line
    assert mooring.get("/livez") == 200
    for number in signals:
        mooring.process.send(number)
    assert mooring.process.wait(FOREVER) == 1
    said = "The process does not end after a signal"
    assert bool(mooring.lines(said)) == (len(signals) == 1)


@pytest.mark.parametrize("name", ["threads", "closes"])
def test_a_signal_ends_a_scheduler_whose_plugin_does_not_end(stage: Stage, name: str) -> None:
    mooring = stage.run()
    stage.create(name)
    stage.wait_marked(name)
    stage.wait_bound(name)
    mooring.process.send(signal.SIGTERM)
    assert mooring.process.wait(FOREVER) == 1


# Other commands.


def manifests(folder: Path, name: str) -> Path:
    """Write the plugin and a manifest of a node and a pod; return the manifest's path."""
    (folder / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([node("node-1"), make_pod(name)]), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["loops", "sleeps"])
def test_an_interrupt_ends_schedule_while_a_plugin_runs(tmp_path: Path, name: str) -> None:
    file = manifests(tmp_path, name)
    arguments = ["schedule", "-f", str(file), "--plugin", f"{tmp_path}/hostile.py:Hostile"]
    process = Process(MOORING, arguments, tmp_path / "log")
    try:
        eventually((tmp_path / name).exists, "the plugin", FOREVER)
        process.send(signal.SIGINT)
        assert process.wait(FOREVER) == -signal.SIGINT
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("name", "raised"), [("exit", "SystemExit: 3"), ("interrupt", "KeyboardInterrupt")]
)
def test_schedule_shows_what_a_plugin_raises(tmp_path: Path, name: str, raised: str) -> None:
    file = manifests(tmp_path, name)
    command = [MOORING, "schedule", "-f", file, "--plugin", f"{tmp_path}/hostile.py:Hostile"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FOREVER)
    assert done.returncode == 4, done.stderr
    assert f'default/{name}: running "Hostile" filter plugin' in done.stdout
    assert raised in done.stdout


def test_a_signal_ends_a_local_cluster_whose_plugin_blocks(tmp_path: Path) -> None:
    file = manifests(tmp_path, "loops")
    arguments = [
        "up",
        f"--kubeconfig={tmp_path}/kubeconfig",
        "--nodes=1",
        "-f",
        str(file),
        "--plugin",
        f"{tmp_path}/hostile.py:Hostile",
    ]
    process = Process(MOORING, arguments, tmp_path / "log")
    try:
        eventually((tmp_path / "loops").exists, "the plugin", FOREVER)
        process.send(signal.SIGINT)
        assert process.wait(FOREVER) == 1
    finally:
        process.kill()


TEST_OF_A_PLUGIN = """
from hostile import Hostile

from mooring.testing import make_node, make_pod, run_filter


def test_a_plugin():
    run_filter(Hostile, pod=make_pod("loops"), nodes=[make_node("node-1")])


def test_another():
    assert False, "not reached"
"""


def test_an_interrupt_ends_a_test_run_while_a_plugin_runs(tmp_path: Path) -> None:
    (tmp_path / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    (tmp_path / "test_hostile.py").write_text(TEST_OF_A_PLUGIN, encoding="utf-8")
    arguments = ["-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-q"]
    process = Process(
        Path(sys.executable),
        [*arguments, str(tmp_path / "test_hostile.py")],
        tmp_path / "log",
        cwd=tmp_path,
    )
    try:
        eventually((tmp_path / "loops").exists, "the plugin", FOREVER)
        process.send(signal.SIGINT)
        # The exit status of pytest for an interrupted run.
        assert process.wait(FOREVER) == 2
    finally:
        process.kill()
    assert "KeyboardInterrupt" in process.log()
    assert "not reached" not in process.log()


#: Plugins that fail before they are called for a pod.
BROKEN_EARLY: dict[str, str] = {
    "at import": "raise SystemExit(3)\n",
    "in the constructor": (
        "from mooring import Plugin\n\n\nclass Hostile(Plugin):\n"
        "    def __init__(self, args=None, handle=None):\n        raise SystemExit(3)\n\n"
        "    def filter(self, state, pod, node): ...\n"
    ),
    "in start": (
        "from mooring import Plugin\n\n\nclass Hostile(Plugin):\n"
        "    def start(self):\n        raise KeyboardInterrupt\n\n"
        "    def filter(self, state, pod, node): ...\n"
    ),
}


@pytest.mark.parametrize("source", BROKEN_EARLY.values(), ids=BROKEN_EARLY.keys())
def test_a_plugin_that_cannot_begin_is_a_line_of_text(tmp_path: Path, source: str) -> None:
    file = manifests(tmp_path, "plain")
    (tmp_path / "hostile.py").write_text(source, encoding="utf-8")
    command = [MOORING, "schedule", "-f", file, "--plugin", f"{tmp_path}/hostile.py:Hostile"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FOREVER, check=False)
    assert done.returncode == 1
    assert "error: plugin" in done.stderr and "Traceback" not in done.stderr

"""The built wheel and source archive, in an environment that has nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import mooring
from tests.live.running import configuration, is_bound, pod
from tests.support.api import Api
from tests.support.kubeconfigs import access, read
from tests.support.processes import LOOPBACK, Process, free_port

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path = ROOT, **more: str) -> str:
    """Run a command that must succeed; return what it prints."""
    environment = {**os.environ, **more}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build both archives; return their paths by suffix."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", str(folder))
    return {path.suffix: path for path in folder.iterdir()}


class Environment:
    """A virtual environment outside the checkout, with the wheel and no development tools."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        self._constraints = folder / "constraints.txt"
        self._wheel = wheel
        venv.create(folder / "venv", symlinks=True)
        lock = (ROOT / "requirements.lock").read_text()
        pins = re.findall(r"^[a-z0-9][^\\\n]*==[^\\\n]*", lock, re.MULTILINE)
        self._constraints.write_text("\n".join(pins))
        self.install(str(wheel))

    def install(self, *requirements: str) -> None:
        """Install from the package index that pip is configured for."""
        self._pip("install", "--constraint", str(self._constraints), *requirements)

    def uninstall(self, name: str) -> None:
        """Remove a package, if it is installed."""
        self._pip("uninstall", "--yes", name)

    def _pip(self, command: str, *arguments: str) -> None:
        python = self.folder / "venv" / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(python), command, "--quiet"]
        run(*pip, *arguments, cwd=self.folder)

    def install_extra(self, extra: str) -> None:
        """Install what an extra of the package names."""
        self.install(f"mooring[{extra}] @ {self._wheel.as_uri()}")

    def program(self, name: str) -> Path:
        """Return the path of an installed command."""
        return self.folder / "venv" / "bin" / name

    def run(self, name: str, *arguments: str) -> str:
        """Run an installed command in the environment's folder; return what it prints."""
        path = f"{self.folder / 'venv' / 'bin'}:/usr/bin:/bin"
        return run(self.program(name), *arguments, cwd=self.folder, PATH=path)


@pytest.fixture(scope="module")
def environment(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("elsewhere"), built[".whl"])


@pytest.fixture
def cluster(environment: Environment) -> Iterator[Api]:
    """Run `mooring up` with a sample plugin; yield a client of its API."""
    environment.run("mooring", "up", "--detach", "--plugin", "mooring.contrib.samples:PreferNode")
    try:
        files = environment.folder / "credentials"
        files.mkdir()
        cluster, user = read(environment.folder / ".mooring" / "kubeconfig")
        with Api(access(cluster, user, files)) as api:
            yield api
    finally:
        environment.run("mooring", "down")


def test_the_wheel_holds_the_package_alone(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built[".whl"]) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
        assert tops == {"mooring", f"mooring-{mooring.__version__}.dist-info"}
        packed = {name for name in wheel.namelist() if name.startswith("mooring/")}
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "mooring").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == sources


def test_the_source_archive_builds_the_same_wheel(built: dict[str, Path], tmp_path: Path) -> None:
    with tarfile.open(built[".gz"]) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out", cwd=unpacked)
    (again,) = (unpacked / "out").iterdir()
    assert again.name == built[".whl"].name
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(built[".whl"]) as other:
        assert {i.filename: i.CRC for i in one.infolist()} == {
            i.filename: i.CRC for i in other.infolist()
        }


def test_manifests_are_scheduled(environment: Environment) -> None:
    printed = environment.run("mooring", "schedule", "-f", str(ROOT / "examples" / "quickstart"))
    assert "3 nodes, 5 pending pods: 4 scheduled, 1 pending" in printed


def test_the_steps_that_new_plugin_prints_work(environment: Environment) -> None:
    # Another test may have installed it.
    environment.uninstall("pytest")
    printed = environment.run("mooring", "new-plugin", "prefer-ssd", "--dir", "made")
    install, test, schedule = [line.strip() for line in printed.splitlines()[1:]]
    assert install == "python -m pip install 'mooring[test]'"
    environment.install_extra("test")
    assert "5 passed" in environment.run(*test.split())
    command = schedule.replace("MANIFESTS", str(ROOT / "examples" / "quickstart"))
    assert "pending pods" in environment.run(*command.split())


def test_a_plugin_that_is_a_package_is_found(environment: Environment, tmp_path: Path) -> None:
    template = tmp_path / "package"
    shutil.copytree(ROOT / "examples" / "package", template)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out", cwd=template)
    (wheel,) = (template / "out").iterdir()
    environment.install(str(wheel), "--no-deps")
    environment.install_extra("test")
    assert "2 passed" in environment.run("pytest", "-q", str(template / "tests"))
    environment.run("mooring", "config", "validate", str(template / "scheduler-config.yaml"))


def test_a_local_cluster_and_a_second_scheduler_run(
    environment: Environment, cluster: Api, tmp_path: Path
) -> None:
    cluster.create(pod("first"), "default")
    cluster.wait_for("Pod", "first", is_bound, "default")
    kubeconfig = environment.folder / ".mooring" / "kubeconfig"
    config = configuration(kubeconfig, profiles=[{"schedulerName": "second"}])
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    arguments = ["run", f"--config={tmp_path / 'config.yaml'}", f"--bind-address={LOOPBACK}"]
    arguments.append(f"--secure-port={free_port()}")
    process = Process(environment.program("mooring"), arguments, tmp_path / "log")
    try:
        cluster.create(pod("other", spec={"schedulerName": "second"}), "default")
        cluster.wait_for("Pod", "other", is_bound, "default")
    finally:
        process.stop()

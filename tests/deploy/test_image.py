"""The container image, built by buildah from Debian's packages, and run on a real API server."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import mooring
from tests.live.running import configuration, is_bound, node, pod
from tests.support.cluster import Cluster
from tests.support.processes import LOOPBACK, Process, free_port
from tools import image

BUILD_TOOLS = ("pip", "pip3", "gcc", "cc", "make", "ld")
TAG = f"localhost/mooring-test:{mooring.__version__}"


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    """Build the image, and yield the name of a container made from it."""
    if absent := image.missing("debian"):
        pytest.skip(f"{' and '.join(absent)} not installed")
    try:
        image.make_base()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no base image can be made here: {error}")
    image.build("debian", TAG)
    name = image.buildah("from", "--pull-never", TAG, output=True).strip()
    yield name
    image.buildah("rm", name, output=True)


@pytest.fixture(scope="module")
def root(container: str) -> Path:
    """Return the folder that holds the container's files."""
    return Path(image.buildah("mount", container, output=True).strip())


def described(container: str) -> dict[str, Any]:
    found = json.loads(image.buildah("inspect", container, output=True))
    config: dict[str, Any] = found["OCIv1"]["config"]
    return config


def run(container: str, *command: str) -> str:
    return image.buildah("run", container, "--", *command, output=True)


def test_the_image_names_its_version_and_user(container: str) -> None:
    config = described(container)
    assert config["Labels"]["org.opencontainers.image.version"] == mooring.__version__
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["mooring-kube-scheduler"]
    assert run(container, "id", "-u").strip() == "65532"


def test_the_image_holds_no_tools_and_no_caches(root: Path) -> None:
    folders = [root / part for part in ("usr/bin", "usr/local/bin", "bin", "opt/mooring/bin")]
    assert [
        str(folder / tool) for folder in folders for tool in BUILD_TOOLS if (folder / tool).exists()
    ] == []
    assert list(root.glob("usr/lib/python3*/ensurepip")) == []
    assert [path for path in root.glob("var/cache/*") if path.is_file()] == []
    assert list(root.glob("root/.cache")) == []
    assert list(root.glob("etc/pip.conf")) == []
    packages = {path.name for path in root.glob("opt/mooring/lib/python3*/site-packages/*")}
    assert "mooring" in packages
    assert packages.isdisjoint({"pip", "setuptools", "hatchling", "pytest", "mypy"})


def test_the_name_of_the_binary_it_replaces_works(container: str) -> None:
    assert "Kubernetes v1.37" in run(container, "kube-scheduler", "--version")


def inline(kubeconfig: Path) -> str:
    """Return a kubeconfig whose certificates are part of it, so that one file is enough."""
    found = yaml.safe_load(kubeconfig.read_text())
    for entry in (found["clusters"][0]["cluster"], found["users"][0]["user"]):
        for key in ("certificate-authority", "client-certificate", "client-key"):
            if path := entry.pop(key, None):
                entry[f"{key}-data"] = base64.b64encode(Path(path).read_bytes()).decode()
    return yaml.safe_dump(found)


def test_its_scheduler_binds_a_pod(container: str, cluster: Cluster, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    (mounted / "kubeconfig").write_text(inline(cluster.plane.scheduler_kubeconfig))
    config = configuration(
        Path("/etc/mooring/kubeconfig"), profiles=[{"schedulerName": cluster.namespace}]
    )
    (mounted / "config.yaml").write_text(yaml.safe_dump(config))
    for path in (tmp_path, mounted, *mounted.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (entry,) = described(container)["Entrypoint"]
    arguments = ["run", f"--volume={mounted}:/etc/mooring:ro", container, "--", entry]
    arguments += ["--config=/etc/mooring/config.yaml", f"--secure-port={free_port()}"]
    arguments += [f"--bind-address={LOOPBACK}"]
    cluster.create(node("image-node"))
    cluster.create(pod("web", spec={"schedulerName": cluster.namespace}))
    program = Path(shutil.which("buildah") or "buildah")
    environment = {**image.ENVIRONMENT, **os.environ}
    process = Process(program, arguments, tmp_path / "scheduler.log", env=environment)
    try:
        found = cluster.wait_for("Pod", "web", is_bound, seconds=60)
    except AssertionError:
        raise AssertionError(process.tail()) from None
    finally:
        process.stop()
    assert found["spec"]["nodeName"] == "image-node"


def test_make_image_says_what_is_missing(tmp_path: Path) -> None:
    empty = subprocess.run(
        [sys.executable, "-m", "tools.image"],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert empty.returncode == 1
    assert empty.stderr == "install buildah, for example with apt-get install\n"

"""What the tutorials need: a local cluster as a process, and the real kubectl.

A test asks for `up` and calls it with the flags of `mooring up`:

    cluster = up("-f", "cluster.yaml", example="name-score")
    cluster.kubectl("apply -f busybox.yaml")
    cluster.kubectl.until("get pods -o wide", "k8s-node02")

`example` names a folder of examples/, a copy of which is where the flags' and kubectl's paths begin
(and which the test may edit, as a reader of the tutorial would).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.local_up import Up

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def up(kubectl: Path, tmp_path: Path) -> Iterator[Callable[..., Up]]:
    """Give a call that runs `mooring up` until the test ends; it returns once that is ready."""
    started: list[Up] = []

    def start(*flags: str, example: str = "") -> Up:
        folder = tmp_path / f"up-{len(started)}"
        workplace = folder / "workplace"
        if example:
            shutil.copytree(EXAMPLES / example, workplace)
        else:
            workplace.mkdir(parents=True)
        started.append(Up(folder / "state", workplace, kubectl, *flags))
        started[-1].wait_ready()
        return started[-1]

    yield start
    for cluster in reversed(started):
        cluster.stop()

"""Fixtures of the tutorials: a local cluster as a process, and the real kubectl.

A test uses the fixture `up` and calls it with the flags of `mooring up`:

    cluster = up("-f", "cluster.yaml", example="name-score")
    cluster.kubectl("apply -f busybox.yaml")
    cluster.kubectl.until("get pods -o wide", "k8s-node02")

`example` names a folder of examples/. Relative paths in flags and kubectl commands start at a copy
of it, which the test may edit, as a reader of the tutorial would.
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
    """Yield a function that runs `mooring up` until the test ends, and returns once it is ready."""
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

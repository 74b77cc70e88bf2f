"""Settings that every test shares."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import order, real_parts, tiers
from tests.support.fixtures import (
    OPTION,
    cluster,
    control_plane,
    kube_scheduler,
    kubectl,
    oldest_control_plane,
    pod_group_control_plane,
    private_control_plane,
)
from tests.support.log_state import unchanged_logging

__all__ = [
    "cluster",
    "control_plane",
    "kube_scheduler",
    "kubectl",
    "oldest_control_plane",
    "pod_group_control_plane",
    "private_control_plane",
]

# Suites of their own: `make behave`, `make groups`, `make kubectl-judge`.
collect_ignore = ["behaviour", "groups", "kubectl"]

# A busy machine is no failure, so no example has a deadline. CI replays the same examples on
# every run; a developer's run explores new ones.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


def pytest_configure(config: pytest.Config) -> None:
    # Without files of bytecode each program that a test starts compiles 400 modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # The records of local clusters: a test must neither find nor end those of others.
    state = tempfile.TemporaryDirectory(prefix="mooring-state-")
    config.add_cleanup(state.cleanup)
    os.environ["XDG_STATE_HOME"] = state.name
    # A shell that starts the tests in the background ignores SIGINT, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption(tiers.OPTION):
        tiers.configure(config)


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = (
        "kubeconfig of a cluster to run on, in place of an etcd and kube-apiserver started here"
    )
    parser.addoption(OPTION, metavar="PATH", help=help_text)
    help_text = "run the tests in the random order that a number stands for"
    parser.addoption(order.OPTION, type=int, metavar="SEED", help=help_text)
    help_text = "run only the tests that start no process, open no socket and replay no recording"
    parser.addoption(tiers.OPTION, action="store_true", help=help_text)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption(tiers.OPTION) and tiers.left_out(collection_path) else None


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption(order.OPTION)
    return None if seed is None else f"random order: {order.OPTION}={seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption(order.OPTION)
    if seed is not None:
        order.shuffle(items, seed)
    # These take minutes each; if they started last, the run would wait for them at its end.
    items.sort(key=lambda item: item.path.name != "test_kubectl_steps.py")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    with unchanged_logging():
        return (yield)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]
    if line := real_parts.summary(reasons):
        terminalreporter.write_line(line)
    if config.getoption(tiers.OPTION):
        for line in tiers.summary(reasons):
            terminalreporter.write_line(line)

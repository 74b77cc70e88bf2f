"""Settings that every test shares."""

from __future__ import annotations

import os
import signal
import tempfile

import pytest
from hypothesis import settings

from tests.support import real_parts
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
    # The records of local clusters: a test must neither find nor end those of others.
    state = tempfile.TemporaryDirectory(prefix="mooring-state-")
    config.add_cleanup(state.cleanup)
    os.environ["XDG_STATE_HOME"] = state.name
    # A shell that starts the tests in the background ignores SIGINT, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = (
        "kubeconfig of a cluster to run on, in place of an etcd and kube-apiserver started here"
    )
    parser.addoption(OPTION, metavar="PATH", help=help_text)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # These take minutes each; if they started last, the run would wait for them at its end.
    items.sort(key=lambda item: item.path.name != "test_kubectl_steps.py")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]
    if line := real_parts.summary(reasons):
        terminalreporter.write_line(line)

"""`mooring ui` and the leading scheduler, on a real API server."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.live.running import MOORING, QUICK_ELECTION, Mooring, condition, configuration, node, pod
from tests.live.test_explain_leader import held_by
from tests.support.cluster import Cluster
from tests.support.fake_kubectl import FakeKubectl
from tests.support.processes import Process
from tests.support.waiting import eventually


class Page:
    """A `mooring ui` process and the answers of its server."""

    def __init__(self, folder: Path, kubeconfig: Path, *flags: str) -> None:
        folder.mkdir()
        arguments = ["ui", "--no-browser", f"--kubeconfig={kubeconfig}", *flags]
        self.process = Process(MOORING, arguments, folder / "log", env=dict(os.environ))
        url = eventually(lambda: re.search(r"http://\S+", self.process.log()), "an address", 30)
        assert url
        self._origin = url[0].partition("/?")[0]
        self._session = requests.Session()
        self._session.trust_env = False
        assert self._session.get(url[0], timeout=20).status_code == 200

    def ask(self, path: str, **query: Any) -> Any:
        """Return the decoded answer."""
        return self._session.get(f"{self._origin}/api/{path}", params=query, timeout=20).json()

    def leader(self) -> Any:
        """Return the state of the page's connection to the leader."""
        with self._session.get(f"{self._origin}/api/changes", stream=True, timeout=20) as answer:
            for line in answer.iter_lines():
                if line.startswith(b"data: "):
                    return json.loads(line[6:])["summary"]["leader"]

    def wait(self, state: str) -> Any:
        """Wait until the connection to the leader is in this state."""

        def look() -> Any:
            found = self.leader()
            return found if found["state"] == state else None

        return eventually(look, f"the state {state}", 60)

    def close(self) -> None:
        """End the process."""
        self._session.close()
        self.process.stop()


@pytest.fixture
def leader(cluster: Cluster, tmp_path: Path) -> Iterator[Mooring]:
    """Yield a scheduler that holds the Lease."""
    kubeconfig = cluster.plane.scheduler_kubeconfig
    made = Mooring(
        tmp_path / "leader",
        configuration(kubeconfig, leaderElection=QUICK_ELECTION),
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
    )
    yield made
    made.process.stop()


def decisions(page: Page, name: str, holds: Callable[[Any], bool]) -> Any:
    """Wait until a condition holds for the decisions about a pod."""

    def look() -> Any:
        found = [one for one in page.ask("decisions") if one["name"] == name]
        return found if holds(found) else None

    return eventually(look, f"decisions about {name}", 30)


def test_the_page_finds_the_leader_and_shows_its_history(
    cluster: Cluster, leader: Mooring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = FakeKubectl(tmp_path / "bin", monkeypatch)
    cluster.create(node("node-1"))
    cluster.create(pod("web", cpu="900"))
    holder = held_by(cluster, leader)["spec"]["holderIdentity"]
    cluster.wait_for("Pod", "web", condition)
    kubectl.forward_to(leader.port)
    page = Page(tmp_path / "page", cluster.plane.admin_kubeconfig)
    try:
        who = f"the leader {holder} (Lease kube-system/kube-scheduler)"
        assert page.wait("live") == {"state": "live", "who": who, "text": f"Told by {who}."}
        (told,) = decisions(page, "web", lambda found: found)
        assert (told["outcome"], told["attempt"]) == ("unschedulable", 1)
        found = page.ask("explain", namespace=cluster.namespace, name="web", attempt=1)
        assert (found["answeredBy"], found["record"]["message"]) == (who, told["message"])
        place = page.ask("place", namespace=cluster.namespace, name="web")
        assert place["place"].startswith("unschedulable for ")
        # A node is added, and the next attempt is reported too; nothing is reported twice.
        large = node("node-2")
        large["status"]["allocatable"] = {**large["status"]["allocatable"], "cpu": "1000"}
        cluster.create(large)
        both = decisions(page, "web", lambda found: len(found) > 1)
        assert [(one["outcome"], one["attempt"]) for one in both] == [
            ("unschedulable", 1),
            ("scheduled", 2),
        ]
    finally:
        page.close()


def test_the_page_works_without_a_connection_to_the_leader(
    cluster: Cluster, leader: Mooring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = FakeKubectl(tmp_path / "bin", monkeypatch)
    kubectl.fail("error: pods is forbidden")
    cluster.create(node("node-1"))
    held_by(cluster, leader)
    page = Page(tmp_path / "page", cluster.plane.admin_kubeconfig)
    try:
        assert "error: pods is forbidden; the right to create " in page.wait("lost")["text"]
        cluster.create(pod("web"))
        (seen,) = decisions(page, "web", lambda found: found)
        assert (seen["outcome"], seen["attempt"]) == ("bound", 0)
        # Once the leader is connected, its own record replaces the observation.
        kubectl.forward_to(leader.port)
        page.wait("live")
        (told,) = decisions(page, "web", lambda found: found and found[0]["attempt"])
        assert (told["outcome"], told["attempt"]) == ("scheduled", 1)
    finally:
        page.close()

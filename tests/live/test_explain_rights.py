"""Who may read which explanations, decided by a real API server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import urllib3

from tests.live.running import Mooring, condition, configuration
from tests.support import explain_rights as table
from tests.support.cluster import Cluster
from tests.support.explain_rights import DECISIONS, HOLDER, POD, QUEUE, check_sight, pod_path
from tests.support.processes import LOOPBACK


class Site:
    """A scheduler's port, and the tokens of users."""

    def __init__(self, cluster: Cluster, scheduler: Mooring, other: str) -> None:
        self.namespace, self.other = cluster.namespace, other
        self._url = f"https://{LOOPBACK}:{scheduler.port}"
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = False
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self._tokens = {
            user: cluster.api.request(
                "POST",
                f"api/v1/namespaces/{cluster.namespace}/serviceaccounts/{user}/token",
                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
            )["status"]["token"]
            for user in (*table.USERS, *table.NAMESPACED)
        }

    def ask(self, path: str, user: str = "", method: str = "GET") -> tuple[int, str]:
        """Return status and text; a question that is one too many is asked again."""
        headers = {"Authorization": f"Bearer {self._tokens[user]}"} if user else {}
        while True:
            with self._session.request(
                method, self._url + path, headers=headers, stream=True, timeout=30
            ) as response:
                if response.status_code == 429:
                    time.sleep(float(response.headers["Retry-After"]))
                    continue
                if response.headers["Content-Type"] == "text/event-stream":
                    return response.status_code, next(response.iter_content(3)).decode()
                return response.status_code, response.text


@pytest.fixture
def site(cluster: Cluster, tmp_path: Path) -> Iterator[Site]:
    other = f"{cluster.namespace}-other"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
    cluster.create(namespace)
    for manifest in (*table.rights(cluster.namespace), *table.scene(other)):
        cluster.create(manifest)
    (tmp_path / "plugin.py").write_text(table.PLUGIN)
    kubeconfig = cluster.plane.scheduler_kubeconfig
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "NamesNodes"}]}}}
    scheduler = Mooring(
        tmp_path / "mooring",
        configuration(kubeconfig, profiles=[profile]),
        f"--plugin={tmp_path / 'plugin.py'}:NamesNodes",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
    )
    try:
        scheduler.wait_ready()
        cluster.wait_for("Pod", POD, condition)
        yield Site(cluster, scheduler, other)
    finally:
        scheduler.process.stop()
        cluster.api.delete("Pod", HOLDER, other, gracePeriodSeconds=0)


def test_users_and_paths(site: Site) -> None:
    web, holder = pod_path(site.namespace, POD), pod_path(site.other, HOLDER)
    for user, (_, sight) in {**table.USERS, **table.NAMESPACED}.items():
        status, text = site.ask(web, user)
        check_sight(sight, status, text, f"{site.other}/{HOLDER}")
        assert (user, site.ask(holder, user)[0]) == (user, sight.other)
        assert (user, site.ask(QUEUE, user)[0]) == (user, sight.everything)
        streamed = 403 if user == "queue-only" else sight.everything
        assert (user, site.ask(DECISIONS, user)[0]) == (user, streamed)
        assert site.ask(web, user, "POST")[0] == 405
    assert site.ask(web)[0] == 403, "anonymous"

"""Attempts whose records a scheduler has dropped are explained from its journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.live.running import Mooring, condition, configuration, is_bound, node, pod
from tests.live.test_explain_rights import Site
from tests.support import explain_rights as table
from tests.support.cluster import Cluster
from tests.support.explain_rights import HOLDER, POD, check_sight, pod_path
from tests.support.waiting import eventually


@pytest.fixture
def scheduler(cluster: Cluster, tmp_path: Path) -> Iterator[Mooring]:
    """Yield a scheduler that writes a journal and keeps no records."""
    (tmp_path / "plugin.py").write_text(table.PLUGIN)
    kubeconfig = cluster.plane.scheduler_kubeconfig
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "NamesNodes"}]}}}
    made = Mooring(
        tmp_path / "mooring",
        configuration(kubeconfig, profiles=[profile]),
        f"--plugin={tmp_path / 'plugin.py'}:NamesNodes",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--journal={tmp_path / 'journal'}",
        "--explain-memory=1",
    )
    try:
        made.wait_ready()
        yield made
    finally:
        made.process.stop()


@pytest.fixture
def site(cluster: Cluster, scheduler: Mooring) -> Iterator[Site]:
    """Yield the port of the scheduler, and users with some rights."""
    other = f"{cluster.namespace}-other"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    for manifest in (*table.rights(cluster.namespace), *table.scene(other)):
        cluster.create(manifest)
    try:
        cluster.wait_for("Pod", POD, condition)
        yield Site(cluster, scheduler, other)
    finally:
        cluster.api.delete("Pod", HOLDER, other, gracePeriodSeconds=0)


def asked(site: Site, name: str, query: str = "") -> Any:
    status, text = site.ask(pod_path(site.namespace, name) + query, "auditor")
    assert status == 200, text
    return msgspec.json.decode(text)


def test_rights_apply_to_answers_from_the_journal(site: Site) -> None:
    assert asked(site, POD)["fromJournal"]
    web = pod_path(site.namespace, POD)
    for user, (_, sight) in {**table.USERS, **table.NAMESPACED}.items():
        status, text = site.ask(web, user)
        check_sight(sight, status, text, f"{site.other}/{HOLDER}")


def test_an_attempt_is_explained_on_the_state_at_its_time(site: Site, cluster: Cluster) -> None:
    cluster.create(pod("late", cpu="50"))
    cluster.wait_for("Pod", "late", condition)
    first = asked(site, "late", "?attempt=1")
    assert (first["fromJournal"], first["askedNow"], first["outcome"]) == (
        True,
        False,
        "unschedulable",
    )
    before = first["nodes"]
    cluster.create(node("roomy"))
    cluster.wait_for("Pod", "late", is_bound)
    again = asked(site, "late", "?attempt=1")
    assert (again["nodes"], again["message"]) == (before, first["message"])
    last = asked(site, "late")
    assert (last["fromJournal"], last["chosenNode"]) == (True, "roomy")
    assert last["nodes"] == [*before, "roomy"]
    cluster.api.delete("Pod", "late", cluster.namespace, gracePeriodSeconds=0)
    eventually(lambda: cluster.api.find("Pod", "late", cluster.namespace) is None, "no such pod")
    gone = asked(site, "late", "?attempt=1")
    assert (gone["exists"], gone["fromJournal"], gone["message"]) == (
        False,
        True,
        first["message"],
    )
    status, text = site.ask(pod_path(site.namespace, "late") + "?attempt=77", "auditor")
    assert status == 404 and "attempt 77" in text

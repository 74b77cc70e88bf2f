"""Explanations of recorded attempts."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.errors import ObjectError
from mooring.explain.examination import Examination
from mooring.insight.replay.journal_explanation import (
    choose_attempt,
    explain_attempt,
    find_attempts,
)
from mooring.insight.replay.replaying import RunRules
from mooring.insight.replay.rules import recorded_rules
from tests.insight.replay.recordings import JournaledCluster, journaled, node, pod, schedule_some


def explained(folder: Path, name: str, number: int | None = None) -> Examination:
    chosen = choose_attempt(find_attempts(folder, name, ""), number)
    found, attempt, rules = explain_attempt(
        folder, chosen, lambda head: RunRules(recorded_rules(head))
    )
    assert attempt.begins == chosen
    assert rules == "the recorded configuration"
    return found


def test_a_pod_that_is_gone(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    found = explained(tmp_path, "web-1")
    assert found.chosen == "big"
    assert found.verdicts.names == ["small", "big"]
    assert set(found.scores) >= {"NodeResourcesFit", "NodeResourcesBalancedAllocation"}


def test_a_pod_that_fits_nowhere(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    first, last = explained(tmp_path, "huge", 1), explained(tmp_path, "huge")
    assert (first.attempt, last.attempt) == (1, 2)
    (cause,) = last.causes
    assert (cause.nodes, cause.status.plugin) == (2, "NodeResourcesFit")
    assert "preemption:" in last.decision.message


def test_the_state_is_that_of_the_attempt(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("only", "4"))
        for number in range(3):
            await cluster.create(pod(f"web-{number}", "1"))
            await cluster.schedule()
        await cluster.create(pod("last", "2"))
        await cluster.schedule()

    journaled(tmp_path, play)
    (cause,) = explained(tmp_path, "last").causes
    assert cause.diagnosis is not None
    assert [one.free for one in cause.diagnosis] == [1000]  # type: ignore[union-attr]


def test_an_unknown_pod(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    with pytest.raises(ObjectError, match='holds no attempt of a pod "nobody" in namespace shop'):
        find_attempts(tmp_path, "nobody", "shop")


def test_an_unknown_attempt(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    with pytest.raises(ObjectError, match="no attempt 9 of pod default/huge; its attempts: 1, 2"):
        explained(tmp_path, "huge", 9)


def test_a_name_in_two_namespaces(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("one"))
        await cluster.create(pod("web"))
        account = {"metadata": {"name": "default"}}
        path = "/api/v1/namespaces/kube-system"
        await cluster.server.ask("POST", f"{path}/serviceaccounts", account)
        await cluster.server.ask("POST", f"{path}/pods", pod("web"))
        await cluster.clock.sleep(0.1)
        await cluster.schedule()

    journaled(tmp_path, play)
    with pytest.raises(ObjectError, match="in namespaces default, kube-system: choose one with -n"):
        find_attempts(tmp_path, "web", "")
    assert len(find_attempts(tmp_path, "web", "kube-system")) == 1

"""Explanations of recorded attempts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mooring import Plugin
from mooring.errors import ObjectError
from mooring.explain.examination import Examination
from mooring.replay.journal_explanation import (
    ExplainedAttempt,
    choose_attempt,
    explain_attempt,
    find_attempts,
)
from mooring.replay.replay_rules import recorded_rules
from mooring.replay.replaying import RunRules
from tests.replay.recordings import (
    TREES,
    JournaledCluster,
    journaled,
    node,
    pod,
    refuse_tree,
    schedule_some,
    schedule_tree,
    tree_of_two,
)


def explanation(folder: Path, name: str, number: int | None = None) -> ExplainedAttempt:
    chosen = choose_attempt(find_attempts(folder, name, ""), number)
    found = explain_attempt(folder, chosen, lambda head: RunRules(recorded_rules(head)))
    assert found.attempt.begins == chosen
    assert found.rules == "the recorded configuration"
    return found


def explained(folder: Path, name: str, number: int | None = None) -> Examination:
    return explanation(folder, name, number).found


def test_a_pod_that_is_gone(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    found = explained(tmp_path, "web-1")
    assert found.chosen == "big"
    assert found.verdicts.names == ["small", "big"]
    assert set(found.scores) >= {"NodeResourcesFit", "NodeResourcesBalancedAllocation"}


class Overshoots(Plugin):
    """Gives every node a score that is out of range."""

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> int:
        return 143


def test_an_attempt_whose_scoring_failed(tmp_path: Path) -> None:
    async def schedule(cluster: JournaledCluster) -> None:
        await cluster.create(node("small", "4"), node("big", "64"), pod("web", "1"))
        await cluster.schedule()

    journaled(tmp_path, schedule, Overshoots)
    chosen = choose_attempt(find_attempts(tmp_path, "web", ""), 1)
    explained = explain_attempt(
        tmp_path, chosen, lambda head: RunRules(recorded_rules(head, plugins=[Overshoots]))
    )
    found = explained.found
    assert found.decision.message.startswith("applying score defaultWeights")
    assert found.feasible is not None and len(found.feasible) == 2
    assert found.scores["Overshoots"].normalized.tolist() == [143, 143]
    assert found.decision.totals is None


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


def test_a_pod_without_a_group_has_no_tree(tmp_path: Path) -> None:
    journaled(tmp_path, schedule_some)
    assert explanation(tmp_path, "web-1").tree == ()


def test_a_pod_of_a_tree_is_explained_with_its_deciding_cycle_and_its_tree(
    tmp_path: Path,
) -> None:
    journaled(tmp_path, schedule_tree, gates=TREES)
    # The pod was tried in both racks; the second one is too small.
    found = explanation(tmp_path, "leader-0")
    assert found.attempt.ends is not None
    assert found.found.chosen == found.attempt.ends.record.node
    assert found.found.chosen in ("a-1", "a-2")
    assert [(one.depth, one.name, one.placement, one.fits) for one in found.tree] == [
        (0, "job", "a", True),
        (1, "leader", "all nodes", True),
        (1, "workers", "all nodes", True),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("leader-0", "0/1 nodes are available: 1 Insufficient cpu.", id="it fits not"),
        pytest.param("workers-0", "", id="it fits, but its tree does not"),
    ],
)
def test_a_pod_of_a_tree_that_fails_is_explained_with_its_first_placement(
    name: str, message: str, tmp_path: Path
) -> None:
    async def play(cluster: JournaledCluster) -> None:
        for rack in ("a", "b"):
            labels = {"rack": rack}
            one = node(f"{rack}-1", "4")
            await cluster.create({**one, "metadata": {**one["metadata"], "labels": labels}})
        top, leader, workers, *pods = tree_of_two(leader_cpu="100")
        await cluster.create(top, workers)
        cluster.server.now += timedelta(seconds=1)
        # The leader is younger, and tried last.
        await cluster.create(leader, *pods)
        await cluster.schedule()

    journaled(tmp_path, play, gates=TREES)
    found = explanation(tmp_path, name)
    assert found.attempt.begins.within == (0,)
    assert found.found.decision.message == message
    assert [(one.name, one.fits) for one in found.tree] == [
        ("job", False),
        ("workers", True),
        ("leader", False),
    ]


def test_a_pod_that_was_not_tried_where_its_group_was_refused_is_explained_with_a_trial(
    tmp_path: Path,
) -> None:
    journaled(tmp_path, refuse_tree, gates=TREES)
    leader, worker = explanation(tmp_path, "leader-0"), explanation(tmp_path, "workers-0")
    assert (leader.attempt.begins.within, leader.is_trial) == ((0,), False)
    assert (worker.attempt.begins.within, worker.is_trial) == ((1,), True)


def test_a_pod_that_is_told_the_same_everywhere_is_explained_with_the_chosen_placement(
    tmp_path: Path,
) -> None:
    async def play(cluster: JournaledCluster) -> None:
        for rack, cpu in (("a", "3"), ("b", "2")):
            one = node(f"{rack}-1", cpu)
            await cluster.create({**one, "metadata": {**one["metadata"], "labels": {"rack": rack}}})
        top, _, workers, *_ = tree_of_two()
        top["spec"]["schedulingPolicy"]["gang"]["minGroupCount"] = 1
        workers["spec"]["schedulingPolicy"]["gang"]["minCount"] = 1
        members = [pod(f"workers-{number}", "2") for number in range(2)]
        for member in members:
            member["spec"]["schedulingGroup"] = {"podGroupName": "workers"}
        await cluster.create(top, workers, *members)
        await cluster.schedule()

    journaled(tmp_path, play, gates=TREES)
    found = explanation(tmp_path, "workers-1", 1)
    # The fuller rack is better.
    assert (found.attempt.begins.within, found.is_trial) == ((1,), False)

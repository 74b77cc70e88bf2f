"""Attempts explained from what was recorded."""

from __future__ import annotations

import numpy as np

from mooring.cache import Cache
from mooring.explain.attempt_details import (
    AttemptDetails,
    details_of,
    recorded_decision,
    recorded_examination,
    size_of_part,
)
from mooring.explain.data import explanation_data
from mooring.explain.text import explanation_text
from mooring.framework.decision import Decision, NodeStatuses, Outcome, PluginScores
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.framework.status import Status
from tests.app.world import make_node, make_pod
from tests.explain.histories import RecordedWorld


async def test_the_scores_are_those_of_the_attempt() -> None:
    world = RecordedWorld()
    world.add_nodes(3, cpu=4)
    world.nodes.add(make_node("large", cpu=64))
    await world.try_pod("p", cpu=2)
    kept = world.history.find("default", "p")
    assert kept is not None and kept.details is not None
    found = recorded_examination(kept.record, kept.details)
    assert found.recorded
    assert (found.chosen, found.best) == ("large", ["large"])
    data = explanation_data([found])
    assert data["nodes"] == ["n0", "n1", "n2", "large"]
    assert data["feasible"] == [True] * 4
    assert max(data["totals"]) == data["totals"][3]
    fit = next(one for one in data["scorePlugins"] if one["name"] == "NodeResourcesFit")
    assert fit["raw"][3] > fit["raw"][0]
    assert any(
        line.startswith("Chosen: large: the highest total") for line in explanation_text([found])
    )


async def test_the_first_refusals_are_those_of_the_attempt() -> None:
    world = RecordedWorld()
    world.add_nodes(2, cpu=1)
    world.nodes.add(make_node("tainted", taints=["a=b:NoSchedule"]))
    await world.try_pod("p", cpu=3)
    kept = world.history.find("default", "p")
    assert kept is not None and kept.details is not None
    found = recorded_examination(kept.record, kept.details)
    causes = {cause.status.plugin: (cause.nodes, cause.example) for cause in found.causes}
    assert causes == {"NodeResourcesFit": (2, "n0"), "TaintToleration": (1, "tainted")}
    assert found.decision.message == kept.record.message
    assert found.decision.outcome is Outcome.UNSCHEDULABLE


async def test_a_record_alone_says_how_the_attempt_ended() -> None:
    world = RecordedWorld()
    await world.try_pod("p")
    (record,) = world.history.records("default", "p")
    decision = recorded_decision(record, None)
    assert (decision.pod.key, decision.profile_name) == ("default/p", "default-scheduler")
    assert decision.message == "no nodes available to schedule pods"


def test_sizes_of_arrays_and_statuses() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for number in range(1000):
        cache.add_node(make_node(f"n{number}"))
    scores = np.zeros(1000, dtype=np.int64)
    assert size_of_part(scores) >= 8000
    assert size_of_part(PluginScores(scores, scores, 1)) == size_of_part(scores)
    both = PluginScores(scores, scores.copy(), 1)
    assert size_of_part(both) == 2 * size_of_part(scores)

    def refused(length: int) -> int:
        statuses = NodeStatuses(cache.nodes)
        statuses.refuse(np.array([0]), Status.unschedulable("x" * length))
        return size_of_part(statuses)

    assert refused(10) > 4000
    assert refused(1000) - refused(10) == 990
    assert size_of_part(cache.nodes.lasting_names) > 8000


def test_details_without_filter_have_no_arrays() -> None:
    details = details_of(Decision(make_pod("p"), "default-scheduler"))
    assert details == AttemptDetails()
    assert list(details.parts()) == []

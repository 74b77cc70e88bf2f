"""The result of every pod."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mooring.api import KubeObject, Pod
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.testing.builders import make_node, make_pod, make_pod_group
from mooring.virtual.schedule_report import RESULTS, ScheduleReport, make_report, report_data
from tests.explain.runs import make_scheduler, run


def report(
    objects: Iterable[KubeObject], not_tried: Iterable[Pod] = (), **options: Any
) -> ScheduleReport:
    scheduler = make_scheduler(objects, **options)
    return make_report(scheduler, run(scheduler), not_tried)


def test_every_way_to_end() -> None:
    class Fails(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> None:
            if pod.name == "broken":
                raise KeyError(pod.name)

    unserved = make_pod("unserved", scheduler_name="mine")
    leaving = make_pod("leaving", metadata={"deletionTimestamp": "2024-01-01T00:00:00Z"})
    found = report(
        [
            make_node("n1", cpu="2"),
            make_pod("fits"),
            make_pod("huge", cpu="3"),
            make_pod("gated", gates=["a/b"]),
            make_pod("broken"),
            unserved,
            leaving,
        ],
        [unserved, leaving],
        plugins=[Fails],
    )
    results = {result.pod.name: result for result in found.pods}
    assert {name: result.result for name, result in results.items()} == {
        "fits": "scheduled",
        "huge": "pending",
        "gated": "gated",
        "broken": "error",
        "unserved": "unserved",
        "leaving": "terminating",
    }
    assert results["fits"].node == "n1"
    assert results["huge"].plugins == ["NodeResourcesFit"]
    assert results["unserved"].message == (
        'no profile serves schedulerName "mine"; profiles: default-scheduler'
    )
    assert results["broken"].errors[0].plugin == "Fails"
    assert found.counts() == {
        "scheduled": 1,
        "pending": 1,
        "gated": 1,
        "error": 1,
        "preempted": 0,
        "unserved": 1,
        "terminating": 1,
    }


def test_victims_and_who_took_their_place() -> None:
    found = report(
        [
            make_node("n1", cpu="2"),
            make_pod("low", cpu="2", node="n1"),
            make_pod("high", cpu="2", priority=9),
        ]
    )
    (result,) = found.pods
    assert (result.result, result.node, result.attempts) == ("scheduled", "n1", 2)
    assert result.victims == ["default/low"]
    assert result.nominated_node == ""
    assert [(p.pod.key, p.pod.spec.node_name, p.by) for p in found.preempted] == [
        ("default/low", "n1", "default/high")
    ]


def test_a_pod_that_is_scheduled_and_then_pushed_out_again() -> None:
    class Late(Plugin):
        """Let the important pod in only once it has been refused."""

        refused = False

        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Status | None:
            if not pod.priority or self.refused:
                return None
            self.refused = True
            return Status.unschedulable("too early")

    found = report(
        [make_node("n1", cpu="2"), make_pod("low", cpu="2"), make_pod("high", cpu="2", priority=9)],
        plugins=[Late],
    )
    results = {result.pod.name: result for result in found.pods}
    assert results["low"].result == "preempted"
    assert (results["low"].node, results["low"].message) == ("", "Preempted by default/high")
    assert results["high"].result == "scheduled"


def test_the_data_has_every_field_always() -> None:
    data = report_data(report([make_node("n1", cpu="1"), make_pod("a"), make_pod("b", cpu="2")]))
    assert json.loads(json.dumps(data)) == data
    assert list(data) == ["version", "summary", "pods", "preempted"]
    assert list(data["summary"]) == ["nodes", "pods", *RESULTS]
    first, second = data["pods"]
    assert list(first) == list(second)
    assert first == {
        "namespace": "default",
        "name": "a",
        "schedulerName": "default-scheduler",
        "priority": 0,
        "result": "scheduled",
        "node": "n1",
        "message": "",
        "nominatedNode": "",
        "attempts": 1,
        "plugins": [],
        "victims": [],
        "errors": [],
    }


def test_preemption_by_a_pod_group_names_the_group() -> None:
    found = report(
        [
            make_node("n1", cpu="2"),
            make_pod("low", cpu="2", node="n1"),
            make_pod_group("g", min_count=2, priority=9),
            *(make_pod(f"g-{index}", cpu="1", group="g", priority=9) for index in range(2)),
        ],
        gates="GenericWorkload=true",
    )
    assert [(one.pod.key, one.by) for one in found.preempted] == [
        ("default/low", "podgroup default/g")
    ]
    assert {one.pod.name: one.result for one in found.pods} == {
        "g-0": "scheduled",
        "g-1": "scheduled",
    }

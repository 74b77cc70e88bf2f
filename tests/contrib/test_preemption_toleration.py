"""PreemptionToleration: pods that tolerate the preemptor are left alone."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring.api import Pod, PriorityClass, decode_as
from mooring.contrib.preemption_toleration import (
    MINIMUM_PRIORITY,
    TOLERATION_SECONDS,
    UNREADABLE,
    PodToleration,
    PreemptionToleration,
    read_toleration,
)
from mooring.testing import check_plugin, make_node, make_pod, run_cycle
from tests.contrib.profiles import configuration

NOW = 1_000_000.0


def priority_class(value: int = 100, **annotations: str) -> PriorityClass:
    keys = {"minimum": MINIMUM_PRIORITY, "seconds": TOLERATION_SECONDS}
    named = {keys[key]: text for key, text in annotations.items()}
    metadata = {"name": "low", "annotations": named}
    return decode_as({"metadata": metadata, "value": value}, PriorityClass)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(priority_class(), PodToleration(101, 0), id="the defaults"),
        pytest.param(
            priority_class(minimum="1000", seconds="60"), PodToleration(1000, 60), id="both"
        ),
        pytest.param(
            priority_class(minimum="+0005", seconds="-1"), PodToleration(5, -1), id="signs"
        ),
        pytest.param(priority_class(minimum="many"), None, id="no number"),
        pytest.param(priority_class(minimum="1_000"), None, id="an underscore"),
        pytest.param(priority_class(minimum=" 5"), None, id="a space"),
        pytest.param(priority_class(minimum="٣"), None, id="digits of another script"),
        pytest.param(priority_class(minimum=""), None, id="nothing"),
        pytest.param(priority_class(minimum="2147483648"), None, id="more than 32 bits"),
        pytest.param(
            priority_class(minimum="-2147483648"), PodToleration(-(2**31), 0), id="32 bits"
        ),
        pytest.param(priority_class(seconds="9223372036854775808"), None, id="more than 64 bits"),
        pytest.param(priority_class(seconds="9" * 5000), None, id="a very long number"),
        pytest.param(
            priority_class(seconds="0" * 5000 + "7"), PodToleration(101, 7), id="leading zeros"
        ),
    ],
)
def test_annotations(given: PriorityClass, expected: PodToleration | None) -> None:
    assert read_toleration(given) == expected


def victim(scheduled: str | None = "1970-01-12T13:46:40Z", status: str = "True") -> Pod:
    condition = {"type": "PodScheduled", "status": status}
    if scheduled is not None:
        condition["lastTransitionTime"] = scheduled
    return make_pod("v", status={"conditions": [condition]})


@pytest.mark.parametrize(
    ("toleration", "pod", "now", "expected"),
    [
        pytest.param(PodToleration(1000, 60), victim(), NOW + 59, True, id="within its time"),
        pytest.param(PodToleration(1000, 60), victim(), NOW + 60, False, id="after its time"),
        pytest.param(PodToleration(500, 60), victim(), NOW, False, id="a preemptor of the minimum"),
        pytest.param(PodToleration(1000, -1), victim(), NOW + 1e9, True, id="forever"),
        pytest.param(PodToleration(1000, 0), victim(), NOW, False, id="no time"),
        pytest.param(
            PodToleration(1000, 0), victim(status="False"), NOW, True, id="not scheduled yet"
        ),
        pytest.param(PodToleration(1000, 0), make_pod("v"), NOW, True, id="no condition"),
        pytest.param(PodToleration(1000, 60), victim(None), NOW, False, id="no time of scheduling"),
        pytest.param(PodToleration(1000, 60), victim("soon"), NOW, False, id="an unreadable time"),
        pytest.param(
            PodToleration(1000, 10**10), victim(), NOW, False, id="so long that Go's sum wraps"
        ),
    ],
)
def test_exemption(toleration: PodToleration, pod: Pod, now: float, expected: bool) -> None:
    assert toleration.exempts(pod, 500, now) is expected


def decide(*objects: Any, victim_class: str = "low") -> Any:
    low = make_pod("low", node="n", cpu="3", priority=1, spec={"priorityClassName": victim_class})
    return run_cycle(
        pod=make_pod("high", cpu="3", priority=10),
        nodes=[make_node("n", cpu=4)],
        pods=[low],
        objects=objects,
        config=configuration("PreemptionToleration", disabled=["DefaultPreemption"]),
    )


def test_a_pod_that_tolerates_nothing_is_a_victim() -> None:
    decision = decide(priority_class(1))
    assert [pod.name for pod in decision.post_filter.victims] == ["low"]
    assert decision.post_filter.nominated_node == "n"


def test_a_pod_that_tolerates_the_preemptor_stays() -> None:
    decision = decide(priority_class(minimum="100", seconds="-1"))
    assert decision.post_filter.victims == ()
    assert decision.message.endswith("No victims found on node n for preemptor pod high.")


def test_a_missing_class_is_an_error() -> None:
    decision = decide()
    assert decision.post_filter.status.is_error
    assert decision.post_filter.status.reasons == (
        'priorityclass.scheduling.k8s.io "low" not found',
    )


def test_a_class_that_cannot_be_read_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        decision = decide(priority_class(minimum="many"))
    assert [pod.name for pod in decision.post_filter.victims] == ["low"]
    assert [record.getMessage() for record in caplog.records] == [UNREADABLE]


def test_the_contract() -> None:
    check_plugin(PreemptionToleration, objects=[priority_class()])

"""Which pods PreEnqueue lets into the active queue."""

from __future__ import annotations

import itertools
import logging
from typing import Any

import pytest

from mooring.framework.status import Status
from mooring.observe.metrics import Metrics
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_info import QueuedPodInfo
from tests.queue.pods import PROFILE, Profile, gate, held, pod


def asked(*plugins: Any, metrics: Metrics | None = None) -> PreEnqueue:
    return PreEnqueue({PROFILE: Profile(*plugins)}, lambda: 0.0, metrics)


def an_info(**labels: str) -> QueuedPodInfo:
    return QueuedPodInfo(pod(**labels), 0.0, 0)


def _raise(pod: Any) -> None:
    raise ValueError("boom")


@pytest.mark.parametrize(
    ("status", "gated"),
    [
        pytest.param(lambda pod: None, "", id="None agrees"),
        pytest.param(lambda pod: Status.success(), "", id="success agrees"),
        pytest.param(lambda pod: Status.unresolvable("no"), "G", id="a refusal gates"),
        pytest.param(lambda pod: Status.skip(), "G", id="a skip is no agreement"),
        pytest.param(lambda pod: Status.error("broken"), "G", id="an error gates"),
        pytest.param(_raise, "G", id="an exception gates"),
        pytest.param(lambda pod: "no", "G", id="nonsense gates"),
    ],
)
def test_answers(status: Any, gated: str) -> None:
    info = an_info()
    asked(gate("G", status)).run(info)
    assert info.gating_plugin == gated
    assert info.unschedulable_plugins == ({gated} if gated else set())


def test_the_first_refusal_gates_a_pod_and_signs() -> None:
    closed = Status.unresolvable("closed")
    pre_enqueue = asked(
        gate("A", lambda pod: None), gate("B", lambda pod: closed), gate("C", _raise)
    )
    assert pre_enqueue.run(an_info()) == closed.by("B")
    assert asked(gate("A", lambda pod: None)).run(an_info()) is None


@pytest.mark.parametrize("answer", [_raise, lambda pod: "yes"], ids=["raises", "wrong type"])
def test_a_fault_holds_the_pod_back_and_names_the_plugin(answer: Any) -> None:
    status = asked(gate("A", answer)).run(an_info())
    assert status is not None and status.is_error
    assert status.message.startswith("plugin A, point PreEnqueue: ")


def test_a_pod_of_an_unknown_profile_is_let_through() -> None:
    info = an_info()
    PreEnqueue({}, lambda: 0.0).run(info)
    assert not info.is_gated


def test_the_plugin_that_gated_the_pod_is_asked_first() -> None:
    order = []

    def noting(name: str, by: str) -> Any:
        def status(pod: Any) -> Any:
            order.append(name)
            return held(by)(pod)

        return gate(name, status)

    pre_enqueue = asked(noting("A", "a"), noting("B", "b"), noting("C", "c"))
    info = an_info(b="")
    pre_enqueue.run(info)
    pre_enqueue.run(info)
    assert (info.gating_plugin, order) == ("B", ["A", "B", "B"])
    order.clear()
    info.pod = pod(c="")
    pre_enqueue.run(info)
    assert (info.gating_plugin, order) == ("C", ["B", "A", "C"])
    order.clear()
    info.pod = pod()
    pre_enqueue.run(info)
    assert (info.is_gated, order) == (False, ["C", "A", "B"])
    assert info.unschedulable_plugins == {"B", "C"}


@pytest.mark.parametrize(
    ("status", "traceback"),
    [
        pytest.param(_raise, True, id="an exception"),
        pytest.param(lambda pod: Status.error("boom"), False, id="an error"),
        pytest.param(lambda pod: 7, False, id="nonsense"),
    ],
)
def test_faults_are_reported(
    status: Any, traceback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        asked(gate("G", status)).run(an_info())
    assert caplog.messages == ["Unexpected error running PreEnqueue plugin"]
    assert bool(caplog.records[0].exc_info) is traceback


def test_a_pod_counts_once_for_its_gate() -> None:
    metrics = Metrics()
    pre_enqueue = asked(gate("G", held("g")), metrics=metrics)
    info = an_info(g="")
    pre_enqueue.run(info)
    pre_enqueue.run(info)
    value = metrics.registry.get_sample_value
    assert value("scheduler_unschedulable_pods", {"plugin": "G", "profile": PROFILE}) == 1
    point = {"extension_point": "PreEnqueue", "status": "Success", "profile": PROFILE}
    assert value("scheduler_framework_extension_point_duration_seconds_count", point) == 2


@pytest.mark.parametrize(("runs", "sampled"), [(9, None), (10, 1), (19, 1), (25, 2)])
def test_the_time_of_every_tenth_run_is_taken_per_plugin(runs: int, sampled: int | None) -> None:
    metrics = Metrics()
    pre_enqueue = asked(gate("G", held("g")), metrics=metrics)
    for _ in range(runs):
        pre_enqueue.run(an_info())
    labels = {"plugin": "G", "extension_point": "PreEnqueue", "status": "Success"}
    name = "scheduler_plugin_execution_duration_seconds_count"
    assert metrics.registry.get_sample_value(name, labels) == sampled


def test_times_are_those_that_have_passed() -> None:
    """The clock advances by one second each time it is read."""
    metrics = Metrics()
    moments = itertools.count(1_000_000.0)
    pre_enqueue = PreEnqueue({PROFILE: Profile(gate("G", held("g")))}, moments.__next__, metrics)
    for _ in range(10):
        pre_enqueue.run(an_info())
    ((_, point),) = metrics.extension_point_duration.items()
    ((_, plugin),) = metrics.plugin_duration.items()
    # Nine runs read the clock twice; the tenth, which is sampled, twice more for its plugin.
    assert (point.sum, plugin.sum) == (9 * 1 + 3, 1)


@pytest.mark.parametrize(
    ("gated_by", "labels", "held_back"),
    [
        pytest.param("G", {"g": ""}, True, id="its gate holds it still"),
        pytest.param("G", {}, False, id="its gate lets it go"),
        pytest.param("H", {"g": ""}, False, id="a plugin that is there no more"),
        pytest.param("", {"g": ""}, False, id="nobody"),
    ],
)
def test_whether_a_gate_still_holds(gated_by: str, labels: Any, held_back: bool) -> None:
    info = an_info(**labels)
    info.gating_plugin = gated_by
    assert asked(gate("G", held("g"))).holds(info) is held_back

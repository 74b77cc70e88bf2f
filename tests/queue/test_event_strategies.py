"""Events that arrive while pods are in flight, and what they mean for those that return refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod
from mooring.framework.cluster_events import ClusterEvent, QueueingHint
from mooring.framework.features import FeatureGates
from mooring.queue.event_strategies import Strategies
from mooring.queue.event_types import FORCE_ACTIVATED, UNSCHEDULABLE_TIMED_OUT, Changes
from mooring.queue.in_flight import InFlight
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.queue.queueing_hints import Hints, QueueingStrategy
from tests.queue.pods import NODE_ADD, NODE_LABEL, PROFILE, node, pod, refuser

TARGET_UPDATE = Changes(FeatureGates()).of_pod(pod(), pod(), is_target=True)[0]
WANTED = ("n0", "n1")


class Asked:
    """A hint for the node that a pod's label names, which counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, pod: Pod, old: Any, new: Any) -> QueueingHint:
        self.count += 1
        wanted = pod.labels.get("wants") == new.name
        return QueueingHint.QUEUE if wanted else QueueingHint.SKIP


def wanted(pod: Pod) -> str:
    return pod.labels.get("wants", "")


def fails(pod: Pod) -> str:
    raise ValueError(pod.name)


def hints(asked: Asked) -> Hints:
    """Return plugins that wait for nodes: one by a key, one without, and one that has no hint."""
    keys = {"Keyed": wanted, "Faulty": fails, "Plain": None}
    plugins = {
        name: refuser(name, ClusterEvent(NODE_ADD.resource, NODE_ADD.actions, asked, hint_key=key))
        for name, key in keys.items()
    }
    return Hints({**plugins, "Labels": refuser("Labels", NODE_LABEL)})


class Flight:
    """Pods in flight with the strategies for them."""

    def __init__(self) -> None:
        self.asked = Asked()
        self.events = InFlight()
        self.strategies = Strategies({PROFILE: hints(self.asked)}, self.events)
        self.infos: list[QueuedPodInfo] = []

    def start(self, name: str, wants: str) -> None:
        info = QueuedPodInfo(pod(name, wants=wants), 0.0, len(self.infos))
        self.infos.append(info)
        self.events.start(info.pod)

    def back(self, info: QueuedPodInfo) -> QueueingStrategy:
        strategy = self.strategies.after_flight(info)
        self.events.done(info.uid)
        self.events.validate()
        return strategy


def expected(flight: Flight, info: QueuedPodInfo) -> QueueingStrategy:
    """Return the strategy as kube-scheduler finds it: by every event since the pop."""
    every = (flight.strategies.of(info, *happened) for happened in flight.events.since(info.uid))
    return max(every, default=QueueingStrategy.SKIP)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pop"), st.sampled_from(WANTED), st.none()),
        st.tuples(
            st.just("event"),
            st.sampled_from(("add", "label", "target", "activate", "timeout")),
            st.integers(0, 5),
        ),
        st.tuples(
            st.just("back"),
            st.integers(0, 5),
            st.tuples(
                *(
                    st.frozensets(st.sampled_from(names), max_size=2)
                    for names in (
                        ("Keyed", "Plain", "Labels", "Faulty", "Extender"),
                        ("Keyed", "Plain"),
                    )
                )
            ),
        ),
    ),
    max_size=60,
)


@given(STEPS)
def test_a_pod_that_returns_is_queued_as_if_it_was_checked_against_every_event(
    steps: Sequence[tuple[str, Any, Any]],
) -> None:
    flight = Flight()
    for number, (step, first, second) in enumerate(steps):
        if step == "pop":
            flight.start(f"p{number}", first)
        elif step == "event":
            subject = flight.infos[second % len(flight.infos)].pod if flight.infos else pod("other")
            happened: dict[str, tuple[ClusterEvent, Any, Any]] = {
                "add": (NODE_ADD, None, node(WANTED[second % 2])),
                "label": (NODE_LABEL, node(), node()),
                "target": (TARGET_UPDATE, subject, subject),
                "activate": (FORCE_ACTIVATED, None, subject),
                "timeout": (UNSCHEDULABLE_TIMED_OUT, None, None),
            }
            flight.events.note(*happened[first])
        elif flight.infos:
            info = flight.infos.pop(first % len(flight.infos))
            info.unschedulable_plugins, info.pending_plugins = second
            if info.rejectors:
                assert expected(flight, info) is flight.back(info)
            else:
                assert flight.back(info) is QueueingStrategy.AFTER_BACKOFF


def test_pods_with_the_same_key_are_checked_once_against_an_event() -> None:
    flight = Flight()
    count = 100
    for number in range(count):
        flight.start(f"p{number}", "n0")
    for info in list(flight.infos):
        flight.events.note(NODE_ADD, None, node("n1"))
        info.unschedulable_plugins = frozenset({"Keyed"})
        assert flight.back(info) is QueueingStrategy.SKIP
    assert flight.asked.count == count


def test_a_pod_that_was_popped_late_is_not_checked_against_all_events_before() -> None:
    flight = Flight()
    flight.start("waits", "n0")
    for name in ("a", "b"):
        for _ in range(100):
            flight.events.note(NODE_ADD, None, node("n1"))
        flight.start(name, "n0")
        flight.events.note(NODE_ADD, None, node("n1"))
        info = flight.infos.pop()
        info.unschedulable_plugins = frozenset({"Keyed"})
        flight.back(info)
    assert flight.asked.count == 2


def test_a_key_that_raises_is_shared_by_no_pods(caplog: pytest.LogCaptureFixture) -> None:
    read = hints(Asked())
    keys = {read.key_of("Faulty", pod(name)) for name in ("a", "b")}
    assert len(keys) == 2
    assert "The key of a queueing hint raised" in caplog.text


def test_groups_and_gated_pods_share_no_key() -> None:
    flight = Flight()
    info = QueuedPodInfo(pod(wants="n0"), 0.0, 0)
    assert flight.strategies.key_of(info, "Keyed") == ("n0",)
    info.gating_plugin = "Keyed"
    assert flight.strategies.key_of(info, "Keyed") is None

"""Coscheduling in a scheduler in memory, on a virtual clock."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring import QueuedPod, QueueingHint, Status
from mooring.api import (
    OLDER_POD_GROUP_LABELS,
    POD_GROUP_LABEL,
    KubeObject,
    Pod,
    PodGroup,
    decode_as,
)
from mooring.contrib.coscheduling import Coscheduling
from mooring.contrib.coscheduling.assignments import FREQUENT
from mooring.contrib.coscheduling.plugin import (
    OLDER_LABEL,
    POD_GROUPS,
    TOO_FEW_MEMBERS,
    UNREADABLE_RESOURCES,
)
from mooring.errors import ConfigErrors
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.decision import Decision
from mooring.testing import check_plugin, make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.profiles import configuration, make_scheduler


def group(
    name: str = "g", minimum: Any = 3, creation: str = "2026-03-01T12:00:00Z", **spec: Any
) -> PodGroup:
    raw = {
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": creation},
        "spec": {"minMember": minimum, **spec},
    }
    return decode_as(raw, PodGroup)


def member(name: str, of: str = "g", **more: Any) -> Pod:
    return make_pod(name, labels={POD_GROUP_LABEL: of}, **{"cpu": "1", **more})


class Gangs:
    """A scheduler in memory that runs Coscheduling."""

    def __init__(self, *objects: KubeObject, cpu: int = 8, **args: Any) -> None:
        config = configuration(
            "Coscheduling",
            disabled=["PrioritySort", "DefaultPreemption"],
            args={"Coscheduling": args},
        )
        nodes = [make_node("n", cpu=cpu)]
        self.scheduler: MemoryScheduler = make_scheduler(config, [*nodes, *objects])

    def schedule(self, name: str) -> Decision:
        pod = self.scheduler.cluster.pods.get(name, "default")
        assert pod is not None
        return drive(self.scheduler.schedule_one(pod))

    def wait(self, seconds: float) -> None:
        """Let time pass; waits end when they are over."""
        until = self.scheduler.clock.now() + seconds
        while (due := self.scheduler.on_the_way.next_deadline()) is not None and due <= until:
            drive(self.scheduler.expire_waits())
        self.scheduler.clock.advance(until - self.scheduler.clock.now())

    def bound(self) -> list[str]:
        return sorted(pod.name for pod in self.scheduler.cluster.pods.list() if pod.node_name)

    def waiting(self) -> list[str]:
        return sorted(wait.pod.name for wait in self.scheduler.on_the_way.waiting())


TRIO = [member("a"), member("b"), member("c")]


def test_a_gang_starts_when_the_last_member_has_a_node() -> None:
    gangs = Gangs(group(), *TRIO)
    gangs.schedule("a")
    gangs.schedule("b")
    assert (gangs.waiting(), gangs.bound()) == (["a", "b"], [])
    gangs.schedule("c")
    assert (gangs.waiting(), gangs.bound()) == ([], ["a", "b", "c"])


def test_a_gang_that_does_not_fit_gives_its_places_back() -> None:
    gangs = Gangs(group(), *TRIO, cpu=2)
    gangs.schedule("a")
    gangs.schedule("b")
    decision = gangs.schedule("c")
    assert "PodGroup default/g gets rejected due to Pod c is unschedulable" in decision.message
    assert (gangs.waiting(), gangs.bound()) == ([], [])


def test_a_small_gap_is_tolerated() -> None:
    gangs = Gangs(group(), *TRIO, cpu=2, podGroupRejectPercentage=34)
    for name in "abc":
        gangs.schedule(name)
    assert gangs.waiting() == ["a", "b"]


def test_the_wait_ends_after_the_time_of_the_group() -> None:
    gangs = Gangs(group(scheduleTimeoutSeconds=5), *TRIO)
    gangs.schedule("a")
    gangs.wait(4.9)
    gangs.schedule("b")
    assert gangs.waiting() == ["a", "b"]
    gangs.wait(0.2)
    assert (gangs.waiting(), gangs.bound()) == ([], [])


@pytest.mark.parametrize(
    ("timeout", "argument", "seconds"),
    [
        pytest.param(None, {}, 60, id="neither says any"),
        pytest.param(None, {"permitWaitingTimeSeconds": 7}, 7, id="the argument"),
        pytest.param(5, {"permitWaitingTimeSeconds": 7}, 5, id="the group"),
        pytest.param(0, {"permitWaitingTimeSeconds": 7}, 7, id="0 in the group"),
        pytest.param(None, {"permitWaitingTimeSeconds": 0}, 60, id="0 in the argument"),
    ],
)
def test_how_long_a_member_waits(timeout: int | None, argument: Any, seconds: int) -> None:
    spec = {} if timeout is None else {"scheduleTimeoutSeconds": timeout}
    gangs = Gangs(group(**spec), *TRIO, **argument)
    gangs.schedule("a")
    gangs.wait(seconds - 0.1)
    assert gangs.waiting() == ["a"]
    gangs.wait(0.2)
    assert gangs.waiting() == []


def test_a_failed_group_is_held_back_and_then_tried_again() -> None:
    gangs = Gangs(group(), *TRIO, cpu=2, podGroupBackoffSeconds=10)
    for name in "ab":
        gangs.schedule(name)
    pod = gangs.scheduler.cluster.pods.get("c", "default")
    attempt = drive(gangs.scheduler.decide(pod))
    held = drive(gangs.scheduler.decide(pod))
    assert held.decision.pre_filter.message == "podGroup default/g failed recently"
    before = gangs.scheduler.clock.now()
    gangs.scheduler.activated.clear()
    # The work that the plugin spawned waits for the end of the backoff.
    drive(gangs.scheduler.carry_out(attempt))
    assert gangs.scheduler.clock.now() - before == 10
    assert sorted(pod.name for pod in gangs.scheduler.activated) == ["a", "b", "c"]
    assert drive(gangs.scheduler.decide(pod)).decision.pre_filter is None
    gangs.scheduler.discard(held)


def test_a_group_that_fails_in_a_loop_is_held_back_without_an_argument() -> None:
    gangs = Gangs(group(minimum=2), *TRIO[:2], cpu=1)
    refused = []
    for _ in range(FREQUENT + 2):
        gangs.schedule("a")
        attempt = drive(gangs.scheduler.decide(gangs.scheduler.cluster.pods.get("b", "default")))
        refused.append(attempt.decision.pre_filter)
        gangs.scheduler.discard(attempt)
        drive(gangs.scheduler.settle())
    assert refused[:-1] == [None] * (FREQUENT + 1)
    assert refused[-1] == Status.unresolvable("podGroup default/g failed recently").by(
        "Coscheduling"
    )


def test_a_missing_group_is_refused_at_permit_and_a_pod_without_label_is_not() -> None:
    gangs = Gangs(member("a", "missing"), make_pod("plain", cpu="1"))
    assert gangs.schedule("a").message == "0/1 nodes are available: 1 PodGroup not found."
    gangs.schedule("plain")
    assert gangs.bound() == ["plain"]


@pytest.mark.parametrize("label", OLDER_POD_GROUP_LABELS)
def test_older_labels_name_a_group_with_one_warning(
    label: str, caplog: pytest.LogCaptureFixture
) -> None:
    trio = [make_pod(name, labels={label: "g"}, cpu="1") for name in "abc"]
    gangs = Gangs(group(), *trio)
    gangs.schedule("a")
    gangs.schedule("b")
    assert gangs.waiting() == ["a", "b"]
    gangs.schedule("c")
    assert gangs.bound() == ["a", "b", "c"]
    warned = [one.getMessage() for one in caplog.records if label in one.getMessage()]
    assert warned == [OLDER_LABEL % ("default/a", label, POD_GROUP_LABEL)]


def test_the_current_label_wins_over_older_ones(caplog: pytest.LogCaptureFixture) -> None:
    labels = dict.fromkeys(OLDER_POD_GROUP_LABELS, "other")
    gangs = Gangs(group(minimum=1), make_pod("a", labels={POD_GROUP_LABEL: "g", **labels}))
    gangs.schedule("a")
    assert gangs.bound() == ["a"]
    assert caplog.records == []


@pytest.mark.parametrize("label", [POD_GROUP_LABEL, *OLDER_POD_GROUP_LABELS])
def test_what_members_use_counts_as_free_for_their_group(label: str) -> None:
    bound = [make_pod(name, labels={label: "g"}, cpu="4", node="n") for name in "ab"]
    last = make_pod("c", labels={label: "g"})
    gangs = Gangs(group(minResources={"cpu": "8"}), *bound, last)
    gangs.schedule("c")
    assert gangs.bound() == ["a", "b", "c"]


def test_members_that_another_scheduler_bound_count() -> None:
    gangs = Gangs(group(), *TRIO)
    cluster = gangs.scheduler.cluster
    for name in "ab":
        cluster.add(member(name, node="n"))
    gangs.schedule("c")
    assert gangs.bound() == ["a", "b", "c"]


def test_the_first_member_activates_its_siblings() -> None:
    gangs = Gangs(group(), *TRIO)
    gangs.schedule("a")
    assert sorted(pod.name for pod in gangs.scheduler.activated) == ["b", "c"]


def test_a_member_that_lost_its_place_is_tried_again_with_a_later_one() -> None:
    running = member("r", node="n")
    gangs = Gangs(group(scheduleTimeoutSeconds=5), running, *TRIO[:2])
    gangs.schedule("a")
    gangs.wait(6)
    gangs.scheduler.activated.clear()
    gangs.schedule("b")
    # What a waiting pod's plugins have spawned runs when its wait ends.
    gangs.wait(6)
    assert [pod.name for pod in gangs.scheduler.activated] == ["a"]


def test_the_order_is_by_priority_then_by_the_age_of_the_group_then_by_name() -> None:
    gangs = Gangs(group("old"), group("new", creation="2026-03-02T12:00:00Z"))
    plugin = gangs.scheduler.profiles["default-scheduler"].queue_sort()
    expected = [
        QueuedPod(member("z", "new", priority=1), 0.0, 9e9),
        QueuedPod(make_pod("plain"), 0.0, 1_000_000.0),
        QueuedPod(member("a", "old"), 5.0, 9e9),
        QueuedPod(member("b", "old"), 1.0, 9e9),
        QueuedPod(member("c", "new"), 0.0, 0.0),
        QueuedPod(member("d", "missing"), 0.0, 9e9),
    ]
    assert isinstance(plugin, Coscheduling)
    assert sorted(reversed(expected), key=plugin.sort_key) == expected
    assert plugin.less(expected[0], expected[1])
    assert not plugin.less(expected[1], expected[0])


def test_a_group_that_failed_goes_behind_the_others() -> None:
    gangs = Gangs(group("old"), group("new", creation="2026-03-02T12:00:00Z"), *TRIO[:1])
    plugin = gangs.scheduler.profiles["default-scheduler"].queue_sort()
    assert isinstance(plugin, Coscheduling)
    gangs.scheduler.cluster.add(member("x", "old"))
    gangs.schedule("x")
    older, newer = QueuedPod(member("x", "old"), 0.0), QueuedPod(member("y", "new"), 0.0)
    assert plugin.less(newer, older)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"permitWaitingTimeSeconds": -1}, "permitWaitingTimeSeconds: Invalid value: -1"),
        ({"podGroupBackoffSeconds": -2}, "podGroupBackoffSeconds: Invalid value: -2"),
        ({"podGroupRejectPercentage": 101}, "podGroupRejectPercentage: Invalid value: 101"),
        ({"permitWaitingTimeSeconds": "soon"}, "must be an integer"),
        ({"permitWaitingTime": 5}, "permitWaitingTime"),
        ({"kind": "OtherArgs"}, "args for plugin Coscheduling were not of type CoschedulingArgs"),
        ({"apiVersion": "v2"}, "kubescheduler.config.k8s.io/v1"),
    ],
    ids=["wait", "backoff", "percentage", "type", "unknown key", "kind", "version"],
)
def test_bad_arguments_are_refused_in_one_line(args: Any, text: str) -> None:
    with pytest.raises(ConfigErrors) as raised:
        Gangs(**args)
    (line,) = str(raised.value).splitlines()
    assert text in line


def test_a_group_without_a_minimum_is_said_once_and_its_pods_go_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        gangs = Gangs(group(minimum=0), member("a"))
        gangs.schedule("a")
    assert gangs.bound() == ["a"]
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"PodGroup default/g: {TOO_FEW_MEMBERS}, got 0"]


def test_resources_that_cannot_be_read_are_said_once_and_not_checked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        gangs = Gangs(group(minimum=1, minResources={"cpu": "lots"}), member("a"))
        gangs.schedule("a")
    assert gangs.bound() == ["a"]
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"PodGroup default/g: {UNREADABLE_RESOURCES}"]


HINTS = [
    pytest.param(EventResource.POD, ActionType.ADD, None, member("x"), True, id="a sibling came"),
    pytest.param(
        EventResource.POD, ActionType.ADD, None, member("x", "h"), False, id="another pod came"
    ),
    pytest.param(
        EventResource.POD, ActionType.DELETE, member("x", "h"), None, True, id="another pod left"
    ),
    pytest.param(
        EventResource.POD, ActionType.DELETE, member("x"), None, False, id="a sibling left"
    ),
    pytest.param(POD_GROUPS, ActionType.UPDATE, group(), group(), True, id="its group changed"),
    pytest.param(POD_GROUPS, ActionType.ADD, None, group("h"), False, id="another group came"),
    pytest.param(EventResource.NODE, ActionType.ADD, None, make_node("x"), True, id="a node came"),
]


@pytest.mark.parametrize(("resource", "action", "old", "new", "queues"), HINTS)
def test_hints(resource: str, action: ActionType, old: Any, new: Any, queues: bool) -> None:
    happened = ClusterEvent(resource, action)
    plugin = Coscheduling()
    (found,) = [event for event in plugin.events_to_register() if event.matches(happened)]
    assert found.hint is not None
    expected = QueueingHint.QUEUE if queues else QueueingHint.SKIP
    assert found.hint(member("a"), old, new) is expected
    assert found.hint(make_pod("plain"), old, new) is QueueingHint.SKIP


def test_the_cost_of_a_gang_grows_with_its_size_alone() -> None:
    # Each member waits once, and is let go once.
    assert [_count_calls(size) for size in (8, 64)] == [7, 63]


def _count_calls(size: int) -> int:
    """Return how many waiting pods are looked at while a gang starts."""
    gangs = Gangs(group(minimum=size), *(member(f"m{i}") for i in range(size)), cpu=size)
    handle = gangs.scheduler.profiles["default-scheduler"].handle
    calls, ask = 0, handle.waiting_pod

    def counted(uid: str) -> Any:
        nonlocal calls
        calls += 1
        return ask(uid)

    handle.waiting_pod = counted  # type: ignore[method-assign]
    for number in range(size):
        gangs.schedule(f"m{number}")
    assert len(gangs.bound()) == size
    return calls


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.text(max_size=4),
    st.dictionaries(st.sampled_from(["cpu", "memory", "x"]), st.text(max_size=4), max_size=2),
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["permitWaitingTimeSeconds", "podGroupRejectPercentage", "other"]),
        values,
        max_size=3,
    )
)
def test_any_arguments_are_accepted_or_refused_in_lines(args: dict[str, Any]) -> None:
    try:
        Gangs(**args)
    except ConfigErrors as error:
        assert str(error)


@settings(max_examples=60, deadline=None)
@given(
    minimum=st.integers(-5, 5),
    resources=st.none()
    | st.dictionaries(st.sampled_from(["cpu", "pods", "a/b"]), st.text(max_size=5)),
    timeout=st.none() | st.integers(-5, 5),
    order=st.permutations(["a", "b", "c"]),
)
def test_any_group_is_handled_without_a_fault(
    minimum: int, resources: Any, timeout: int | None, order: Sequence[str]
) -> None:
    spec: dict[str, Any] = {}
    if resources is not None:
        spec["minResources"] = resources
    if timeout is not None:
        spec["scheduleTimeoutSeconds"] = timeout
    gangs = Gangs(group(minimum=minimum, **spec), *TRIO)
    decisions = [gangs.schedule(name) for name in order]
    gangs.wait(100)
    assert [fault for decision in decisions for fault in decision.errors] == []
    drive(gangs.scheduler.close())


def test_the_contract() -> None:
    check_plugin(Coscheduling, pods=TRIO, objects=[group(), group("h", 1)])

"""Every point of two plugins in a real process: each fails in turn, and the effects are checked."""

# kube-scheduler: schedule_one.go (schedulingCycle, bindingCycle, handleSchedulingFailure)

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.live.recording import LEAVING
from tests.live.running import (
    Journal,
    Mooring,
    condition,
    configuration,
    events,
    is_bound,
    node,
    pod,
)
from tests.support.api import Api, Object
from tests.support.cluster import Cluster, turn_on
from tests.support.control_plane import ControlPlane, GivenCluster
from tests.support.waiting import eventually

PLUGINS = Path(__file__).with_name("recording.py")
BEFORE = ("b", "a", "c")

PLUGIN_SETS = {
    "multiPoint": {"enabled": [{"name": "First"}, {"name": "Second"}]},
    "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Sort"}]},
    "postFilter": {
        "disabled": [{"name": "*"}],
        "enabled": [{"name": "First"}, {"name": "Second"}],
    },
    "bind": {
        "disabled": [{"name": "*"}],
        "enabled": [{"name": "First"}, {"name": "Second"}, {"name": "DefaultBinder"}],
    },
}

#: The calls for a pod that nothing stops, with two nodes.
BEFORE_SCORE = ("pre_enqueue", "pre_filter", "filter", "filter", "pre_score")
SCORE = ("score", "score", "normalize_score")
AFTER_SCORE = ("reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind")


class Arena:
    """A cluster of two nodes and the scheduler that runs there, for all tests of this file."""

    def __init__(self, cluster: Cluster, mooring: Mooring, journal: Journal) -> None:
        self.cluster = cluster
        self.mooring = mooring
        self.journal = journal
        #: Pods that failed once, and will be retried.
        self.to_be_bound: list[str] = []
        self._numbers = itertools.count()

    def create(self, annotations: dict[str, str] | None = None, **more: object) -> str:
        """Create a pod and return its name."""
        name = f"p{next(self._numbers)}"
        self.cluster.create(pod(name, annotations=annotations or {}, **more))
        return name

    def bound(self, name: str) -> Object:
        """Wait until a pod has a node."""
        try:
            return self.cluster.wait_for("Pod", name, is_bound, seconds=15)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.mooring.process.tail()}") from None

    def refused(self, name: str) -> Object:
        """Wait until a pod's PodScheduled condition is False, and return the pod."""

        def is_refused(found: Object) -> bool:
            return condition(found).get("status") == "False"

        try:
            return self.cluster.wait_for("Pod", name, is_refused, seconds=15)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.mooring.process.tail()}") from None

    def calls(self, name: str, *points: str) -> list[str]:
        """Return the calls about a pod, of both plugins."""
        return self.journal.of(f"{self.cluster.namespace}/{name}", *points)

    def attempts(self, name: str) -> int:
        """Return how many scheduling attempts a pod had."""
        return self.calls(name, "pre_filter").count("First.pre_filter")

    def pass_by(self) -> None:
        """Wait until another pod is bound, so that everything before it has happened."""
        self.bound(self.create())

    def change_a_node(self) -> None:
        """Make the change that both plugins registered for."""
        patch = {"metadata": {"labels": {"turn": str(next(self._numbers))}}}
        self.cluster.api.patch("Node", "n1", patch)


@pytest.fixture(scope="module")
def arena(
    control_plane: ControlPlane | GivenCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Arena]:
    """Start one scheduler for the whole file, with three pending pods."""
    folder = tmp_path_factory.mktemp("points")
    journal = Journal(folder / "calls.jsonl")
    args = {"journal": str(journal.file)}
    profile = {
        "plugins": PLUGIN_SETS,
        "pluginConfig": [{"name": name, "args": args} for name in ("First", "Second")],
    }
    config = configuration(control_plane.scheduler_kubeconfig, profiles=[profile])
    flags = [f"--plugin={PLUGINS}:{name}" for name in ("First", "Second", "Sort")]
    with turn_on(control_plane), Api(control_plane.access) as api:
        cluster = Cluster(control_plane, api)
        for name in ("n1", "n2"):
            cluster.create(node(name))
        for name in BEFORE:
            cluster.create(pod(name))
        mooring = Mooring(folder, config, *flags)
        try:
            mooring.wait_ready()
            yield Arena(cluster, mooring, journal)
        finally:
            mooring.process.stop()
            cluster.wipe()


def both(*points: str) -> list[str]:
    """Return the calls of points, First before Second at each."""
    return [
        f"{plugin}.{point}"
        for point, times in (
            (point, len(list(group))) for point, group in itertools.groupby(points)
        )
        for plugin in ("First", "Second")
        for _ in range(times)
    ]


def test_queue_sort_orders_the_pods_that_wait(arena: Arena) -> None:
    for name in BEFORE:
        arena.bound(name)
    tried = [call["pod"].partition("/")[2] for call in arena.journal.calls()]
    assert [name for name in dict.fromkeys(tried[6:]) if name in BEFORE] == ["c", "b", "a"]


def test_all_points_are_called_in_order(arena: Arena) -> None:
    name = arena.create()
    arena.bound(name)
    eventually(lambda: "Second.post_bind" in arena.calls(name), "PostBind")
    assert arena.calls(name) == [
        *both(*BEFORE_SCORE),
        *(f"{plugin}.{point}" for plugin in ("First", "Second") for point in SCORE),
        *both(*AFTER_SCORE),
    ]
    (event,) = eventually(lambda: events(arena.cluster, name, "Scheduled"), "the Event")
    assert event["note"].startswith(f"Successfully assigned {arena.cluster.namespace}/{name} to n")
    assert (event["action"], event["type"]) == ("Binding", "Normal")
    assert "nominatedNodeName" not in arena.bound(name)["status"]


class Case(msgspec.Struct, frozen=True):
    """Second's answer at a point on the first attempt, and the expected message."""

    point: str
    how: str
    message: str
    #: Whether the pod waits for an event that the plugin registered for; else it is retried anyway.
    waits: bool
    #: Whether Reserve had run, so that Unreserve must run.
    unreserved: bool = False
    #: Whether it is a refusal, however the pod is retried.
    refusal: bool = False

    @property
    def reason(self) -> str:
        return "Unschedulable" if self.waits or self.refusal else "SchedulerError"


ON_NODES = "0/2 nodes are available: 2 Second refused at filter."
ON_NODE = "0/1 nodes are available: 1 Second refused at {}."
RAISED = "plugin Second, point {}: ValueError: Second broke at {}"
RAISED_ON_NODE = "plugin Second, point {}, node n1: ValueError: Second broke at {}"
FLIGHT = 'PreBindPreFlight Second returned "Unschedulable", which is unsupported. '
FLIGHT += "It is supposed to return Success, Skip, or Error status"
NOT_A_STATUS = "filter must return a Status or None, got str 'nonsense'"


def told(point: str, label: str, *, raised: str = "") -> str:
    """Return the message of an error, or of an exception."""
    what = raised.format(label, point) if raised else f"Second broke at {point}"
    return f'running {label} plugin "Second": {what}'


def faults(point: str, label: str, *, unreserved: bool) -> list[Case]:
    """Return the cases of an error and of an exception at a point that gets a node."""
    return [
        Case(point, "error", told(point, label), waits=False, unreserved=unreserved),
        Case(
            point,
            "raise",
            told(point, label, raised=RAISED_ON_NODE),
            waits=False,
            unreserved=unreserved,
        ),
    ]


def refusal(point: str) -> Case:
    """Return the case of a refusal at Reserve or Permit."""
    return Case(point, "refuse", ON_NODE.format(point), waits=True, unreserved=True)


def late_refusal(point: str) -> Case:
    """Return the case of a refusal after Permit; the pod does not wait for an event."""
    message = f"Second refused at {point}"
    return Case(point, "refuse", message, waits=False, unreserved=True, refusal=True)


CASES = [
    Case(
        "pre_filter",
        "refuse",
        "0/2 nodes are available: Second refused at pre_filter.",
        waits=True,
    ),
    Case("pre_filter", "error", told("pre_filter", "PreFilter"), waits=False),
    Case(
        "pre_filter",
        "raise",
        told("pre_filter", "PreFilter", raised=RAISED),
        waits=False,
    ),
    Case("filter", "refuse", ON_NODES, waits=True),
    Case("filter", "resolve", ON_NODES, waits=True),
    Case("filter", "error", 'running "Second" filter plugin: Second broke at filter', waits=False),
    Case(
        "filter",
        "raise",
        f'running "Second" filter plugin: {RAISED_ON_NODE.format("Filter", "filter")}',
        waits=False,
    ),
    Case(
        "filter", "nonsense", f"plugin Second, point Filter, node n1: {NOT_A_STATUS}", waits=False
    ),
    Case("pre_score", "error", told("pre_score", "PreScore"), waits=False),
    Case(
        "score",
        "error",
        'running Score plugins: plugin "Second" failed with: Second broke at score',
        waits=False,
    ),
    Case(
        "score",
        "raise",
        'running Score plugins: plugin "Second" failed with: '
        + RAISED_ON_NODE.format("Score", "score"),
        waits=False,
    ),
    Case(
        "normalize_score",
        "raise",
        'running Normalize on Score plugins: plugin "Second" failed with: '
        + RAISED.format("Score", "normalize_score"),
        waits=False,
    ),
    refusal("reserve"),
    *faults("reserve", "Reserve", unreserved=True),
    refusal("permit"),
    *faults("permit", "Permit", unreserved=True),
    Case("pre_bind_pre_flight", "refuse", FLIGHT, waits=False, unreserved=True),
    Case(
        "pre_bind_pre_flight",
        "error",
        'running PreBindPreFlight "Second": Second broke at pre_bind_pre_flight',
        waits=False,
        unreserved=True,
    ),
    late_refusal("pre_bind"),
    *faults("pre_bind", "PreBind", unreserved=True),
    late_refusal("bind"),
    *faults("bind", "Bind", unreserved=True),
]
CASES += [
    msgspec.structs.replace(
        case, how=f"leave {kind}", message=case.message.replace("ValueError", kind)
    )
    for case in CASES
    if case.how == "raise"
    for kind in LEAVING
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.point} {case.how}")
def test_a_point_that_fails(arena: Arena, case: Case) -> None:
    name = arena.create({f"Second.{case.point}": case.how})
    found = condition(arena.refused(name))
    # Which of two equal nodes is filtered first, or chosen, is random.
    assert (found["reason"], found["message"].replace("n2", "n1")) == (case.reason, case.message)
    (event,) = eventually(lambda: events(arena.cluster, name, "FailedScheduling"), "the Event")
    assert (event["note"], event["action"], event["type"]) == (
        found["message"],
        "Scheduling",
        "Warning",
    )
    if case.unreserved:
        taken_back = arena.calls(name, "unreserve")[:2]
        assert taken_back == ["Second.unreserve", "First.unreserve"]
    else:
        assert arena.calls(name, "unreserve", "reserve") == []
    if case.waits:
        arena.pass_by()
        assert arena.attempts(name) == 1
        arena.change_a_node()
    arena.to_be_bound.append(name)


def test_pods_that_failed_are_bound_by_their_second_attempt(arena: Arena) -> None:
    # Backoff takes a second; they wait for it together.
    for name in arena.to_be_bound:
        assert "nominatedNodeName" not in arena.bound(name)["status"]
        assert arena.attempts(name) == 2


# PreEnqueue, PostFilter, PostBind.


def test_pre_enqueue_holds_a_pod_until_something_happens(arena: Arena) -> None:
    name = arena.create({"Second.pre_enqueue": "refuse"})
    arena.pass_by()
    assert arena.calls(name) == ["First.pre_enqueue", "Second.pre_enqueue"]
    assert condition(arena.cluster.api.get("Pod", name, arena.cluster.namespace)) == {}
    arena.change_a_node()
    arena.bound(name)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("refuse", f"{ON_NODES} Second refused at post_filter"),
        ("error", f"{ON_NODES} Second broke at post_filter"),
    ],
    ids=["a refusal", "an error"],
)
def test_what_post_filter_says_is_added(arena: Arena, how: str, message: str) -> None:
    name = arena.create({"Second.filter": "refuse", "Second.post_filter": how})
    found = condition(arena.refused(name))
    assert (found["reason"], found["message"]) == ("Unschedulable", message)
    assert arena.calls(name, "post_filter") == both("post_filter")
    arena.change_a_node()
    arena.bound(name)


def test_post_filter_nominates(arena: Arena) -> None:
    name = arena.create({"Second.filter": "refuse", "First.post_filter": "nominate n2"})
    found = arena.refused(name)
    assert found["status"]["nominatedNodeName"] == "n2"
    assert arena.calls(name, "post_filter") == ["First.post_filter"]
    arena.change_a_node()
    assert "nominatedNodeName" not in arena.bound(name)["status"]


def test_a_failing_post_bind_is_logged_and_no_more(arena: Arena) -> None:
    name = arena.create({"First.post_bind": "raise"})
    arena.bound(name)
    eventually(lambda: "Second.post_bind" in arena.calls(name), "PostBind of Second")
    line = arena.mooring.wait_logged("PostBind failed")
    assert "First broke at post_bind" in line
    assert events(arena.cluster, name, "FailedScheduling") == []


def test_a_failing_unreserve_does_not_stop_the_others(arena: Arena) -> None:
    name = arena.create({"Second.permit": "error", "Second.unreserve": "raise"})
    arena.bound(name)
    assert arena.calls(name, "unreserve") == ["Second.unreserve", "First.unreserve"]
    assert "Second broke at unreserve" in arena.mooring.wait_logged("Unreserve failed")


# Waiting at Permit.


def waiting(arena: Arena, name: str) -> str:
    """Wait until a pod waits at Permit, and return its nominated node."""

    def is_nominated(found: Object) -> bool:
        return bool(found.get("status", {}).get("nominatedNodeName"))

    found = arena.cluster.wait_for("Pod", name, is_nominated, seconds=15)
    assert "First.pre_bind" not in arena.calls(name)
    return str(found["status"]["nominatedNodeName"])


def test_a_pod_that_is_allowed_goes_on(arena: Arena) -> None:
    name = arena.create({"Second.permit": "wait 30", "then": "allow"})
    node_name = waiting(arena, name)
    arena.pass_by()
    bound = arena.bound(name)
    assert bound["spec"]["nodeName"] == node_name
    assert "nominatedNodeName" not in bound["status"]
    assert arena.calls(name, "unreserve") == []


@pytest.mark.parametrize(
    ("annotations", "reason", "message"),
    [
        pytest.param(
            {"Second.permit": "wait 0.5"},
            "Unschedulable",
            "0/1 nodes are available: 1 rejected due to timeout after waiting 500ms at plugin "
            "Second.",
            id="it has waited too long",
        ),
        pytest.param(
            {"First.permit": "wait 30", "Second.permit": "wait 0.25"},
            "Unschedulable",
            "0/1 nodes are available: 1 rejected due to timeout after waiting 250ms at plugin "
            "Second.",
            id="one of two plugins has waited too long",
        ),
        pytest.param(
            {"Second.permit": "wait 30", "then": "reject"},
            "Unschedulable",
            "0/1 nodes are available: 1 Second refused at last.",
            id="it is rejected",
        ),
        pytest.param(
            {"Second.permit": "wait 30", "then": "preempt"},
            "SchedulerError",
            "waiting on permit for pod: preempted",
            id="another takes its place",
        ),
    ],
)
def test_a_pod_whose_wait_ends_badly(
    arena: Arena, annotations: dict[str, str], reason: str, message: str
) -> None:
    name = arena.create(annotations)
    waiting(arena, name)
    if "then" in annotations:
        arena.pass_by()
    found = arena.refused(name)
    assert (condition(found)["reason"], condition(found)["message"]) == (reason, message)
    assert "nominatedNodeName" not in found["status"]
    assert arena.calls(name, "unreserve")[:2] == ["Second.unreserve", "First.unreserve"]
    (event,) = eventually(lambda: events(arena.cluster, name, "FailedScheduling"), "the Event")
    assert event["note"] == message
    if reason == "Unschedulable":
        arena.pass_by()
        assert arena.attempts(name) == 1
        arena.change_a_node()
    arena.bound(name)
    assert arena.attempts(name) == 2


def test_a_pod_that_is_deleted_while_it_waits_gives_its_place_back(arena: Arena) -> None:
    name = arena.create({"Second.permit": "wait 600"})
    waiting(arena, name)
    arena.cluster.api.delete("Pod", name, arena.cluster.namespace)
    eventually(lambda: "First.unreserve" in arena.calls(name), "Unreserve")
    assert arena.calls(name, "unreserve") == ["Second.unreserve", "First.unreserve"]


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({"Second.pre_bind": "error"}, id="in PreBind"),
        pytest.param({"Second.bind": "refuse"}, id="in Bind"),
        pytest.param({"Second.permit": "wait 0.1"}, id="while it waits at Permit"),
    ],
)
def test_the_room_of_a_pod_that_fails_is_another_pods_chance(
    arena: Arena, annotations: dict[str, str]
) -> None:
    waits = arena.create({"First.filter": "refuse"})
    arena.refused(waits)
    arena.pass_by()
    assert arena.attempts(waits) == 1
    fails = arena.create(annotations)
    arena.bound(waits)
    arena.refused(fails)
    arena.change_a_node()
    arena.bound(fails)


def test_plugins_that_step_aside_are_not_asked(arena: Arena) -> None:
    name = arena.create({"First.pre_filter": "skip", "Second.pre_bind_pre_flight": "skip"})
    arena.bound(name)
    assert set(arena.calls(name, "filter")) == {"Second.filter"}
    assert arena.calls(name, "pre_bind") == ["First.pre_bind"]

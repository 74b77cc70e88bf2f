"""Every point in turn, in order, and what is taken back when one of them fails."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.config.load import default_config
from mooring.framework.decision import Outcome
from mooring.framework.plugin import Nominate, Plugin, PreFlight
from mooring.framework.status import Status
from mooring.registry import default_registry
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin, refuse

Calls = list[str]


def recorder(called: str, calls: Calls, answers: dict[str, Any] | None = None) -> type[Plugin]:
    """Return a plugin that takes part at every point and notes each call.

    `answers` holds what a point answers; an exception is raised.
    """
    given = answers or {}

    def answer(point: str, otherwise: Any = None) -> Any:
        calls.append(f"{called}.{point}")
        found = given.get(point, otherwise)
        if isinstance(found, Exception):
            raise found
        return found

    class Recorder(Plugin):
        name = called

        def pre_enqueue(self, pod: Any) -> Any:
            return answer("pre_enqueue")

        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any:
            return answer("pre_filter")

        def filter(self, state: Any, pod: Any, node: Any) -> Any:
            return answer(f"filter {node.name}", given.get("filter"))

        def post_filter(self, state: Any, pod: Any, statuses: Any) -> Any:
            return answer("post_filter", Status.unschedulable())

        def pre_score(self, state: Any, pod: Any, nodes: Any) -> Any:
            return answer("pre_score")

        def score(self, state: Any, pod: Any, node: Any) -> Any:
            return answer(f"score {node.name}", given.get("score", 1))

        def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
            return answer("normalize_score", scores)

        def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
            return answer("reserve")

        def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
            answer("unreserve")

        def permit(self, state: Any, pod: Any, node_name: str) -> Any:
            return answer("permit")

        def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Any:
            return answer("pre_bind_pre_flight", PreFlight())

        async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any:
            return answer("pre_bind")

        async def bind(self, state: Any, pod: Any, node_name: str) -> Any:
            return answer("bind", Status.skip())

        def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
            answer("post_bind")

    return Recorder


POINTS = (
    "pre_enqueue",
    "pre_filter",
    "filter n1",
    "filter n2",
    "pre_score",
    "score n1",
    "score n2",
    "normalize_score",
    "reserve",
    "permit",
    "pre_bind_pre_flight",
    "pre_bind",
    "bind",
    "post_bind",
)


def run(first: Any, second: Any) -> tuple[MemoryScheduler, Any]:
    pod = make_pod()
    scheduler = make_scheduler([first, second], [*make_nodes("n1", "n2"), pod])
    return scheduler, drive(scheduler.schedule_one(pod))


def points_of(calls: Calls, called: str) -> list[str]:
    return [call.partition(".")[2] for call in calls if call.startswith(f"{called}.")]


def test_every_point_is_run_in_order_and_plugins_in_turn() -> None:
    calls: Calls = []
    scheduler, decision = run(recorder("A", calls), recorder("B", calls))
    assert decision.outcome is Outcome.SCHEDULED
    assert points_of(calls, "A") == points_of(calls, "B") == list(POINTS)
    # Filter and Score go plugin by plugin, each over all nodes; the other points go in turn.
    together = [call for call in calls if " " not in call and "score" not in call]
    assert together == [
        f"{name}.{point}"
        for point in POINTS
        if " " not in point and "score" not in point
        for name in ("A", "B")
    ]
    pod = scheduler.cluster.pods.get("web", "default")
    assert pod is not None and pod.spec.node_name == "n1"
    assert not scheduler.cache.assumed
    assert [event.note for event in scheduler.events.recorded] == [
        "Successfully assigned default/web to n1"
    ]


BOOM = ValueError("boom")
FIT = "0/1 nodes are available: 1 no."


@pytest.mark.parametrize(
    ("point", "answer", "outcome", "message"),
    [
        ("reserve", Status.unschedulable("no"), Outcome.UNSCHEDULABLE, FIT),
        ("reserve", Status.error("bad"), Outcome.ERROR, 'running Reserve plugin "B": bad'),
        (
            "reserve",
            BOOM,
            Outcome.ERROR,
            'running Reserve plugin "B": plugin B, point Reserve, node n1: ValueError: boom',
        ),
        (
            "reserve",
            3,
            Outcome.ERROR,
            'running Reserve plugin "B": plugin B, point Reserve, node n1: reserve must return a '
            "Status or None, got int 3",
        ),
        ("permit", Status.unresolvable("no"), Outcome.UNSCHEDULABLE, FIT),
        ("permit", Status.error("bad"), Outcome.ERROR, 'running Permit plugin "B": bad'),
        (
            "permit",
            BOOM,
            Outcome.ERROR,
            'running Permit plugin "B": plugin B, point Permit, node n1: ValueError: boom',
        ),
        (
            "pre_bind_pre_flight",
            Status.error("bad"),
            Outcome.ERROR,
            'running PreBindPreFlight "B": bad',
        ),
        (
            "pre_bind_pre_flight",
            Status.unschedulable("no"),
            Outcome.ERROR,
            'PreBindPreFlight B returned "Unschedulable", which is unsupported. '
            "It is supposed to return Success, Skip, or Error status",
        ),
        ("pre_bind", Status.error("bad"), Outcome.ERROR, 'running PreBind plugin "B": bad'),
        ("pre_bind", Status.unschedulable("no"), Outcome.UNSCHEDULABLE, "no"),
        (
            "pre_bind",
            BOOM,
            Outcome.ERROR,
            'running PreBind plugin "B": plugin B, point PreBind, node n1: ValueError: boom',
        ),
        ("bind", Status.error("bad"), Outcome.ERROR, 'running Bind plugin "B": bad'),
        ("bind", Status.unschedulable("no"), Outcome.UNSCHEDULABLE, "no"),
        (
            "bind",
            BOOM,
            Outcome.ERROR,
            'running Bind plugin "B": plugin B, point Bind, node n1: ValueError: boom',
        ),
    ],
)
def test_a_failure_after_the_choice_is_taken_back_in_reverse(
    point: str, answer: Any, outcome: Outcome, message: str
) -> None:
    calls: Calls = []
    scheduler, decision = run(recorder("A", calls), recorder("B", calls, {point: answer}))
    assert decision.outcome is outcome
    assert decision.message == message
    assert decision.node_name == ""
    last = calls.index(f"B.{point}")
    # The plugin before had its turn here, nobody was asked anything more, and all is undone.
    assert calls[last + 1 :] == ["B.unreserve", "A.unreserve"]
    assert f"A.{point}" in calls
    pod = scheduler.cluster.pods.get("web", "default")
    assert pod is not None and not pod.spec.node_name
    assert not scheduler.cache.assumed
    assert not scheduler.cache.pods
    scheduler.cache.validate()
    condition = pod.status.conditions[0]
    assert (condition.type, condition.status, condition.message) == (
        "PodScheduled",
        "False",
        message,
    )
    assert condition.reason == (
        "Unschedulable" if outcome is Outcome.UNSCHEDULABLE else "SchedulerError"
    )
    assert [event.reason for event in scheduler.events.recorded] == ["FailedScheduling"]


@pytest.mark.parametrize(
    ("point", "answer", "asked"),
    [
        ("pre_enqueue", Status.unresolvable("gated"), ["pre_enqueue"]),
        ("pre_filter", Status.error("bad"), POINTS[:2]),
        ("filter", Status.error("bad"), POINTS[:4]),
        ("pre_score", Status.error("bad"), POINTS[:5]),
        ("score", Status.error("bad"), POINTS[:6]),
        ("normalize_score", BOOM, POINTS[:8]),
    ],
)
def test_a_failure_before_the_choice_leaves_nothing_to_undo(
    point: str, answer: Any, asked: Any
) -> None:
    calls: Calls = []
    scheduler, decision = run(recorder("B", calls, {point: answer}), recorder("C", []))
    assert decision.outcome is (Outcome.GATED if point == "pre_enqueue" else Outcome.ERROR)
    assert calls == [f"B.{name}" for name in asked]
    assert not scheduler.cache.pods


def test_a_pod_that_fits_nowhere_goes_to_post_filter_only() -> None:
    calls: Calls = []
    refusing = recorder("B", calls, {"filter": Status.unschedulable("no")})
    _, decision = run(refusing, recorder("C", []))
    assert points_of(calls, "B") == [*POINTS[:4], "post_filter"]
    assert decision.message == "0/2 nodes are available: 2 no."


def test_a_fault_in_post_bind_or_unreserve_changes_nothing_else() -> None:
    calls: Calls = []
    _, decision = run(recorder("A", calls, {"post_bind": BOOM}), recorder("B", calls))
    assert decision.outcome is Outcome.SCHEDULED
    assert [status.plugin for status in decision.errors] == ["A"]
    assert calls[-1] == "B.post_bind"
    calls.clear()
    _, decision = run(
        recorder("A", calls), recorder("B", calls, {"unreserve": BOOM, "bind": Status.error("bad")})
    )
    assert calls[-2:] == ["B.unreserve", "A.unreserve"]
    assert decision.message == 'running Bind plugin "B": bad'


def test_the_first_plugin_that_does_not_step_aside_binds() -> None:
    calls: Calls = []
    bound = recorder("A", calls, {"bind": Status.success()})
    scheduler, decision = run(bound, recorder("B", calls))
    assert decision.outcome is Outcome.SCHEDULED
    assert "B.bind" not in calls
    # It said that it had bound the pod; the server was not told by anybody.
    assert scheduler.cache.is_assumed("web")


def test_pre_bind_is_left_out_where_the_pre_flight_steps_aside() -> None:
    calls: Calls = []
    aside = recorder("A", calls, {"pre_bind_pre_flight": Status.skip()})
    run(aside, recorder("B", calls))
    assert "A.pre_bind" not in calls
    assert "B.pre_bind" in calls


# Permit.


def waits(called: str, seconds: float) -> type[Plugin]:
    return plugin(called, permit=lambda state, pod, node: Status.wait(seconds))


def test_a_pod_waits_at_permit_until_all_plugins_allow_it() -> None:
    pod = make_pod()
    scheduler = make_scheduler([waits("A", 10), waits("B", 20)], [*make_nodes("n1"), pod])
    decision = drive(scheduler.schedule_one(pod))
    assert scheduler.cache.is_assumed("web")
    waiting = scheduler.on_the_way.get("web")
    assert waiting is not None
    assert waiting.pending_plugins() == ("A", "B")
    waiting.allow("A")
    drive(scheduler.settle())
    assert scheduler.cache.is_assumed("web")
    waiting.allow("B")
    drive(scheduler.settle())
    assert decision.outcome is Outcome.SCHEDULED
    bound = scheduler.cluster.pods.get("web", "default")
    assert bound is not None and bound.spec.node_name == "n1"
    assert scheduler.on_the_way.get("web") is None


@pytest.mark.parametrize(
    ("seconds", "passed", "text"),
    [
        pytest.param(10.0, 10.0, "10s", id="as long as the plugin says"),
        pytest.param(1.5, 1.5, "1.5s", id="parts of a second"),
        pytest.param(3600.0, 900.0, "15m0s", id="at most 15 minutes"),
    ],
)
def test_a_wait_at_permit_ends_on_the_virtual_clock(
    seconds: float, passed: float, text: str
) -> None:
    calls: Calls = []
    pod = make_pod()
    scheduler = make_scheduler(
        [recorder("R", calls), waits("A", seconds), waits("B", 2000)], [*make_nodes("n1"), pod]
    )
    begin = scheduler.clock.now()
    decision = drive(scheduler.schedule_one(pod))
    assert drive(scheduler.expire_waits())
    assert scheduler.clock.now() - begin == passed
    plugin_name = "A"
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting "
        f"{text} at plugin {plugin_name}."
    )
    assert decision.unschedulable_plugins == {"A"}
    assert calls[-1] == "R.unreserve"
    assert not drive(scheduler.expire_waits())


def test_a_pod_that_is_preempted_at_permit_is_an_error_to_be_retried() -> None:
    pod = make_pod()
    scheduler = make_scheduler([waits("A", 10)], [*make_nodes("n1"), pod])
    decision = drive(scheduler.schedule_one(pod))
    waiting = scheduler.on_the_way.get("web")
    assert waiting is not None and waiting.preempt("P", "preempted")
    assert not waiting.reject("P", "too late")
    drive(scheduler.settle())
    assert decision.outcome is Outcome.ERROR
    assert decision.message == "waiting on permit for pod: preempted"


# Nomination.


def nominates(*answers: Any) -> type[Plugin]:
    left = list(answers)
    return plugin("Nominates", post_filter=lambda state, pod, statuses: left.pop(0))


def test_a_failure_sets_keeps_and_clears_the_nomination() -> None:
    pod = make_pod()
    answers = (Nominate("n1"), Status.unschedulable("a"), Nominate("", Status.unschedulable("b")))
    scheduler = make_scheduler([refuse("n1"), nominates(*answers)], [*make_nodes("n1"), pod])
    for expected in ("n1", "n1", ""):
        current = scheduler.cluster.pods.get("web", "default")
        assert current is not None
        drive(scheduler.schedule_one(current))
        assert scheduler.nominator.node_of("web") == expected
        after = scheduler.cluster.pods.get("web", "default")
        assert after is not None
        assert after.status.nominated_node_name == expected


def test_the_nomination_is_dropped_when_the_pod_is_placed() -> None:
    pod = make_pod(nominated="n1")
    scheduler = make_scheduler([refuse()], [*make_nodes("n1"), pod])
    assert scheduler.nominator.node_of("web") == "n1"
    drive(scheduler.schedule_one(pod))
    assert scheduler.nominator.node_of("web") == ""


def test_work_that_a_plugin_spawns_runs_after_the_attempt() -> None:
    done: list[str] = []

    async def work() -> None:
        done.append("worked")

    class Spawns(Plugin):
        def post_filter(self, state: Any, pod: Any, statuses: Any) -> Status:
            self.handle.spawn(work(), pod)
            done.append("answered")
            return Status.unschedulable("no")

    pod = make_pod()
    scheduler = make_scheduler([refuse("n1"), Spawns], [*make_nodes("n1"), pod])
    drive(scheduler.schedule_one(pod))
    assert done == ["answered", "worked"]
    attempt = drive(scheduler.decide(replace(pod)))
    scheduler.discard(attempt)
    assert done == ["answered", "worked", "answered"]


def test_work_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise ValueError("boom")

    class Spawns(Plugin):
        def post_filter(self, state: Any, pod: Any, statuses: Any) -> Status:
            self.handle.spawn(work(), pod)
            return Status.unschedulable("no")

    pod = make_pod()
    scheduler = make_scheduler([refuse("n1"), Spawns], [*make_nodes("n1"), pod])
    assert drive(scheduler.schedule_one(pod)).outcome is Outcome.UNSCHEDULABLE
    (record,) = (one for one in caplog.records if "Work beside" in one.message)
    failure: Any = record
    assert failure.kv["pod"].key == "default/web"
    assert "ValueError: boom" in failure.kv["traceback"]


def test_closing_ends_every_plugin() -> None:
    closed: list[str] = []

    class Closes(Plugin):
        def permit(self, state: Any, pod: Any, node_name: str) -> None: ...

        async def close(self) -> None:
            closed.append(self.name)

    drive(make_scheduler([Closes], make_nodes("n1")).close())
    assert closed == ["Closes"]


def test_a_pod_called_off_in_pre_bind_is_not_bound() -> None:
    class CallsOff(Plugin):
        def pre_bind(self, state: Any, pod: Any, node_name: str) -> None:
            found = self.handle.pre_binding_pod(pod.uid)
            assert found is not None
            found.cancel("preempted by DefaultPreemption")

    pod = make_pod()
    scheduler = make_scheduler([CallsOff], [*make_nodes("n1"), pod])
    decision = drive(scheduler.schedule_one(pod))
    assert decision.outcome is Outcome.ERROR
    assert decision.message == "preempted by DefaultPreemption"
    assert not scheduler.cache.pods


def test_a_reservation_is_given_back_before_permit() -> None:
    undone: list[str] = []

    class Reserves(Plugin):
        def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
            undone.append(node_name)

    pod = make_pod()
    scheduler = make_scheduler([Reserves], [*make_nodes("n1"), pod])
    attempt = drive(scheduler.decide(pod))
    assert drive(scheduler.reserve(attempt))
    assert scheduler.cache.is_assumed(pod.uid)
    drive(scheduler.unreserve(attempt))
    assert undone == ["n1"]
    assert not scheduler.cache.pods


def test_closing_drops_work_that_waits() -> None:
    ran: list[str] = []

    async def work() -> None:
        ran.append("begun")
        await scheduler.clock.sleep(10)
        ran.append("ended")

    class Waits(Plugin):
        def permit(self, state: Any, pod: Any, node_name: str) -> Status:
            self.handle.spawn(work(), pod)
            return Status.wait(60)

    pod = make_pod()
    scheduler = make_scheduler([Waits], [*make_nodes("n1"), pod])
    scheduler.tasks.sleep_moves_clock = False
    drive(scheduler.schedule_one(pod))
    drive(scheduler.close())
    scheduler.clock.advance(60)
    drive(scheduler.tasks.run())
    assert ran == ["begun"]
    assert scheduler.cache.is_assumed(pod.uid)


class Ticking(Plugin):
    """A plugin with periodic work."""

    ticks: list[float]

    def start(self) -> None:
        self.ticks = []
        self.handle.every(10, self.tick)

    async def tick(self) -> None:
        self.ticks.append(self.handle.clock.now())
        raise ValueError("measured nothing")

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 0


def test_periodic_work_is_done_before_an_attempt_once_it_is_due(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry = default_registry([Ticking])
    config = default_config(registry=registry, enabled=["Ticking"])
    scheduler = MemoryScheduler(make_nodes("a", "b"), config=config, registry=registry)
    plugin = scheduler.profiles["default-scheduler"].plugins["Ticking"]
    assert isinstance(plugin, Ticking)
    start = scheduler.clock.now()
    for seconds in (0, 9, 1, 30):
        scheduler.clock.advance(seconds)
        scheduler.discard(drive(scheduler.decide(make_pod("p"))))
    assert plugin.ticks == [start, start + 10, start + 40]
    assert "Periodic work of a plugin failed" in caplog.text

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring import Plugin, PreFlight, Status
from mooring.api import Pod
from mooring.binding.binding_cycle import AssumedPod, BindingCycles
from mooring.binding.binding_pods import BindingPods, PermitWait
from mooring.framework.state import CycleState
from mooring.framework.status import Code
from mooring.observe.clock import VirtualClock
from mooring.observe.metrics import Metrics
from tests.app.world import World, make_pod


class Journal:
    """Stand for status writer and Events, and note the order of things."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def write_first(self, pod: Pod, change: Any) -> None:
        await asyncio.sleep(0)
        self.lines.append(f"nominated to {change.nominated_node_name}")

    async def settle(self, uid: str) -> None:
        await asyncio.sleep(0)

    def event(self, regarding: Any, type: str, reason: str, action: str, note: str) -> None:
        self.lines.append(note)


class Binder:
    """An extender that binds."""

    name = "binder"
    is_binder = True

    def __init__(
        self, journal: Journal, *, interested: bool = True, ignorable: bool = False, fails: str = ""
    ) -> None:
        self._journal = journal
        self._interested = interested
        self.ignorable = ignorable
        self._fails = fails

    def is_interested(self, pod: Pod) -> bool:
        return self._interested

    async def bind(self, pod: Pod, node_name: str) -> None:
        if self._fails:
            raise ValueError(self._fails)
        self._journal.lines.append("bound by extender")


class Binds(Plugin):
    """Bind without a server, before all others."""

    lines: list[str]
    answer: Status | None = None
    has_work: PreFlight | Status = PreFlight()

    def pre_bind_pre_flight(self, state: Any, pod: Pod, node_name: str) -> Any:
        return self.has_work

    async def pre_bind(self, state: Any, pod: Pod, node_name: str) -> None:
        self.lines.append("pre-bind")
        await asyncio.sleep(0)

    async def bind(self, state: Any, pod: Pod, node_name: str) -> Status | None:
        self.lines.append("bind")
        return self.answer


class Setting:
    """A binding cycle about to begin."""

    def __init__(self, *, nominates: bool = True, wait: bool = False, **plugin: Any) -> None:
        self.journal = Journal()
        self.on_the_way = BindingPods()
        made = type("Binds", (Binds,), {"lines": self.journal.lines, **plugin})
        profile = next(iter(World(made).scheduler.profiles.values()))
        for point in ("pre_bind_pre_flight", "pre_bind", "bind"):
            # Without the built-in ones, which would ask the server.
            own = tuple(step for step in getattr(profile, point) if step.name == "Binds")
            setattr(profile, point, own)
        self.pod = make_pod("p")
        self.wait = PermitWait(self.pod, {"Gang": 30.0}, 0.0) if wait else None
        if self.wait is not None:
            self.on_the_way.add_waiting(self.wait)
        self.placement = AssumedPod(self.pod, "n", CycleState(), profile, self.wait, 1, 1)
        self.nominates = nominates
        self.extenders: list[Any] = []
        self.clock = VirtualClock(100.0)
        self.metrics = Metrics(lambda gate: True)

    async def run(self) -> Status | None:
        cycles = BindingCycles(
            on_the_way=self.on_the_way,
            status_writer=self.journal,  # type: ignore[arg-type]
            extenders=self.extenders,
            events_of=lambda profile: self.journal,  # type: ignore[arg-type,return-value]
            clock=self.clock,
            metrics=self.metrics,
            nominates=self.nominates,
            permitted=lambda uid: self.journal.lines.append("permitted"),
        )
        status = await cycles.prepare(self.placement)
        if status is not None:
            return status
        return await cycles.finish(self.placement)


SAID = "Successfully assigned default/p to n"


@pytest.mark.parametrize(
    ("setting", "lines"),
    [
        (
            lambda: Setting(),
            ["nominated to n", "permitted", "pre-bind", "bind", SAID],
        ),
        (
            lambda: Setting(has_work=Status.skip()),
            ["permitted", "bind", SAID],
        ),
        (
            lambda: Setting(nominates=False, has_work=Status.skip()),
            ["permitted", "pre-bind", "bind", SAID],
        ),
    ],
    ids=["with work to do", "without", "with the gate off nobody is asked about work"],
)
async def test_the_order_of_things(setting: Any, lines: list[str]) -> None:
    one = setting()
    assert await one.run() is None
    assert one.journal.lines == lines
    assert one.on_the_way.pre_binding(one.pod.metadata.uid) is None


async def test_a_pod_that_waits_is_nominated_first_and_goes_on_when_allowed() -> None:
    one = Setting(wait=True, has_work=Status.skip())
    running = asyncio.create_task(one.run())
    for _ in range(5):
        await asyncio.sleep(0)
    assert one.journal.lines == ["nominated to n"]
    assert one.wait is not None
    one.clock.advance(7.0)
    one.wait.allow("Gang")
    assert await running is None
    assert one.metrics.permit_wait_duration["Success"].sum == 7.0
    assert one.journal.lines == ["nominated to n", "permitted", "bind", SAID]
    assert one.on_the_way.get(one.pod.metadata.uid) is None


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda wait: wait.reject("Gang", "no"), (Code.UNSCHEDULABLE, "no", "Gang")),
        (
            lambda wait: wait.preempt("DefaultPreemption", "preempted"),
            (Code.ERROR, "waiting on permit for pod: preempted", "DefaultPreemption"),
        ),
    ],
    ids=["rejected", "preempted"],
)
async def test_a_wait_that_ends_badly_ends_the_cycle(end: Any, status: Any) -> None:
    one = Setting(wait=True)
    end(one.wait)
    found = await one.run()
    assert found is not None
    assert (found.code, found.message, found.plugin) == status
    assert "permitted" not in one.journal.lines
    assert sum(one.metrics.permit_wait_duration[found.code.label].counts) == 1
    assert one.on_the_way.get(one.pod.metadata.uid) is None


async def test_a_pod_can_be_called_off_in_pre_bind() -> None:
    one = Setting()
    running = asyncio.create_task(one.run())
    while "pre-bind" not in one.journal.lines:
        assert not running.done()
        await asyncio.sleep(0)
    under_way = one.on_the_way.pre_binding(one.pod.metadata.uid)
    assert under_way is not None
    assert under_way.cancel("preempted")
    found = await running
    assert found is not None
    assert (found.code, found.message) == (
        Code.ERROR,
        'running PreBind plugin "Binds": preempted',
    )
    assert "bind" not in one.journal.lines


async def test_a_pod_can_be_called_off_before_pre_bind_begins() -> None:
    one = Setting()
    running = asyncio.create_task(one.run())
    while (under_way := one.on_the_way.pre_binding(one.pod.metadata.uid)) is None:
        assert not running.done()
        await asyncio.sleep(0)
    assert "pre-bind" not in one.journal.lines
    assert under_way.cancel("preempted")
    found = await running
    assert found is not None
    assert (found.code, found.message) == (Code.ERROR, "preempted")
    assert "pre-bind" not in one.journal.lines
    assert "bind" not in one.journal.lines


async def test_a_cycle_that_is_cancelled_ends_its_pre_bind() -> None:
    one = Setting()
    running = asyncio.create_task(one.run())
    while "pre-bind" not in one.journal.lines:
        assert not running.done()
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert one.on_the_way.pre_binding(one.pod.metadata.uid) is None
    assert "bind" not in one.journal.lines


async def test_a_pre_flight_that_fails_ends_the_cycle() -> None:
    one = Setting(has_work=Status.error("broken"))
    found = await one.run()
    assert found is not None
    assert found.message == 'running PreBindPreFlight "Binds": broken'
    assert one.journal.lines == []


async def test_a_failed_bind_is_no_event() -> None:
    one = Setting(answer=Status.error("broken"))
    found = await one.run()
    assert found is not None
    assert found.message == 'running Bind plugin "Binds": broken'
    assert SAID not in one.journal.lines


@pytest.mark.parametrize(
    ("extender", "bound_by", "error"),
    [
        ({}, "bound by extender", None),
        ({"interested": False}, "bind", None),
        ({"fails": "broken", "ignorable": True}, "bind", None),
        ({"fails": "broken"}, None, "broken"),
    ],
    ids=["it binds", "it is not interested", "its failure is ignored", "it fails"],
)
async def test_extenders_bind_before_plugins(
    extender: dict[str, Any], bound_by: str | None, error: str | None
) -> None:
    one = Setting()
    one.extenders = [Binder(one.journal, **extender)]
    found = await one.run()
    assert (None if found is None else found.message) == error
    binders = [line for line in one.journal.lines if line in ("bind", "bound by extender")]
    assert binders == ([] if bound_by is None else [bound_by])


async def test_a_plugin_that_cancels_its_own_task_fails_the_cycle() -> None:
    async def cancels(self: Any, state: Any, pod: Pod, node_name: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    one = Setting(pre_bind=cancels)
    found = await one.run()
    assert found is not None
    assert (found.code, found.message) == (
        Code.ERROR,
        "a PreBind plugin cancelled the task that it runs in",
    )
    assert one.on_the_way.pre_binding(one.pod.metadata.uid) is None
    assert "bind" not in one.journal.lines


@pytest.mark.parametrize("ignorable", [False, True], ids=["counts", "is ignored"])
async def test_a_cycle_that_is_cancelled_while_an_extender_binds_ends(ignorable: bool) -> None:
    one = Setting()
    started = asyncio.Event()

    class Slow(Binder):
        async def bind(self, pod: Pod, node_name: str) -> None:
            started.set()
            await asyncio.Event().wait()

    one.extenders = [Slow(one.journal, ignorable=ignorable)]
    running = asyncio.create_task(one.run())
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert "bind" not in one.journal.lines


async def test_with_the_gate_off_a_pod_can_be_called_off_in_pre_bind() -> None:
    one = Setting(nominates=False)
    running = asyncio.create_task(one.run())
    while "pre-bind" not in one.journal.lines:
        assert not running.done()
        await asyncio.sleep(0)
    under_way = one.on_the_way.pre_binding(one.pod.metadata.uid)
    assert under_way is not None
    assert under_way.cancel("preempted")
    found = await running
    assert found is not None
    assert found.message == 'running PreBind plugin "Binds": preempted'

"""The fault suite on virtual time: thousands of runs must hold, and deliberate bugs must not.

A run that fails prints the command that repeats it. `make soak SEEDS=N` runs as many as you like.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mooring.app.events import ClusterEvents
from mooring.app.scheduler import Scheduler
from mooring.binding.waiting import PermitWait
from mooring.cache.cache import Cache
from mooring.client.client import Client
from mooring.errors import ApiError, NoAnswerError
from mooring.framework.events import ActionType, EventResource
from mooring.framework.status import Status
from mooring.informers.reflector import Reflector
from mooring.informers.store import Store
from mooring.plugins.default_binder import DefaultBinder
from mooring.plugins.preemption.executor import Executor
from mooring.queue.in_flight import InFlight
from mooring.queue.nominator import PodNominator
from mooring.queue.scheduling_queue import SchedulingQueue
from mooring.simulate.soak import main, run_seed

SEEDS = 1200 if os.environ.get("CI") else 300
CHUNK = 50


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_every_seed_ends_well(first: int) -> None:
    reports = [run_seed(seed) for seed in range(first, first + CHUNK)]
    failed = [str(report) for report in reports if report.violations]
    assert not failed, "\n".join(failed)
    assert sum(report.binds for report in reports) > CHUNK


def test_a_seed_is_repeated_exactly_in_another_process() -> None:
    digests = set()
    for hash_seed in "12":
        command = [sys.executable, "-m", "mooring.simulate.soak", "--seed", "50"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        digests.add(ran.stdout)
    assert len({line for out in digests for line in out.splitlines() if "digest" in line}) == 1


def test_a_failing_seed_prints_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_forget(monkeypatch)
    seed = first_failure(40)
    assert main(["--seed", str(seed)]) == 1
    assert f"again: python -m mooring.simulate.soak --seed {seed}" in capsys.readouterr().out


# Deliberate bugs.


def first_failure(seeds: int) -> int | None:
    return next((seed for seed in range(seeds) if run_seed(seed).violations), None)


def replace(patch: pytest.MonkeyPatch, owner: Any, name: str, make: Callable[..., Any]) -> None:
    """Replace a method by `make(original)`."""
    patch.setattr(owner, name, make(getattr(owner, name)))


def break_forget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Scheduler, "_give_back", lambda self, placement: False)


def break_relist(patch: pytest.MonkeyPatch) -> None:
    def make(go_on: Any) -> Any:
        async def broken(self: Any, stream: Any, error: Any) -> bool:
            if error is not None and error.status == 410:
                # Goes on from "now", as if nothing had been missed.
                self._version = str(10**9)
                await self._wait(error)
                return True
            return await go_on(self, stream, error)

        return broken

    replace(patch, Reflector, "_go_on", make)


def break_settling(patch: pytest.MonkeyPatch) -> None:
    async def never(self: Any, pod: Any, node_name: str) -> bool:
        return False

    patch.setattr(DefaultBinder, "_is_bound", never)


def break_bind_retry(patch: pytest.MonkeyPatch) -> None:
    async def bind(self: Any, state: Any, pod: Any, node_name: str) -> Status | None:
        names = [node_name, *(name for name in self.handle.snapshot.names if name != node_name)]
        for name in names:
            try:
                await self.handle.client.bind(pod, name)
                return None
            except ApiError:
                continue
        return Status.error("no node would have it")

    patch.setattr(DefaultBinder, "bind", bind)


def break_write_retry(patch: pytest.MonkeyPatch) -> None:
    def make(request: Any) -> Any:
        async def broken(self: Any, method: str, *args: Any, **more: Any) -> Any:
            while True:
                try:
                    return await request(self, method, *args, **more)
                except NoAnswerError:
                    await self._clock.sleep(1.0)

        return broken

    replace(patch, Client, "request", make)


def break_hints(resource: str, action: ActionType) -> Callable[[pytest.MonkeyPatch], None]:
    def broken(patch: pytest.MonkeyPatch) -> None:
        def make(move_all: Any) -> Any:
            def deaf(self: Any, event: Any, *args: Any) -> None:
                if event.resource != resource or not event.actions & action:
                    move_all(self, event, *args)

            return deaf

        replace(patch, SchedulingQueue, "move_all", make)

    return broken


def break_duplicates(patch: pytest.MonkeyPatch) -> None:
    def make(add_pod: Any) -> Any:
        def broken(self: Any, pod: Any) -> None:
            known = self.pod(pod.metadata.uid)
            node = self.nodes.find(pod.spec.node_name)
            if known is None or self.is_assumed(known.uid) or node is None:
                add_pod(self, pod)
            else:
                node.add_pod(self._info(pod))

        return broken

    replace(patch, Cache, "add_pod", make)


def break_in_flight_events(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(InFlight, "note", lambda self, event, old, new: False)


def break_nominations(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PodNominator, "delete", lambda self, uid: None)


def break_assumptions(patch: pytest.MonkeyPatch) -> None:
    """Let assumed pods expire long before a slow watch can confirm them."""

    def make(turn: Any) -> Any:
        async def broken(self: Any) -> bool:
            seen = self.__dict__.setdefault("seen_assumed", {})
            for uid in list(self.cache.assumed):
                if self.clock.now() - seen.setdefault(uid, self.clock.now()) > 0.5:
                    self.cache.forget_pod(uid)
            return await turn(self)

        return broken

    replace(patch, Scheduler, "turn", make)


def break_reuse_of_names(patch: pytest.MonkeyPatch) -> None:
    """Take a pod of the same name for the same pod."""

    def make(updated: Any) -> Any:
        def broken(self: Any, old: Any, new: Any) -> None:
            if old.spec.node_name:
                self._assigned_pod_updated(old, new)
            elif new.spec.node_name:
                self._assigned_pod_added(new)
                self._drop(old)
            else:
                self._pending_pod_updated(old, new)

        return broken

    replace(patch, ClusterEvents, "_pod_updated", make)


def break_deletions_in_a_gap(patch: pytest.MonkeyPatch) -> None:
    """Take in what a new list has, and keep what it no longer has."""

    def broken(self: Any, objects: Any) -> None:
        for obj in objects:
            self.add(obj)

    patch.setattr(Store, "replace", broken)


def break_preemptors(patch: pytest.MonkeyPatch) -> None:
    """Keep a preemptor out of the queue although its preemption is over."""
    patch.setattr(Executor, "is_preempting", lambda self, uid: uid in self.__dict__["_ever"])

    def make(start: Any) -> Any:
        def broken(self: Any, preemptor: Any, node_name: str, victims: Any) -> None:
            self._ever.add(preemptor.metadata.uid)
            start(self, preemptor, node_name, victims)

        return broken

    def make_init(init: Any) -> Any:
        def broken(self: Any, *args: Any) -> None:
            self._ever = set()
            init(self, *args)

        return broken

    replace(patch, Executor, "start", make)
    replace(patch, Executor, "__init__", make_init)


def break_deleted_pods(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ClusterEvents, "_assumed_pod_deleted", lambda self, pod: None)


def break_requeue(patch: pytest.MonkeyPatch) -> None:
    """Lose a pod whose binding failed."""

    def broken(self: Any, info: Any, placement: Any, *args: Any) -> None:
        self._give_back(placement)
        self.queue.done(info.uid)

    patch.setattr(Scheduler, "_binding_failed", broken)


def break_permit_timeouts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PermitWait, "expire", lambda self, now: None)


@pytest.mark.parametrize(
    ("break_it", "seeds"),
    [
        pytest.param(break_forget, 40, id="no forget after a bind failed"),
        pytest.param(break_relist, 40, id="no relist after 410"),
        pytest.param(break_settling, 60, id="an unsettled bind is not settled by reading"),
        pytest.param(break_bind_retry, 40, id="a bind is retried blindly on other nodes"),
        pytest.param(break_write_retry, 60, id="writes that got no answer are sent again"),
        pytest.param(
            break_hints(EventResource.NODE, ActionType.ADD), 60, id="new nodes wake nobody"
        ),
        pytest.param(
            break_hints(EventResource.ASSIGNED_POD, ActionType.DELETE),
            60,
            id="pods that leave wake nobody",
        ),
        pytest.param(break_duplicates, 60, id="a change that is told twice counts twice"),
        pytest.param(break_in_flight_events, 200, id="events during an attempt are dropped"),
        pytest.param(break_nominations, 60, id="nominations are never cleared"),
        pytest.param(break_assumptions, 100, id="assumed pods expire too early"),
        pytest.param(break_reuse_of_names, 60, id="a new pod of an old name is taken for the old"),
        pytest.param(break_deletions_in_a_gap, 60, id="deletions during a gap go unnoticed"),
        pytest.param(break_preemptors, 60, id="a preemptor is gated for ever"),
        pytest.param(break_deleted_pods, 200, id="a pod deleted while it is bound stays assumed"),
        pytest.param(break_requeue, 40, id="a pod whose binding failed is lost"),
        pytest.param(break_permit_timeouts, 60, id="nobody's patience at Permit ends"),
    ],
)
def test_a_deliberate_bug_is_caught(
    monkeypatch: pytest.MonkeyPatch, break_it: Callable[[pytest.MonkeyPatch], None], seeds: int
) -> None:
    break_it(monkeypatch)
    assert first_failure(seeds) is not None

"""The fault suite on virtual time: thousands of runs must pass, and deliberate bugs must fail.

A run that fails prints the command that repeats it. `make soak SEEDS=N` runs N seeds.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace as struct_replace

from mooring.app.leader import LeaderElector
from mooring.app.lease_fence import LeaseFence
from mooring.app.lease_lock import LeaseLock
from mooring.app.lifecycle import Lifecycle
from mooring.binding.binding_pods import PermitWait
from mooring.cache.cache import Cache
from mooring.client.client import Client
from mooring.errors import ApiError, NoAnswerError
from mooring.framework.cluster_events import ActionType, EventResource
from mooring.framework.status import Status
from mooring.informers.reflector import Reflector
from mooring.informers.store import Store
from mooring.plugins import default_binder
from mooring.plugins.default_binder import DefaultBinder
from mooring.preemption.executor import Executor
from mooring.queue.in_flight import InFlight
from mooring.queue.nominator import PodNominator
from mooring.queue.scheduling_queue import SchedulingQueue
from mooring.scheduler.event_handlers import ClusterEvents
from mooring.scheduler.schedule_one import SchedulingAttempts
from mooring.scheduler.scheduler import Scheduler
from tests.soak import api_server
from tests.soak.api_server import SimulatedTransport
from tests.soak.scheduler_sets import Company
from tests.soak.soak import company_of, main, run_seed

SEEDS = 600 if os.environ.get("CI") else 300
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
        command = [sys.executable, "-m", "tests.soak.soak", "--seed", "50"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        digests.add(ran.stdout)
    assert len({line for out in digests for line in out.splitlines() if "digest" in line}) == 1


def test_a_failing_seed_prints_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_forget(monkeypatch)
    seed = first_failure(range(40))
    assert main(["--seed", str(seed)]) == 1
    assert f"again: python -m tests.soak.soak --seed {seed}" in capsys.readouterr().out


# Deliberate bugs.


def first_failure(seeds: Iterable[int]) -> int | None:
    return next((seed for seed in seeds if run_seed(seed).violations), None)


def replace(patch: pytest.MonkeyPatch, owner: Any, name: str, make: Callable[..., Any]) -> None:
    """Replace a method by `make(original)`."""
    patch.setattr(owner, name, make(getattr(owner, name)))


def break_forget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SchedulingAttempts, "give_back", lambda self, attempt, status: ((), False))


def break_relist(patch: pytest.MonkeyPatch) -> None:
    def make(go_on: Any) -> Any:
        async def broken(self: Any, stream: Any, error: Any) -> bool:
            if error is not None and error.status == 410:
                # Continue from "now", as if nothing had been missed.
                self._version = str(10**9)
                await self._wait(error)
                return True
            return await go_on(self, stream, error)

        return broken

    replace(patch, Reflector, "_go_on", make)


def break_settling(patch: pytest.MonkeyPatch) -> None:
    async def never(self: Any, pod: Any, node_name: str) -> str:
        return ""

    patch.setattr(DefaultBinder, "_read_node", never)


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
    """Make assumed pods expire long before a slow watch can confirm them."""

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
    """Treat a new pod of the same name as the same pod."""

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
    """Add the objects of a new list, but keep those that it no longer has."""

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

    def broken(self: Any, attempt: Any, status: Any) -> None:
        self.give_back(attempt, status)
        self.queue.done(attempt.info.uid)

    patch.setattr(SchedulingAttempts, "binding_failed", broken)


def break_permit_timeouts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PermitWait, "expire", lambda self, now: None)


def break_refused_reads(patch: pytest.MonkeyPatch) -> None:
    """Treat the refusal of a server that has just started as proof that a pod is not bound."""
    patch.setattr(default_binder, "REFUSAL_SECONDS", 0.0)


def break_broken_exchanges(patch: pytest.MonkeyPatch) -> None:
    """Treat a request during which TLS broke as one that was never sent."""

    def make(explain: Any) -> Any:
        def broken(error: BaseException) -> tuple[str, bool]:
            message, sent = explain(error)
            return message, sent and not isinstance(error, ssl.SSLError)

        return broken

    replace(patch, api_server, "explain", make)


def break_resets(patch: pytest.MonkeyPatch) -> None:
    """Treat every broken request as never sent, and send it again immediately."""

    def make(send: Any) -> Any:
        async def broken(self: Any, request: Any) -> Any:
            while True:
                try:
                    return await send(self, request)
                except NoAnswerError as error:
                    if not error.sent or "time allowed" in error.message:
                        raise

        return broken

    replace(patch, SimulatedTransport, "send", make)


def break_exit_on_loss(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Lifecycle, "lose_lease", lambda self: None)


def break_renew_deadline(patch: pytest.MonkeyPatch) -> None:
    """Try to renew a lease forever, and lead meanwhile."""

    async def broken(self: Any) -> str:
        while not self._stopping.is_set():
            if await self._until_stopped(self._try()):
                return ""
            await self._pause(self._retry_seconds)
        return "context canceled"

    patch.setattr(LeaderElector, "_renew_once", broken)


def break_lease_times(patch: pytest.MonkeyPatch) -> None:
    """Trust the time that another clock wrote into the lease."""

    def broken(self: Any) -> bool:
        renewed = datetime.fromisoformat(self._observed.renew_time or "1970-01-01T00:00:00Z")
        end = renewed.timestamp() + self._observed.lease_seconds
        return bool(end > self._lock._clock.now())

    patch.setattr(LeaderElector, "_is_valid", broken)


def break_lease_versions(patch: pytest.MonkeyPatch) -> None:
    """Write the lease without checking whether it has changed meanwhile."""

    def make(update: Any) -> Any:
        async def broken(self: Any, record: Any) -> None:
            if self._lease is not None:
                meta = struct_replace(self._lease.metadata, resource_version="")
                self._lease = struct_replace(self._lease, metadata=meta)
            await update(self, record)

        return broken

    replace(patch, LeaseLock, "update", make)


def break_fence(patch: pytest.MonkeyPatch) -> None:
    """Send every write, even if the lease has expired."""
    patch.setattr(LeaseFence, "check", lambda self: None)


def break_fence_on_release(patch: pytest.MonkeyPatch) -> None:
    """Continue to write while the lease is being released."""
    patch.setattr(LeaseFence, "close", lambda self: None)


def break_followers(patch: pytest.MonkeyPatch) -> None:
    """Receive no events while another replica leads."""

    async def deaf(self: Any) -> None:
        await asyncio.Event().wait()

    patch.setattr(Scheduler, "follow", deaf)


def break_strangers(patch: pytest.MonkeyPatch) -> None:
    """Ignore the pods of other schedulers."""

    def make(added: Any) -> Any:
        def broken(self: Any, pod: Any) -> None:
            if pod.spec.scheduler_name in self._profiles:
                added(self, pod)

        return broken

    replace(patch, ClusterEvents, "_assigned_pod_added", make)


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
        pytest.param(
            break_refused_reads, 100, id="a server that knows nobody's rights is taken for a no"
        ),
        pytest.param(break_broken_exchanges, 200, id="TLS that broke counts as nothing sent"),
        pytest.param(break_resets, 60, id="an exchange that broke is begun again blindly"),
    ],
)
def test_a_deliberate_bug_is_caught(
    monkeypatch: pytest.MonkeyPatch, break_it: Callable[[pytest.MonkeyPatch], None], seeds: int
) -> None:
    break_it(monkeypatch)
    assert first_failure(range(seeds)) is not None


@pytest.mark.parametrize(
    ("break_it", "company"),
    [
        pytest.param(break_exit_on_loss, Company.REPLICAS, id="who lost the lease goes on"),
        pytest.param(break_renew_deadline, Company.REPLICAS, id="renewing has no deadline"),
        pytest.param(break_lease_times, Company.REPLICAS, id="the clocks of others are believed"),
        pytest.param(break_lease_versions, Company.REPLICAS, id="a lease is written blindly"),
        pytest.param(break_fence, Company.REPLICAS, id="the fence is missing"),
        pytest.param(break_fence_on_release, Company.REPLICAS, id="the fence outlasts the lease"),
        pytest.param(break_followers, Company.REPLICAS, id="who waits for the lease is deaf"),
        pytest.param(break_strangers, Company.SIDE_BY_SIDE, id="others' pods take no room"),
    ],
)
def test_a_deliberate_bug_among_several_schedulers_is_caught(
    monkeypatch: pytest.MonkeyPatch,
    break_it: Callable[[pytest.MonkeyPatch], None],
    company: Company,
) -> None:
    break_it(monkeypatch)
    seeds = [seed for seed in range(1000) if company_of(seed) is company]
    assert first_failure(seeds) is not None

"""A process takes part in an election beside its work, and releases the lease at its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from mooring.api.durations import Duration
from mooring.app.election import Election, make_election
from mooring.app.leader import make_fence
from mooring.app.lifecycle import Lifecycle
from mooring.config.types import LeaderElection
from mooring.errors import ConfigError
from mooring.observe.clock import SystemClock
from mooring.serve.side_loop import SideLoop


class Elector:
    """An elector that leads, loses or breaks, as it is told."""

    def __init__(self, outcome: str) -> None:
        self.outcome = outcome
        self.stopped = False

    async def run(self, started: Callable[[], None], lost: Callable[[], None]) -> bool:
        if self.outcome == "breaks":
            raise RuntimeError("a bug")
        started()
        if self.outcome == "loses":
            lost()
        return True

    def stop(self) -> None:
        self.stopped = True


class LeaseClient:
    """A client that knows whether it is closed."""

    closed = False

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
async def side() -> AsyncIterator[SideLoop]:
    loop = SideLoop("test-side")
    loop.start()
    yield loop
    await asyncio.to_thread(loop.stop, 5.0)


@pytest.mark.parametrize(
    ("outcome", "leads", "lost"),
    [("leads", True, False), ("loses", False, True), ("breaks", False, True)],
)
async def test_the_lifecycle_is_told_how_an_election_goes(
    outcome: str, leads: bool, lost: bool, side: SideLoop, caplog: pytest.LogCaptureFixture
) -> None:
    elector, client, lifecycle = Elector(outcome), LeaseClient(), Lifecycle()
    election = Election(elector, client, side)
    election.start(lifecycle)
    await election.release()
    # What the other thread called is run before what comes next.
    await asyncio.sleep(0)
    assert (lifecycle.leads, lifecycle.lost_lease) == (leads, lost)
    assert elector.stopped and client.closed
    messages = [record.message for record in caplog.records]
    assert messages == (["Leader election failed"] if outcome == "breaks" else [])


def test_settings_that_do_not_fit_together_are_refused() -> None:
    def make(**settings: object) -> Election:
        election = LeaderElection(**settings)
        return make_election(
            election,
            LeaseClient(),
            SideLoop(),
            fence=make_fence(election),
            metrics=Gauges(),
            clock=SystemClock(),
            source="s",
            name="controllers",
        )

    assert not make().elector.is_leader
    with pytest.raises(ConfigError, match="configmaps lock is removed"):
        make(resource_lock="configmaps")
    with pytest.raises(ConfigError, match="leaseDuration must be greater than renewDeadline"):
        make(lease_duration=Duration.from_seconds(1))


class Gauges:
    """Metrics of one component's election."""

    def leading(self, name: str, leads: bool) -> None:
        assert (name, leads) == ("controllers", False)


async def test_an_election_that_has_not_begun_has_nothing_to_release(side: SideLoop) -> None:
    elector, client = Elector("leads"), LeaseClient()
    await Election(elector, client, side).release()
    assert not elector.stopped and not client.closed

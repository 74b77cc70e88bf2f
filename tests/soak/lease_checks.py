"""LeaseJudge: what must be true of a lease, and of who acts on it."""

from __future__ import annotations

import asyncio

from mooring.client.transport import Request
from mooring.config.types import LeaderElection
from tests.soak.api_server import ApiServer
from tests.soak.object_store import Json
from tests.soak.virtual_loop import Process

LEASES = "/apis/coordination.k8s.io/v1/leases"
#: Less than any step of a simulation.
_EPSILON = 1e-6


def request_seconds(settings: LeaderElection) -> float:
    """Return how long one request about a lease may take."""
    return max(1.0, settings.renew_deadline.seconds / 2)


class LeaseJudge:
    """Check every change of leases, and that nobody binds pods without one.

    A lease passes to another only when it was given up, or was not renewed for its whole duration.
    Who holds it binds pods for no longer than a failure to renew it can go unnoticed: its last
    renewal's answer may take the time of one request, the next attempt begins after the retry
    period and lasts until the deadline. That may be longer than the lease, as client-go says of
    itself: it does not fence.
    """

    # client-go: tools/leaderelection/leaderelection.go

    def __init__(self, server: ApiServer, settings: LeaderElection) -> None:
        self._store = server.store
        self._grace = (
            request_seconds(settings)
            + settings.retry_period.seconds
            + settings.renew_deadline.seconds
        )
        #: When each holder last wrote itself into the lease.
        self._renewed: dict[str, float] = {}
        self.violations: list[str] = []
        #: How often a lease passed from one to another that had not been given up.
        self.takeovers = 0
        server.on_send = self._sending
        server.store.listen(self._changed)

    def _changed(self, collection: str) -> None:
        if collection != LEASES:
            return
        now = asyncio.get_running_loop().time()
        for change in self._store.since(collection, self._store.version - 1):
            before, after = _spec(change.before), _spec(change.object)
            old, new = before.get("holderIdentity"), after.get("holderIdentity")
            if old and new and old != new:
                self.takeovers += 1
                left = self._renewed[old] + before["leaseDurationSeconds"] - now
                if left > _EPSILON:
                    self.violations.append(f"{new} took the lease {left:.3f} s before {old}'s end")
            if new:
                self._renewed[new] = now

    def _sending(self, process: Process, request: Request) -> None:
        if not request.target.endswith("/binding"):
            return
        now, name = asyncio.get_running_loop().time(), process.name
        if name not in self._renewed:
            self.violations.append(f"{name} binds a pod, and never had the lease")
        elif now > self._renewed[name] + self._grace + _EPSILON:
            late = now - self._renewed[name]
            self.violations.append(f"{name} binds a pod {late:.3f} s after its last renewal")


def _spec(lease: Json | None) -> Json:
    return {} if lease is None else lease["spec"]

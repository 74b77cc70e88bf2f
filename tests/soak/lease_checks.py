"""LeaseJudge: what must be true of a lease, and of the schedulers that use it."""

from __future__ import annotations

import asyncio
import re

from mooring.client.transport import Request
from mooring.config.types import LeaderElection
from tests.soak.api_server import ApiServer
from tests.soak.object_store import Json
from tests.support.virtual_loop import Process

LEASES = "/apis/coordination.k8s.io/v1/leases"
#: The writes of leader election itself: leases, and core Events about them.
_ELECTION = re.compile(r"/apis/coordination\.k8s\.io/|/api/v1/namespaces/[^/]+/events$")
#: Less than any step of a simulation.
_EPSILON = 1e-6


def request_seconds(settings: LeaderElection) -> float:
    """Return how long one request about a lease may take."""
    return max(1.0, settings.renew_deadline.seconds / 2)


class LeaseJudge:
    """A check of every change of leases, and of every write of the schedulers that want one.

    A lease passes to another holder only if it was released, or was not renewed for its whole
    duration. Only its holder writes, and no longer than for that duration after its last renewal.
    (client-go documents that it does not fence.)
    """

    # client-go: tools/leaderelection/leaderelection.go

    def __init__(self, server: ApiServer, settings: LeaderElection) -> None:
        self._store = server.store
        self._seconds = int(settings.lease_duration.seconds)
        self._holder = ""
        #: When each holder last wrote itself into the lease.
        self._renewed: dict[str, float] = {}
        self.violations: list[str] = []
        #: How often a lease that had not been released passed to another holder.
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
            self._holder = new or ""
            if new:
                self._renewed[new] = now

    def _sending(self, process: Process, request: Request) -> None:
        if request.method == "GET" or _ELECTION.match(request.target):
            return
        now, name = asyncio.get_running_loop().time(), process.name
        what = f"{name} sends {request.method} {request.target}"
        if name not in self._renewed:
            self.violations.append(f"{what}, and never had the lease")
        elif self._holder != name:
            holder = self._holder or "nobody"
            self.violations.append(f"{what}, and the lease is held by {holder}")
        elif now > self._renewed[name] + self._seconds + _EPSILON:
            late = now - self._renewed[name]
            self.violations.append(f"{what} {late:.3f} s after its last renewal")


def _spec(lease: Json | None) -> Json:
    return {} if lease is None else lease["spec"]

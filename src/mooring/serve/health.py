"""Health: named checks, and the pages that show them.

Checks run on the serving thread and read the state that the scheduling loop leaves behind.
"""

# kube-scheduler: cmd/kube-scheduler/app/server.go; apiserver pkg/server/healthz/healthz.go

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from mooring.observe.exposition import expose
from mooring.observe.families import STABLE, ComponentMetrics, MetricsRegistry
from mooring.observe.logs import verbose, vlog

log = logging.getLogger(__name__)

SHUTTING_DOWN = "process is shutting down"
NOT_SYNCED = "handlers are not fully synchronized"


class Check(msgspec.Struct, frozen=True):
    """A health check: `problem` returns None if all is well, else what is wrong."""

    name: str
    problem: Callable[[], str | None]


class Answer(msgspec.Struct, frozen=True):
    """The response of a health page."""

    status: int
    text: str


class HealthMetrics:
    """The results of checks, as /metrics/slis shows them."""

    # component-base: metrics/prometheus/slis/metrics.go

    def __init__(self, started: float) -> None:
        self._registry = MetricsRegistry()
        maker = ComponentMetrics(self._registry, lambda gate: True)
        self._results = maker.gauges(
            "kubernetes_healthcheck",
            "This metric records the result of a single healthcheck.",
            ["name", "type"],
            stability=STABLE,
        )
        self._totals = maker.counters(
            "kubernetes_healthchecks_total",
            "This metric records the results of all healthcheck.",
            ["name", "type", "status"],
            stability=STABLE,
        )
        help = "Start time of the process since unix epoch in seconds."
        maker.gauge("process_start_time_seconds", help).set(started)

    def observe(self, name: str, page: str, healthy: bool) -> None:
        """Count a result."""
        self._results[name, page].set(1 if healthy else 0)
        self._totals[name, page, "success" if healthy else "error"].inc()

    def expose(self) -> bytes:
        """Return the body of /metrics/slis."""
        return expose(self._registry.collect())


class HealthPage:
    """A page that shows all its checks, or one of them."""

    def __init__(self, name: str, checks: Sequence[Check], metrics: HealthMetrics) -> None:
        self.name = name
        # A page without checks of its own still shows that the process responds.
        self.checks = tuple(checks) or (PING,)
        self._metrics = metrics

    def all(self, *, verbose: bool = False, exclude: Sequence[str] = ()) -> Answer:
        """Run every check that is not excluded; a failure names the check, but not the reason."""
        lines, failed, reasons = [], [], []
        unknown = set(exclude)
        for check in self.checks:
            if check.name in exclude:
                unknown.discard(check.name)
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            problem = check.problem()
            self._metrics.observe(check.name, self.name, problem is None)
            if problem is None:
                lines.append(f"[+]{check.name} ok\n")
            else:
                # Everyone may read the page; the reason is shown in the log and on /readyz/NAME.
                lines.append(f"[-]{check.name} failed: reason withheld\n")
                reasons.append(f"[-]{check.name} failed: {problem}\n")
                failed.append(check.name)
        if unknown:
            names = ",".join(f'"{name}"' for name in sorted(unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if failed:
            _log_failure(self.name, failed, reasons)
            return Answer(500, f"{''.join(lines)}{self.name} check failed\n")
        return Answer(200, f"{''.join(lines)}{self.name} check passed\n" if verbose else "ok")

    def one(self, name: str) -> Answer | None:
        """Run one check; None if it does not exist."""
        for check in self.checks:
            if check.name == name:
                problem = check.problem()
                if problem is None:
                    return Answer(200, "ok")
                return Answer(500, f"internal server error: {problem}\n")
        return None


def _log_failure(page: str, failed: list[str], reasons: list[str]) -> None:
    if verbose(log, 2):
        vlog(log, 2, f"{','.join(failed)} check failed: {page}\n{''.join(reasons)}")


PING = Check("ping", lambda: None)


class Health:
    """The health of this process, set by the scheduling loop.

    `leader` is the check of the leader election, if there is one; `loop_problem` returns what is
    wrong with the scheduling loop, or None.
    """

    def __init__(
        self, *, leader: Check | None = None, loop_problem: Callable[[], str | None] = lambda: None
    ) -> None:
        self._loop_problem = loop_problem
        self._synced = False
        self._shutting_down = False
        self._leader = (leader,) if leader is not None else ()

    def handlers_synced(self) -> None:
        """Record that the cache and the queue have processed the initial state."""
        self._synced = True

    def begin_shutdown(self) -> None:
        """Record that the process is shutting down."""
        self._shutting_down = True

    def pages(self, metrics: HealthMetrics) -> tuple[HealthPage, ...]:
        """Return /healthz, /livez and /readyz."""
        shutdown = Check("shutdown", lambda: SHUTTING_DOWN if self._shutting_down else None)
        synced = Check("sched-handler-sync", lambda: None if self._synced else NOT_SYNCED)
        loop = Check("scheduling-loop", self._loop_problem)
        return (
            HealthPage("healthz", self._leader, metrics),
            HealthPage("livez", (PING, loop), metrics),
            HealthPage("readyz", (*self._leader, shutdown, synced), metrics),
        )

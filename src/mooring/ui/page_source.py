"""Where the page's data come from: a cluster that is followed, or a moment of its past."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from mooring.api import Node, Pod
from mooring.config.defaults import SCHEDULER_NAME
from mooring.informers.informer import Informer
from mooring.informers.store import Store
from mooring.scheduler.following import unread_kinds
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.scheduler.scheduler import Scheduler
from mooring.ui.seen_decisions import SeenDecisions

#: A watch that ends is opened again at once; if that takes longer, the cluster counts as lost.
OPENING_SECONDS = 5.0
NO_ANSWER = "the API server does not answer"

#: How many schedulers other than the default one are looked for.
MOST_NAMES = 5


class PageSource(Protocol):
    """A scheduler that only reads, with its pods and the decisions about them."""

    @property
    def scheduler(self) -> Scheduler:
        """Return the scheduler."""
        ...

    @property
    def pods(self) -> Store[Pod]:
        """Return all pods that have not finished."""
        ...

    @property
    def decisions(self) -> SeenDecisions:
        """Return the newest decisions."""
        ...

    @property
    def failure(self) -> str:
        """Return why nodes or pods cannot be read at present; empty while all is well."""
        ...

    @property
    def lost_since(self) -> float | None:
        """Return since when changes of nodes or pods may be missing; None while all is well."""
        ...

    @property
    def unread(self) -> Sequence[str]:
        """Return the kinds that cannot be read, and count as if there were no objects."""
        ...


class FollowedCluster:
    """A cluster that a scheduler follows."""

    def __init__(self, running: RunningScheduler) -> None:
        self._running = running
        self.scheduler = running.scheduler
        self.pods: Store[Pod] = running.informers.informer(Pod).store
        self.decisions = SeenDecisions(running.scheduler.clock.now)
        self.pods.add_handler(self.decisions.handler())

    @property
    def failure(self) -> str:
        """Return why nodes or pods cannot be read at present; empty while all is well."""
        failures = [informer.failure for informer in self._lost()]
        known = [str(failure) for failure in failures if failure is not None]
        return next(iter(known), NO_ANSWER if failures else "")

    @property
    def lost_since(self) -> float | None:
        """Return since when changes of nodes or pods may be missing; None while all is well."""
        times = (informer.lost_since for informer in self._lost())
        return min((time for time in times if time is not None), default=None)

    def _lost(self) -> list[Informer[Any]]:
        """Return the informers whose watches cannot be opened again."""
        now = self.scheduler.clock.now()
        return [
            informer
            for informer in map(self._running.informers.informer, (Node, Pod))
            if informer.lost_since is not None
            and (informer.failure is not None or now > informer.lost_since + OPENING_SECONDS)
        ]

    @property
    def unread(self) -> Sequence[str]:
        """Return the kinds that cannot be read, and count as if there were no objects."""
        return unread_kinds(self._running)

    def scheduler_names(self) -> list[str]:
        """Return the names of the pods' schedulers, the default one first."""
        return scheduler_names(self.pods.list())


def scheduler_names(pods: Iterable[Pod]) -> list[str]:
    """Return the names of the schedulers of pods, the default one first."""
    names = {pod.spec.scheduler_name for pod in pods}
    others = sorted(name for name in names if name not in ("", SCHEDULER_NAME))
    return [SCHEDULER_NAME, *others[:MOST_NAMES]]

"""LoadSource: the newest measurements, fetched beside the cycle.

The cycle never waits for a source: it reads what was fetched last. A plugin calls `columns` with a
function that turns measurements into arrays over the nodes; the arrays are made again only when new
measurements arrive or a node object changes.
"""

# scheduler-plugins: pkg/trimaran/collector.go

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from mooring import Handle, Nodes
from mooring.contrib.load.load_args import PROMETHEUS, LoadArgs
from mooring.contrib.load.load_provider import LoadProvider
from mooring.contrib.load.load_watcher import LoadWatcher
from mooring.contrib.load.measurements import Measurements
from mooring.contrib.load.metrics_server import MetricsServer
from mooring.contrib.load.prometheus import Prometheus
from mooring.errors import MooringError
from mooring.observe.families import Family
from mooring.observe.logs import log_error
from mooring.observe.series import Gauge

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Older measurements, in seconds, count as none.
MAX_AGE = 300.0
#: Scores that are kept, for different requests.
_KEPT = 64

#: The gauge of the age of the measurements of each plugin.
AGE_METRIC = "mooring_load_age_seconds"


def load_provider(args: LoadArgs, handle: Handle) -> LoadProvider:
    """Return the source that arguments name."""
    if args.watcher_address:
        return LoadWatcher(args.watcher_address, handle)
    if args.metric_provider.type == PROMETHEUS:
        return Prometheus(args.metric_provider, handle)
    return MetricsServer(handle)


class LoadSource:
    """The newest measurements of one source. Owned by the plugin that made it."""

    def __init__(self, args: LoadArgs, handle: Handle, plugin: str = "") -> None:
        self._provider = load_provider(args, handle)
        self._handle = handle
        self._plugin = plugin
        self._measurements: Measurements | None = None
        self._taken_at = 0.0
        #: Grows with every answer.
        self._version = 0
        self._failed = False
        #: Whether the last answer had values that could not be used.
        self._incomplete = False
        self._columns: object = None
        self._columns_at: tuple[int, int] | None = None
        self._kept: dict[Hashable, Any] = {}

    def start(self) -> None:
        """Begin to fetch, and to expose the age of the measurements."""
        self._handle.every(self._provider.period, self.fetch)
        ages = self._handle.shared(AGE_METRIC, self._age_gauges)
        ages[self._handle.profile_name, self._plugin].set_function(lambda: self.age)

    @property
    def age(self) -> float:
        """Return the seconds since the newest measurements arrived; infinite if none has."""
        if self._measurements is None:
            return math.inf
        return self._handle.clock.now() - self._taken_at

    @property
    def newest(self) -> Measurements | None:
        """Return the newest measurements; None if there are none that are recent enough."""
        return self._measurements if self.age <= MAX_AGE else None

    def take(self, measurements: Measurements) -> None:
        """Take measurements as the newest."""
        self._measurements = measurements
        self._taken_at = self._handle.clock.now()
        self._version += 1

    def columns(self, nodes: Nodes, work_out: Callable[[Measurements, Nodes], T]) -> T | None:
        """Return what `work_out` makes of the newest measurements and all nodes of the snapshot.

        None if there are no measurements. Only one function may be used with a source.
        """
        newest = self.newest
        if newest is None:
            return None
        at = (self._version, nodes.node_generation)
        if self._columns_at != at:
            self._columns = work_out(newest, nodes.all)
            self._columns_at = at
            self._kept.clear()
        found: T = self._columns  # type: ignore[assignment]
        return found

    def remembered(self, key: Hashable, work_out: Callable[[], T]) -> T:
        """Return what `work_out` made, kept under `key` as long as the columns.

        Pods of one template have the same requests, and so the same scores.
        """
        if key not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = work_out()
        found: T = self._kept[key]
        return found

    async def fetch(self) -> None:
        """Fetch measurements; log once when that begins to fail, and once when it works again."""
        source = self._provider.name
        try:
            answer = await self._provider.fetch()
        except (MooringError, ValueError) as error:
            if not self._failed:
                self._failed = True
                log_error(
                    log,
                    error,
                    "Cannot measure the load of nodes; after 300 s they score as if unmeasured",
                    source=source,
                )
            return
        self.take(answer.measurements)
        if self._failed:
            self._failed = False
            log.info("The load of nodes is measured again", extra={"kv": {"source": source}})
        if answer.left_out and not self._incomplete:
            log_error(
                log, answer.left_out, "Some measurements count as none; this is one", source=source
            )
        self._incomplete = bool(answer.left_out)

    def _age_gauges(self) -> Family[Gauge]:
        return self._handle.metrics.maker.gauges(
            AGE_METRIC,
            "Seconds since the load of nodes was measured for a plugin.",
            ("profile", "plugin"),
        )

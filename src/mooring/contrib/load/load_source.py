"""LoadSource: the newest measurements, fetched beside the cycle.

The cycle never waits for a source: it reads what was fetched last. A plugin calls `columns` with a
function that turns measurements into arrays over the nodes; the arrays are made again only when new
measurements arrive or a node object changes.
"""

# scheduler-plugins: pkg/trimaran/collector.go

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Any, Literal, TypeVar

import msgspec

from mooring import ApiError, ConfigError, Handle, Nodes
from mooring.contrib.load.measurements import Measurements, read_measurements
from mooring.errors import MooringError
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two fetches.
PERIOD = 30.0
#: Older measurements, in seconds, count as none. # load-watcher serves nothing older.
MAX_AGE = 300.0
#: The largest answer, in bytes; that of 5,000 nodes has about 2.5 MB.
MAX_ANSWER = 8 * 2**20
#: The path of load-watcher's API.
WATCHER_PATH = "/watcher"
_TIMEOUT = 10.0
#: Scores that are kept, for different requests.
_KEPT = 64

PROVIDERS = ("KubernetesMetricsServer", "Prometheus", "SignalFx")


class MetricProvider(msgspec.Struct, frozen=True, rename="camel"):
    """A source of measurements other than a load watcher."""

    #: The kind of the source.
    type: Literal["KubernetesMetricsServer", "Prometheus", "SignalFx", ""] = ""
    #: Its address.
    address: str = ""
    #: The token to authenticate with.
    token: str = ""
    #: Whether its certificate is not verified.
    insecure_skip_verify: bool | None = None


class LoadArgs(msgspec.Struct, frozen=True, rename="camel"):
    """Where measurements come from: a load watcher, else a metric provider."""

    #: The source if there is no load watcher.
    metric_provider: MetricProvider = MetricProvider()
    #: None if no address is given; then the metric provider counts.
    watcher_address: str | None = None

    def check(self) -> None:
        """Raise ValueError if there is no source."""
        if self.watcher_address == "" and not self.metric_provider.type:
            raise ValueError(f"metricProvider.type must be one of {', '.join(PROVIDERS)}")


class LoadSource:
    """The newest measurements of one source. Owned by the plugin that made it."""

    def __init__(self, args: LoadArgs, handle: Handle) -> None:
        self._args = args
        self._handle = handle
        self._measurements: Measurements | None = None
        self._taken_at = 0.0
        #: Grows with every answer.
        self._version = 0
        self._failed = False
        self._columns: object = None
        self._columns_at: tuple[int, int] | None = None
        self._kept: dict[Hashable, Any] = {}

    def start(self) -> None:
        """Begin to fetch."""
        self._handle.every(PERIOD, self.fetch)

    @property
    def newest(self) -> Measurements | None:
        """Return the newest measurements; None if there are none that are recent enough."""
        if self._measurements is None:
            return None
        age = self._handle.clock.now() - self._taken_at
        return self._measurements if age <= MAX_AGE else None

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
        try:
            self.take(await self._fetch())
        except (MooringError, ValueError) as error:
            if not self._failed:
                self._failed = True
                log_error(
                    log,
                    error,
                    "Cannot measure the load of nodes; after 300 s they score as if unmeasured",
                    source=self._name,
                )
            return
        if self._failed:
            self._failed = False
            log.info("The load of nodes is measured again", extra={"kv": {"source": self._name}})

    @property
    def _name(self) -> str:
        args = self._args
        return args.watcher_address or args.metric_provider.type or PROVIDERS[0]

    async def _fetch(self) -> Measurements:
        address = self._args.watcher_address
        if not address:
            raise ConfigError(f"the metric provider {self._name} is not available")
        answer = await self._handle.http.get(
            address + WATCHER_PATH, timeout=_TIMEOUT, max_bytes=MAX_ANSWER
        )
        if answer.status != 200:
            raise ApiError(answer.status, f"received status code {answer.status} from watcher")
        return read_measurements(answer.body)

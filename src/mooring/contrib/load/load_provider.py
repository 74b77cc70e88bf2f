"""LoadProvider: what a source of measurements must be able to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from mooring.contrib.load.measurements import (
    LoadMetric,
    LoadWindow,
    Measurements,
    NodeMetrics,
    measurements_of,
)
from mooring.errors import ObjectError

#: The largest answer, in bytes; that of a load watcher for 5,000 nodes has about 2.5 MB.
MAX_ANSWER = 8 * 2**20
#: Seconds after which a request has failed.
TIMEOUT = 10.0
#: Seconds between two fetches from a provider that is read without a load watcher.
# load-watcher: pkg/watcher/watcher.go (StartWatching)
PROVIDER_PERIOD = 60.0
#: The time that measurements cover, as Prometheus writes it and in seconds.
WINDOW = "15m"
_WINDOW_SECONDS = 15 * 60


class LoadAnswer(msgspec.Struct, frozen=True):
    """What a provider measured."""

    measurements: Measurements
    #: The first value that could not be used, and why; "" if all could.
    left_out: str = ""


class LoadProvider(Protocol):
    """A source of measurements."""

    @property
    def name(self) -> str:
        """Return what the log calls the source."""
        ...

    @property
    def period(self) -> float:
        """Return the seconds between two fetches."""
        ...

    async def fetch(self) -> LoadAnswer:
        """Return the newest measurements; raise MooringError if there are none."""
        ...


def gathered(
    by_node: Mapping[str, Sequence[LoadMetric]],
    left_out: Sequence[str],
    *,
    now: float,
    source: str,
    nothing: str,
) -> LoadAnswer:
    """Return values as measurements of the window that ends now.

    Raise ObjectError if there are none, with the reason why the first was left out, or `nothing`.
    """
    # load-watcher: pkg/watcher/watcher.go (CurrentFifteenMinuteWindow)
    reason = left_out[0] if left_out else ""
    if not any(by_node.values()):
        raise ObjectError(reason or nothing)
    window = LoadWindow(WINDOW, int(now) - _WINDOW_SECONDS, int(now))
    found = {name: NodeMetrics(tuple(metrics)) for name, metrics in by_node.items() if metrics}
    return LoadAnswer(measurements_of(found, window, source), reason)

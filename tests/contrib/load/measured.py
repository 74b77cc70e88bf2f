"""Measurements for tests, and plugins that have them from the start."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring import Plugin
from mooring.contrib.load.measurements import Measurements

#: Average and standard deviation of cpu and memory, in percent.
Loads = dict[str, tuple[float, float, float, float]]


def measurements(loads: Loads, end: int = 0) -> Measurements:
    """Return what a load watcher would have measured."""
    by_node = {
        name: {
            "metrics": [
                {"type": kind, "operator": operator, "value": value}
                for (kind, operator), value in zip(
                    (("CPU", "AVG"), ("CPU", "STD"), ("Memory", "AVG"), ("Memory", "STD")),
                    values,
                    strict=True,
                )
            ]
        }
        for name, values in loads.items()
    }
    return msgspec.convert(
        {"window": {"end": end}, "data": {"NodeMetricsMap": by_node}}, Measurements
    )


def measured(plugin: type[Plugin], found: Measurements) -> type[Plugin]:
    """Return the plugin's class with measurements that it need not fetch."""

    def start(self: Any) -> None:
        plugin.start(self)
        self.load.take(found)

    return type(plugin.__name__, (plugin,), {"name": plugin.name, "start": start})

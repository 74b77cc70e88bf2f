"""ResolvedProfile: which plugins run for one scheduler name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.framework.points import Point


class ResolvedProfile(msgspec.Struct, frozen=True):
    """The plugins that run for one scheduler name."""

    scheduler_name: str
    #: None means that the configuration's global percentage applies.
    percentage_of_nodes_to_score: int | None
    #: The plugins of each point of PLANNED_POINTS, in running order; the weight matters only at
    #: Score and PlacementScore.
    points: Mapping[Point, tuple[tuple[str, int], ...]]
    #: The args of each plugin that runs: a Struct, plain data if it declares no Args, or None.
    args: Mapping[str, Any]

    def names(self, point: Point) -> tuple[str, ...]:
        """Return the plugins of a point in order."""
        return tuple(name for name, _ in self.points[point])

    @property
    def plugins(self) -> tuple[str, ...]:
        """Return every plugin that runs at some point, each once, sorted."""
        return tuple(sorted({name for point in self.points for name in self.names(point)}))

"""TargetLoadPacking: fill nodes up to a measured use of the cpu, and no further."""

# scheduler-plugins: pkg/trimaran/targetloadpacking/targetloadpacking.go, pkg/trimaran/handler.go

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from mooring import CycleState, Handle, Nodes
from mooring.api import Container, Pod, ResourceList, milli_value
from mooring.api.go_numbers import parse_float, round_half_away
from mooring.contrib.load import LoadArgs
from mooring.contrib.load.load_plugin import LoadPlugin
from mooring.contrib.load.measurements import Measurements, cpu_values
from mooring.contrib.load.recent_pods import RecentPods
from mooring.contrib.score_ranges import round_half_away as round_all
from mooring.contrib.score_ranges import to_int64, wrapped
from mooring.typing import Floats, Ints, Scores

DEFAULT_TARGET = 40
DEFAULT_MILLI_CPU = 1000


class _Columns(msgspec.Struct, frozen=True):
    """What is known of each node."""

    #: Measured use of the cpu in thousandths; NaN if it was not measured.
    used: Floats
    #: Capacity in thousandths.
    capacity: Floats


class _Kept(msgspec.Struct):
    """The scores of all nodes for one expected use."""

    scores: Scores
    #: How many changes of recent pods they include.
    seen: int


class TargetLoadPacking(LoadPlugin):
    """The plugin that fills nodes up to a target use of the cpu.

    Choose it to pack pods onto few nodes by what they really use instead of what they request. A
    node scores the better the nearer its predicted use comes to the target, and the worse the
    further it would exceed it. A node that was not measured scores 0.
    """

    name = "TargetLoadPacking"

    class Args(LoadArgs, frozen=True, rename="camel", kw_only=True):
        """The target, and what containers without limits are expected to use."""

        #: In percent; 0 or less stands for 40.
        target_utilization: int = DEFAULT_TARGET
        #: The expected use of a container without requests; None stands for 1000m of cpu.
        default_requests: ResourceList | None = None
        #: The expected use of a container without limits is its request times this.
        default_requests_multiplier: str = "1.5"

        def __post_init__(self) -> None:
            if self.target_utilization <= 0:
                force_setattr(self, "target_utilization", DEFAULT_TARGET)
            if parse_float(self.default_requests_multiplier) is None:
                raise ValueError(
                    "defaultRequestsMultiplier must be a number in quotes, got "
                    f'"{self.default_requests_multiplier}"'
                )
            milli_value((self.default_requests or {}).get("cpu", 0))

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        defaults = self.args.default_requests
        self._unknown = (
            DEFAULT_MILLI_CPU if defaults is None else milli_value(defaults.get("cpu", 0))
        )
        self._multiplier = parse_float(self.args.default_requests_multiplier) or 0.0

    def start(self) -> None:
        """Begin to fetch measurements, and note when pods are bound."""
        super().start()
        recent = self._recent = RecentPods(self._use_of, self.handle.clock)
        self.handle.watch(Pod, added=recent.added, updated=recent.updated, deleted=recent.deleted)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Score by the predicted use of the cpu."""
        columns = self.load.columns(nodes, _columns)
        newest = self.load.newest
        if columns is None or newest is None:
            return 0
        missing = self._recent.sums(newest.window.end, nodes)
        use, log = self._use_of(pod), self._recent.log
        kept = self.load.remembered(use, lambda: self._score_all(columns, use, missing))
        if kept.seen < len(log):
            rows = np.array(log[kept.seen :], dtype=np.intp)
            kept.scores[rows] = self._score(
                columns.used[rows], columns.capacity[rows], use, missing[rows]
            )
            kept.seen = len(log)
        return nodes.gather(kept.scores)

    def _score_all(self, columns: _Columns, use: int, missing: Ints) -> _Kept:
        scores = self._score(columns.used, columns.capacity, use, missing)
        return _Kept(scores, len(self._recent.log))

    def _score(self, used: Floats, capacity: Floats, use: int, missing: Ints) -> Scores:
        target = float(self.args.target_utilization)
        total = used + float(use)
        total += missing
        total *= 100.0
        predicted = np.where(capacity != 0.0, total / np.where(capacity, capacity, 1.0), 0.0)
        below = (100.0 - target) * predicted / target + target
        above = target * (100.0 - predicted) / (100.0 - target) if target != 100.0 else 0.0
        scores = to_int64(round_all(np.where(predicted > target, above, below)))
        # A source that reports a negative use must not make scores invalid.
        scores = np.where(predicted < 0.0, np.maximum(scores, 0), scores)
        return np.where((predicted > 100.0) & (predicted > target) | np.isnan(used), 0, scores)

    def _use_of(self, pod: Pod) -> int:
        """Return the cpu that a pod is expected to use, in thousandths."""
        total = sum(map(self._container_use, pod.spec.containers))
        return wrapped(total + milli_value(pod.spec.overhead.get("cpu", 0)))

    def _container_use(self, container: Container) -> int:
        limit = container.resources.limits.get("cpu")
        if limit is not None:
            return milli_value(limit)
        request = container.resources.requests.get("cpu")
        if request is not None:
            return round_half_away(float(milli_value(request)) * self._multiplier)
        return self._unknown


def _columns(measurements: Measurements, nodes: Nodes) -> _Columns:
    capacity = np.array(
        [milli_value(info.node.status.capacity.get("cpu", 0)) for info in nodes.infos()],
        dtype=np.float64,
    )
    by_node = measurements.by_node
    percent = np.full(len(nodes), np.nan)
    for row, name in enumerate(nodes.names):
        measured = by_node.get(name)
        if measured is not None and (values := cpu_values(measured)):
            percent[row] = values[-1]
    return _Columns(percent / 100 * capacity, capacity)

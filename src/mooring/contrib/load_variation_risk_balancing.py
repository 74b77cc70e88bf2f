"""LoadVariationRiskBalancing: avoid nodes whose measured load is high or varies much."""

# scheduler-plugins: pkg/trimaran/loadvariationriskbalancing

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from mooring import MAX_NODE_SCORE, CycleState, Nodes
from mooring.api import Pod, milli_value, value
from mooring.contrib.load import LoadArgs
from mooring.contrib.load.load_plugin import LoadPlugin
from mooring.contrib.load.measurements import CPU, MEMORY, Measurements, resource_load
from mooring.contrib.load.pod_amounts import PodAmounts, pod_requests_of
from mooring.contrib.score_ranges import round_half_away, to_int64
from mooring.typing import Floats, Mask, Scores

#: Memory is counted in MiB.
MEGA = 1.0 / 1024.0 / 1024.0


class _Risk(msgspec.Struct, frozen=True):
    """What is known of one resource of each node; a capacity of 0 or less becomes NaN."""

    capacity: Floats
    #: Average use, within the capacity.
    used: Floats
    #: The part of the risk that comes from the standard deviation.
    sigma: Floats
    known: Mask


class _Columns(msgspec.Struct, frozen=True):
    cpu: _Risk
    memory: _Risk
    #: Nodes of which both resources were measured.
    both: Mask


class LoadVariationRiskBalancing(LoadPlugin):
    """The plugin that avoids nodes whose load is high or varies much.

    Choose it to keep room for bursts: the risk of a node is half its average load with the pod plus
    half the standard deviation of its load, for cpu and memory; the larger risk counts. A node that
    was not measured scores 0.
    """

    name = "LoadVariationRiskBalancing"

    class Args(LoadArgs, frozen=True, rename="camel", kw_only=True):
        """How the standard deviation counts: margin * sigma ** (1 / sensitivity)."""

        #: Below 0 it stands for 1.
        safe_variance_margin: float = 1.0
        #: Below 0 it stands for 1.
        safe_variance_sensitivity: float = 1.0

        def __post_init__(self) -> None:
            for field in ("safe_variance_margin", "safe_variance_sensitivity"):
                if getattr(self, field) < 0:
                    force_setattr(self, field, 1.0)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Score by the average load and its deviation."""
        columns = self.load.columns(nodes, self._columns)
        if columns is None:
            return 0
        requests = pod_requests_of(pod)
        return nodes.gather(self.load.remembered(requests, lambda: _score_all(columns, requests)))

    def _columns(self, measurements: Measurements, nodes: Nodes) -> _Columns:
        cpu = self._risk(measurements, nodes, CPU)
        memory = self._risk(measurements, nodes, MEMORY)
        return _Columns(cpu, memory, cpu.known & memory.known)

    def _risk(self, measurements: Measurements, nodes: Nodes, kind: str) -> _Risk:
        by_node = measurements.by_node
        nothing = (0.0, 0.0, False)
        found = [nothing] * len(nodes)
        for row, name in enumerate(nodes.names):
            measured = by_node.get(name)
            if measured is not None:
                load = resource_load(measured, kind)
                found[row] = (load.average, load.deviation, load.known)
        average, deviation, known = (np.array(column) for column in zip(*found, strict=True))
        capacity = capacities(nodes, kind)
        used = np.maximum(np.minimum(average * capacity / 100, capacity), 0.0)
        spread = np.maximum(np.minimum(deviation * capacity / 100, capacity), 0.0)
        usable = np.where(capacity > 0, capacity, np.nan)
        sigma = np.maximum(np.minimum(spread / usable, 1.0), 0.0)
        return _Risk(usable, used, self._weighed(sigma), known.astype(np.bool_))

    def _weighed(self, sigma: Floats) -> Floats:
        sensitivity = self.args.safe_variance_sensitivity
        power = 1 / sensitivity if sensitivity else np.inf
        weighed: Floats = sigma**power * self.args.safe_variance_margin
        return np.clip(weighed, 0.0, 1.0)


def capacities(nodes: Nodes, kind: str) -> Floats:
    """Return what nodes can offer: cpu in thousandths, memory in MiB."""
    if kind == CPU:
        return np.array(
            [milli_value(info.node.status.allocatable.get("cpu", 0)) for info in nodes.infos()],
            dtype=np.float64,
        )
    found = [value(info.node.status.allocatable.get("memory", 0)) for info in nodes.infos()]
    return np.array(found, dtype=np.float64) * MEGA


def _score_all(columns: _Columns, requests: PodAmounts) -> Scores:
    cpu = _score(columns.cpu, float(requests.cpu))
    memory = _score(columns.memory, float(requests.memory) * MEGA)
    total = np.where(columns.both, np.minimum(memory, cpu), np.maximum(memory, cpu))
    return to_int64(round_half_away(total))


def _score(risk: _Risk, request: float) -> Floats:
    """Return the score by one resource; 0 if it was not measured or there is none."""
    mu = np.clip((risk.used + request) / risk.capacity, 0.0, 1.0)
    score = (1.0 - (mu + risk.sigma) / 2) * float(MAX_NODE_SCORE)
    return np.where(risk.known & ~np.isnan(score), score, 0.0)

"""Peaks: place pods where they raise the power that nodes draw the least."""

# scheduler-plugins: pkg/trimaran/peaks/peaks.go

from __future__ import annotations

import math
import os
from typing import Any

import msgspec
import numpy as np

from mooring import ConfigError, CycleState, Handle, Nodes
from mooring.api import Pod, milli_value
from mooring.api.pod_resource_requests import RequestOptions, container_requests
from mooring.api.quantity import milli_value_of_nanos, parse_nanos
from mooring.contrib.load import LoadArgs
from mooring.contrib.load.load_args import MetricProvider
from mooring.contrib.load.load_plugin import LoadPlugin
from mooring.contrib.load.measurements import Measurements, cpu_values
from mooring.contrib.score_ranges import highest_to_lowest, to_int64
from mooring.observe.files import read_file
from mooring.typing import Floats, Scores

#: The environment variable that names a JSON file with the power models.
MODEL_FILE = "NODE_POWER_MODEL"

#: Raw scores are jumps in power times this.
_SCALE = math.pow(10, 15)


class PowerModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The power that a node draws at a use of x percent: k0 + k1 * e ** (k2 * x)."""

    #: The power of an idle node, apart from k1.
    k0: float = 0.0
    #: The factor of the exponential part.
    k1: float = 0.0
    #: The growth per percent of use.
    k2: float = 0.0


NO_MODEL = PowerModel()


class _Columns(msgspec.Struct, frozen=True):
    """What is known of each node."""

    #: Measured use of the cpu in percent; NaN if it was not measured.
    percent: Floats
    #: The same in thousandths of a cpu, and the capacity.
    used: Floats
    capacity: Floats
    k1: Floats
    k2: Floats
    #: e ** (k2 * percent).
    before: Floats


class Peaks(LoadPlugin):
    """The plugin that places pods where they raise the power that nodes draw the least.

    Choose it if the power models of the nodes are known. A node without measurements or without a
    model, and one that the pod would overload, has a jump of 0, which is the best score unless all
    jumps are 0: give every node a model, and let another plugin refuse overloaded nodes.
    """

    name = "Peaks"

    class Args(msgspec.Struct, frozen=True):
        """The source of measurements, and the power models by node name.

        With `NodePowerModel: {}` the models are read from the file that the environment variable
        NODE_POWER_MODEL names.
        """

        #: The address of the load watcher.
        WatcherAddress: str = ""
        #: The power model of each node, by name.
        NodePowerModel: dict[str, PowerModel] | None = None
        #: The source if there is no load watcher. Only Mooring has it.
        metric_provider: MetricProvider | None = msgspec.field(default=None, name="metricProvider")

        @property
        def source(self) -> LoadArgs:
            """Return where measurements come from."""
            if self.WatcherAddress or self.metric_provider is None:
                return LoadArgs(watcher_address=self.WatcherAddress)
            return LoadArgs(metric_provider=self.metric_provider)

        def check(self) -> None:
            """Raise ValueError if there is no source of measurements, or an unusable one."""
            if not self.WatcherAddress and self.metric_provider is None:
                raise ValueError("WatcherAddress must be given, or metricProvider")
            self.source.check()

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self.args.check()
        self._models = self.args.NodePowerModel
        if not self._models:
            found = _read_models()
            # The file counts only if the arguments have an empty map.
            self._models = {} if self._models is None else found

    def _source(self) -> LoadArgs:
        source: LoadArgs = self.args.source
        return source

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Return the jump in power of each node: the lower, the better."""
        columns = self.load.columns(nodes, self._columns)
        if columns is None:
            return 0
        request = _request(pod)
        return nodes.gather(self.load.remembered(request, lambda: _jumps(columns, request)))

    def normalize_score(self, state: CycleState, pod: Pod, scores: Scores) -> Scores:
        """Scale so that the lowest jump becomes 100 and the highest 0."""
        return highest_to_lowest(scores)

    def _columns(self, measurements: Measurements, nodes: Nodes) -> _Columns:
        percent = np.full(len(nodes), np.nan)
        models = [NO_MODEL] * len(nodes)
        capacity = np.zeros(len(nodes))
        for row, info in enumerate(nodes.infos()):
            models[row] = (self._models or {}).get(info.name, NO_MODEL)
            capacity[row] = milli_value(info.node.status.capacity.get("cpu", 0))
            measured = measurements.by_node.get(info.name)
            if measured is not None and (values := cpu_values(measured)):
                percent[row] = values[0]
        k1 = np.array([model.k1 for model in models])
        k2 = np.array([model.k2 for model in models])
        used = percent / 100 * capacity
        return _Columns(percent, used, capacity, k1, k2, _exp(k2 * percent))


def _jumps(columns: _Columns, request: int) -> Scores:
    capacity = columns.capacity
    predicted = 100 * (columns.used + float(request))
    predicted = np.where(capacity != 0.0, predicted / np.where(capacity, capacity, 1.0), 0.0)
    # A node so overloaded that its power is infinite has no jump.
    with np.errstate(over="ignore", invalid="ignore"):
        jump = _exp(columns.k2 * predicted) - columns.before
        raw = to_int64(columns.k1 * jump * _SCALE)
    return np.where((predicted > 100.0) | np.isnan(columns.percent), 0, raw)


def _exp(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.exp(values)


def _read_models() -> dict[str, PowerModel]:
    path = os.environ.get(MODEL_FILE, "")
    try:
        return msgspec.json.decode(read_file(path), type=dict[str, PowerModel])
    except OSError as error:
        raise ConfigError(
            f"NodePowerModel is empty, and {MODEL_FILE}={path!r} cannot be read: {error.strerror}"
        ) from None
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path}: not a power model: {error}") from None


_WITHOUT_STATUS = RequestOptions(use_status_resources=False)


def _request(pod: Pod) -> int:
    """Return the cpu that a pod requests, in thousandths; overhead counts only if it does."""
    resources = pod.spec.resources
    if resources is not None and (resources.requests or resources.limits):
        nanos = parse_nanos(resources.requests.get("cpu", 0))
    else:
        nanos = container_requests(pod, _WITHOUT_STATUS).get("cpu", 0)
    if nanos:
        nanos += parse_nanos(pod.spec.overhead.get("cpu", 0))
    return milli_value_of_nanos(nanos)

"""Prometheus: measurements from the recording rules of a Prometheus.

The rules are those of kube-prometheus; the label `instance` of their series must be the name of the
node, and their values are shares between 0 and 1.
"""

# load-watcher: pkg/watcher/internal/metricsprovider/prometheus.go

from __future__ import annotations

import math
import os
from urllib.parse import urlencode

import msgspec

from mooring import ApiError, Handle
from mooring.api.go_numbers import parse_float
from mooring.contrib.load.load_args import PROMETHEUS, MetricProvider
from mooring.contrib.load.load_provider import (
    MAX_ANSWER,
    PROVIDER_PERIOD,
    TIMEOUT,
    WINDOW,
    LoadAnswer,
    gathered,
)
from mooring.contrib.load.measurements import (
    AVERAGE,
    CPU,
    DEVIATION,
    MEMORY,
    LoadMetric,
    is_plausible,
)
from mooring.errors import ObjectError, cut_text

DEFAULT_ADDRESS = "http://prometheus-k8s:9090"
QUERY_PATH = "/api/v1/query"
#: The label whose value is the name of the node.
NODE_LABEL = "instance"

CPU_SERIES = "instance:node_cpu:ratio"
MEMORY_SERIES = "instance:node_memory_utilisation:ratio"

#: If this environment variable exists, the authorities of the service account are trusted.
CLUSTER_AUTHORITY = "ENABLE_OPENSHIFT_AUTH"
CLUSTER_AUTHORITY_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

NO_SERIES = (
    f"neither {CPU_SERIES} nor {MEMORY_SERIES} has a series with the label {NODE_LABEL}: load the "
    "recording rules of kube-prometheus"
)
WITHHELD = "the token was not sent, because the address does not begin with https://"

#: Function, series, operator, resource.
_QUERIES = (
    ("avg_over_time", CPU_SERIES, AVERAGE, CPU),
    ("avg_over_time", MEMORY_SERIES, AVERAGE, MEMORY),
    ("stddev_over_time", CPU_SERIES, DEVIATION, CPU),
    ("stddev_over_time", MEMORY_SERIES, DEVIATION, MEMORY),
)
_MAX_REASON = 300


class InstantSample(msgspec.Struct, frozen=True):
    """A value of one series."""

    metric: dict[str, str] = {}
    #: The time, and the value as text; None for a histogram.
    value: tuple[float, str] | None = None


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str = ""
    result: msgspec.Raw = msgspec.Raw(b"[]")


class _Answer(msgspec.Struct, frozen=True):
    status: str = ""
    data: _Data = _Data()
    error: str = ""


class Prometheus:
    """A Prometheus that records the load of nodes."""

    name = PROMETHEUS
    period = PROVIDER_PERIOD

    def __init__(self, provider: MetricProvider, handle: Handle) -> None:
        self._handle = handle
        self._address = (provider.address or DEFAULT_ADDRESS).rstrip("/")
        self._token = provider.token
        self._ca_file = provider.ca_file
        if not self._ca_file and CLUSTER_AUTHORITY in os.environ:
            self._ca_file = CLUSTER_AUTHORITY_FILE
        skip = provider.insecure_skip_verify
        self._insecure = not self._ca_file and (True if skip is None else skip)

    async def fetch(self) -> LoadAnswer:
        """Return average and deviation of cpu and memory over the last 15 minutes.

        If one query fails, so does the whole.
        """
        by_node: dict[str, list[LoadMetric]] = {}
        left_out: list[str] = []
        for function, series, operator, kind in _QUERIES:
            for sample in await self._query(f"{function}({series}[{WINDOW}])"):
                node = sample.metric.get(NODE_LABEL, "")
                number = parse_float(sample.value[1]) if sample.value else None
                percent = math.nan if number is None else number * 100
                if not is_plausible(percent):
                    shown = cut_text(sample.value[1], _MAX_REASON) if sample.value else "no number"
                    left_out.append(f"{function} of {series} of node {node} is {shown}")
                elif node:
                    metric = LoadMetric(series, kind, operator, WINDOW, percent)
                    by_node.setdefault(node, []).append(metric)
        return gathered(
            by_node,
            left_out,
            now=self._handle.clock.wall_time(),
            source=self.name,
            nothing=NO_SERIES,
        )

    async def _query(self, query: str) -> list[InstantSample]:
        answer = await self._handle.http.get(
            f"{self._address}{QUERY_PATH}?{urlencode({'query': query})}",
            token=self._token,
            ca_file=self._ca_file,
            insecure=self._insecure,
            timeout=TIMEOUT,
            max_bytes=MAX_ANSWER,
        )
        if answer.status == 200:
            return read_samples(answer.body)
        reason = _reason(answer.body)
        if answer.status in (401, 403) and self._token and not self._address.startswith("https:"):
            reason = f"{reason}; {WITHHELD}" if reason else WITHHELD
        raise ApiError(answer.status, reason, url=self._address)


def read_samples(body: bytes) -> list[InstantSample]:
    """Decode the answer to an instant query; raise ObjectError if it makes no sense."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
        if answer.status != "success":
            raise ObjectError(cut_text(answer.error, _MAX_REASON) or "the query failed")
        if answer.data.result_type != "vector":
            raise ObjectError(
                f"expected a vector, got {cut_text(answer.data.result_type, _MAX_REASON)!r}"
            )
        return msgspec.json.decode(answer.data.result, type=list[InstantSample])
    except ObjectError as error:
        raise ObjectError(f"not an answer of Prometheus: {error}") from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ObjectError(f"not an answer of Prometheus: {error}") from None


def _reason(body: bytes) -> str:
    """Return what an answer says about the failure of a query."""
    try:
        return cut_text(msgspec.json.decode(body, type=_Answer).error, _MAX_REASON)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""

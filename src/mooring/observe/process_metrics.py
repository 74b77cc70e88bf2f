"""The metrics that every Kubernetes component has: requests, lease, build, process.

# kube-scheduler: component-base metrics/prometheus/{restclient,version,clientgo/leaderelection}
"""

from __future__ import annotations

import platform
import resource
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import Metric, ProcessCollector
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mooring.observe.families import BETA, ComponentMetrics, MetricsRegistry

#: Seconds. # component-base: metrics/prometheus/restclient/metrics.go
_REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)

#: Bytes, 64 to 16 MB.
_SIZES = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)


class ProcessMetrics:
    """Client and lease metrics; implements `client.RequestMetrics` and `LeaderMetrics`."""

    def __init__(
        self, registry: MetricsRegistry, version: str, *, emulation: str, min_compatibility: str
    ) -> None:
        #: Makes the metrics, and knows them.
        self.maker = make = ComponentMetrics(registry, lambda gate: True)
        registry.register(ProcessCollector(registry=None))
        registry.register(ProcessLimits())
        self._requests = make.counters(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            ("code", "method", "host"),
        )
        self._retries = make.counters(
            "rest_client_request_retries_total",
            "Number of request retries, partitioned by status code, verb, and host.",
            ("code", "verb", "host"),
        )
        self._seconds = make.histograms(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host.",
            ("verb", "host"),
            _REQUEST_SECONDS,
        )
        self._sent, self._received = (
            make.histograms(
                f"rest_client_{word}_size_bytes",
                f"{word.capitalize()} size in bytes. Broken down by verb and host.",
                ("verb", "host"),
                _SIZES,
            )
            for word in ("request", "response")
        )
        self._throttled = make.histograms(
            "rest_client_rate_limiter_duration_seconds",
            "Client side rate limiter latency in seconds. Broken down by verb, and host.",
            ("verb", "host"),
            _REQUEST_SECONDS,
        )
        self._leader = make.gauges(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, "
            "1 indicates master. 'name' is the string used to identify the lease. Please make sure "
            "to group by name.",
            ("name",),
        )
        self._slow = make.counters(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases. 'name' is the string "
            "used to identify the lease. Please make sure to group by name.",
            ("name",),
        )
        build = make.gauges(
            "kubernetes_build_info",
            "A metric with a constant '1' value labeled by major, minor, git version, git commit, "
            "git tree state, build date, Go version, and compiler from which Kubernetes was built, "
            "and platform on which it is running.",
            (
                "build_date",
                "compiler",
                "git_commit",
                "git_tree_state",
                "git_version",
                "go_version",
                "major",
                "minor",
                "platform",
            ),
            stability=BETA,
        )
        major, minor, _ = version.split(".")
        build[
            "",
            platform.python_implementation(),
            "",
            "",
            f"v{version}",
            f"python{platform.python_version()}",
            major,
            minor,
            f"{platform.system().lower()}/{platform.machine()}",
        ].set(1)

        self._features = make.gauges(
            "kubernetes_feature_enabled",
            "This metric records the data about the stage and enablement of a k8s feature.",
            ("name", "stage"),
            stability=BETA,
        )
        versions = make.gauges(
            "version_info",
            "Provides the compatibility version info of the component. The component label is the "
            "name of the component, usually kube, but is relevant for aggregated-apiservers.",
            ("component", "binary", "emulation", "min_compat"),
        )
        versions["kube", version, emulation, min_compatibility].set(1)

    def show_features(self, features: Iterable[tuple[str, str, bool]]) -> None:
        """Show feature gates: name, stage ("" for GA) and whether each is enabled."""
        for name, stage, enabled in features:
            self._features[name, stage].set(enabled)

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """Count a request; the code is "<error>" if there was no response."""
        self._requests[code, method, host].inc()
        self._seconds[method, host].observe(seconds)

    def sized(self, method: str, host: str, sent: int, received: int) -> None:
        """Count the bytes of a request body and of the response body."""
        self._sent[method, host].observe(sent)
        self._received[method, host].observe(received)

    def retried(self, method: str, host: str, code: str) -> None:
        """Count a retry of a request."""
        self._retries[code, method, host].inc()

    def throttled(self, method: str, host: str, seconds: float) -> None:
        """Record how long the rate limit delayed a request."""
        self._throttled[method, host].observe(seconds)

    def leading(self, name: str, leads: bool) -> None:
        """Show whether this process leads."""
        self._leader[name].set(1 if leads else 0)

    def slow_path(self, name: str) -> None:
        """Count a renewal that had to read the lease first."""
        self._slow[name].inc()


class ProcessLimits(Collector):
    """The process metrics that client_golang has and prometheus_client does not."""

    def __init__(self, netstat: Path = Path("/proc/self/net/netstat")) -> None:
        self._netstat = netstat

    def describe(self) -> Iterator[Metric]:
        """Return nothing: which metrics exist depends on the system."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Return the limit of virtual memory and, on Linux, the bytes received and sent."""
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        # Go reports "no limit" as the largest unsigned number.
        yield GaugeMetricFamily(
            "process_virtual_memory_max_bytes",
            "Maximum amount of virtual memory available in bytes.",
            value=float(limit if limit != resource.RLIM_INFINITY else 2**64 - 1),
        )
        octets = self._octets()
        for direction, verb, field in (
            ("receive", "received", "InOctets"),
            ("transmit", "sent", "OutOctets"),
        ):
            if field in octets:
                yield CounterMetricFamily(
                    f"process_network_{direction}_bytes",
                    f"Number of bytes {verb} by the process over the network.",
                    value=float(octets[field]),
                )

    def _octets(self) -> dict[str, int]:
        try:
            lines = [line.split() for line in self._netstat.read_text().splitlines()]
        except OSError:
            return {}
        names, values = ([*line] for line in lines if line and line[0] == "IpExt:")
        return dict(zip(names[1:], map(int, values[1:]), strict=True))

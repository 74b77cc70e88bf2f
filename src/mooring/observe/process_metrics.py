"""What every Kubernetes component shows of itself: its requests, its lease, its build, its process.

# kube-scheduler: component-base metrics/prometheus/{restclient,version,clientgo/leaderelection}
"""

from __future__ import annotations

import platform

from prometheus_client import CollectorRegistry, ProcessCollector

from mooring.observe.families import BETA, Maker

#: Seconds. # component-base: metrics/prometheus/restclient/metrics.go
_REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)

#: Bytes, 64 to 16 MB.
_SIZES = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)


class ProcessMetrics:
    """Count the client's requests and show the lease; `client.RequestMetrics`, `LeaderMetrics`."""

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        make = Maker(registry, lambda gate: True)
        ProcessCollector(registry=registry)
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

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """Count a request that was answered, or was not ("<error>")."""
        self._requests[code, method, host].inc()
        self._seconds[method, host].observe(seconds)

    def sized(self, method: str, host: str, sent: int, received: int) -> None:
        """Count the bytes of a request's body and of its answer's."""
        self._sent[method, host].observe(sent)
        self._received[method, host].observe(received)

    def retried(self, method: str, host: str, code: str) -> None:
        """Count a request that is sent again."""
        self._retries[code, method, host].inc()

    def throttled(self, method: str, host: str, seconds: float) -> None:
        """Note how long the rate limit held a request back."""
        self._throttled[method, host].observe(seconds)

    def leading(self, name: str, leads: bool) -> None:
        """Show whether this process leads."""
        self._leader[name].set(1 if leads else 0)

    def slow_path(self, name: str) -> None:
        """Count a renewal that had to read the lease first."""
        self._slow[name].inc()

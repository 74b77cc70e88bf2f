"""The metrics of an extender: its requests."""

from __future__ import annotations

from mooring.observe.families import ComponentMetrics, MetricsRegistry, exponential_buckets

#: Seconds, from 0.1 ms.
_SECONDS = exponential_buckets(0.0001, 2, 16)


class ExtenderMetrics:
    """How many requests kube-scheduler sent, and how long the answers took."""

    def __init__(self, registry: MetricsRegistry) -> None:
        make = ComponentMetrics(registry, lambda gate: True)
        #: verb, code
        self._requests = make.counters(
            "mooring_extender_requests_total",
            "Number of requests to the extender, by verb and HTTP status.",
            ("verb", "code"),
        )
        #: verb
        self._seconds = make.histograms(
            "mooring_extender_request_duration_seconds",
            "Seconds from the head of a request to its response, by verb.",
            ("verb",),
            _SECONDS,
        )

    def answered(self, verb: str, code: int, seconds: float) -> None:
        """Count a request."""
        self._requests[verb, str(code)].inc()
        self._seconds[verb].observe(seconds)

"""The metrics of an extender."""

from __future__ import annotations

from mooring.observe.exposition import expose
from mooring.observe.extender_metrics import ExtenderMetrics
from mooring.observe.families import MetricsRegistry


def test_requests_are_counted_by_verb_and_code() -> None:
    registry = MetricsRegistry()
    metrics = ExtenderMetrics(registry)
    metrics.answered("filter", 200, 0.003)
    metrics.answered("filter", 200, 0.3)
    metrics.answered("filter", 400, 0.0)
    text = expose(registry.collect()).decode()
    assert 'mooring_extender_requests_total{code="200",verb="filter"} 2\n' in text
    assert 'mooring_extender_requests_total{code="400",verb="filter"} 1\n' in text
    seconds = "mooring_extender_request_duration_seconds"
    assert f'{seconds}_bucket{{verb="filter",le="0.0032"}} 2\n' in text
    assert f'{seconds}_count{{verb="filter"}} 3\n' in text

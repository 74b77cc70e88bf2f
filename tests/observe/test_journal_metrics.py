"""The metrics of a journal."""

from __future__ import annotations

from mooring.observe.exposition import expose
from mooring.observe.families import MetricsRegistry
from mooring.observe.journal_metrics import JournalMetrics


def test_activity_and_bytes_are_shown() -> None:
    registry = MetricsRegistry()
    metrics = JournalMetrics(registry)
    metrics.active.set(1)
    metrics.written.inc(500)
    lines = expose(registry.collect()).decode().splitlines()
    assert "mooring_journal_active 1" in lines
    assert "mooring_journal_written_bytes_total 500" in lines

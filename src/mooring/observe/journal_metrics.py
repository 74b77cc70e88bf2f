"""The metrics of a journal: whether it is written, and how much."""

from __future__ import annotations

from mooring.observe.families import ComponentMetrics, MetricsRegistry


class JournalMetrics:
    """Whether the journal is written, and how many bytes it has taken. They exist with a journal
    only."""

    def __init__(self, registry: MetricsRegistry) -> None:
        make = ComponentMetrics(registry, lambda gate: True)
        self.active = make.gauge(
            "mooring_journal_active",
            "Whether the journal is written: 1, or 0 after an error such as a full disk.",
        )
        self.written = make.counter(
            "mooring_journal_written_bytes_total", "Number of bytes written to the journal."
        )

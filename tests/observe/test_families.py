"""Metrics with labels."""

from __future__ import annotations

import pytest

from mooring.observe.families import (
    BETA,
    ComponentMetrics,
    Family,
    MetricsRegistry,
    exponential_buckets,
)
from mooring.observe.series import CounterSeries


def test_a_series_is_made_once() -> None:
    family = Family("counter", "c_total", "help", ["a", "b"], CounterSeries)
    series = family["x", "y"]
    series.inc(2)
    assert family["x", "y"] is series
    (shown,) = family.collect()
    assert shown.name == "c"
    assert shown.samples == [("c_total", {"a": "x", "b": "y"}, 2)]


def test_one_label_needs_no_tuple() -> None:
    family = Family("counter", "c_total", "help", ["a"], CounterSeries)
    family["x"].inc()
    (shown,) = family.collect()
    assert shown.samples == [("c_total", {"a": "x"}, 1)]


def test_a_wrong_number_of_labels_is_an_error() -> None:
    with pytest.raises(ValueError, match="label"):
        Family("counter", "c_total", "help", ["a", "b"], CounterSeries)["x"]


def test_buckets_have_the_digits_of_go() -> None:
    assert exponential_buckets(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)
    assert exponential_buckets(0.00001, 1.5, 3) == (
        1e-05,
        1.5000000000000002e-05,
        2.2500000000000005e-05,
    )


def test_the_buckets_of_a_histogram_add_up() -> None:
    registry = MetricsRegistry()
    histogram = ComponentMetrics(registry, lambda gate: True).histogram("h", "help", (1, 2))
    for value in (0.5, 1, 2, 3):
        histogram.observe(value)
    (shown,) = registry.collect()
    assert shown.samples == [
        ("h_bucket", {"le": "1.0"}, 2),
        ("h_bucket", {"le": "2.0"}, 3),
        ("h_bucket", {"le": "+Inf"}, 4),
        ("h_sum", {}, 6.5),
        ("h_count", {}, 4),
    ]


def test_the_help_begins_with_the_stability() -> None:
    registry = MetricsRegistry()
    make = ComponentMetrics(registry, lambda gate: True)
    make.counter("c_total", "Things.", stability=BETA)
    make.gauge("g", "Other things.")
    assert {family.documentation for family in registry.collect()} == {
        "[BETA] Things.",
        "[ALPHA] Other things.",
    }
    assert make.made == {"BETA": 1, "ALPHA": 1}


def test_a_metric_whose_gate_is_off_counts_unseen() -> None:
    registry = MetricsRegistry()
    make = ComponentMetrics(registry, lambda gate: gate == "On")
    make.counter("seen", "help", gate="On").inc()
    make.counter("unseen", "help", gate="Off").inc()
    make.histogram("unseen_seconds", "help", (1, 2), gate="Off").observe(1)
    assert [family.name for family in registry.collect()] == ["seen"]

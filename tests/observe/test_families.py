"""Metrics with labels, found once."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter

from mooring.observe.families import BETA, Family, Maker, exponential_buckets


def test_a_child_is_looked_up_once() -> None:
    counter = Counter("c", "help", ["a", "b"], registry=None)
    family = Family(counter)
    child = family["x", "y"]
    child.inc(2)
    assert family["x", "y"] is child
    assert counter.labels("x", "y")._value.get() == 2


def test_one_label_needs_no_tuple() -> None:
    counter = Counter("c", "help", ["a"], registry=None)
    Family(counter)["x"].inc()
    assert counter.labels("x")._value.get() == 1


def test_a_wrong_number_of_labels_is_an_error() -> None:
    with pytest.raises(ValueError, match="label"):
        Family(Counter("c", "help", ["a", "b"], registry=None))["x"]


def test_buckets_have_the_digits_of_go() -> None:
    assert exponential_buckets(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)
    assert exponential_buckets(0.00001, 1.5, 3) == (
        1e-05,
        1.5000000000000002e-05,
        2.2500000000000005e-05,
    )


def test_the_help_begins_with_the_stability() -> None:
    registry = CollectorRegistry()
    make = Maker(registry, lambda gate: True)
    make.counter("c", "Things.", stability=BETA)
    make.gauge("g", "Other things.")
    assert {family.documentation for family in registry.collect()} == {
        "[BETA] Things.",
        "[ALPHA] Other things.",
    }
    assert make.made == {"BETA": 1, "ALPHA": 1}


def test_a_metric_whose_gate_is_off_counts_unseen() -> None:
    registry = CollectorRegistry()
    make = Maker(registry, lambda gate: gate == "On")
    make.counter("seen", "help", gate="On").inc()
    make.counter("unseen", "help", gate="Off").inc()
    make.histogram("unseen_seconds", "help", (1, 2), gate="Off").observe(1)
    assert [family.name for family in registry.collect()] == ["seen"]

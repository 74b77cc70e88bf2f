"""Label values that are not on the allow list are merged into one."""

from __future__ import annotations

import pytest

from mooring.observe.allow_lists import constrain, parse_allow_lists
from mooring.observe.exposition import expose
from mooring.observe.families import ComponentMetrics, MetricsRegistry


def lines(mapping: dict[str, str]) -> list[str]:
    """Return the samples of two metrics under some allow lists, without help and types."""
    registry = MetricsRegistry()
    make = ComponentMetrics(registry, lambda gate: True)
    requests = make.counters("requests_total", "", ("code", "verb"))
    for code, verb, count in (("200", "GET", 5), ("404", "GET", 2), ("500", "GET", 1)):
        requests[code, verb].inc(count)
    seconds = make.histograms("seconds", "", ("verb",), (1.0,))
    seconds["GET"].observe(0.5)
    seconds["PUT"].observe(0.25)
    seconds["POST"].observe(2.0)
    text = expose(constrain(registry.collect(), parse_allow_lists(mapping))).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_counters_of_other_values_are_added_up() -> None:
    assert [line for line in lines({"requests_total,code": "200"}) if "requests" in line] == [
        'requests_total{code="200",verb="GET"} 5',
        'requests_total{code="unexpected",verb="GET"} 3',
    ]


def test_histograms_of_other_values_are_added_up() -> None:
    assert [line for line in lines({"seconds,verb": "GET,DELETE"}) if "unexpected" in line] == [
        'seconds_bucket{verb="unexpected",le="1"} 1',
        'seconds_bucket{verb="unexpected",le="+Inf"} 2',
        'seconds_sum{verb="unexpected"} 2.25',
        'seconds_count{verb="unexpected"} 2',
    ]


@pytest.mark.parametrize(
    "mapping",
    [{}, {"requests_total,host": "a"}, {"others_total,code": "200"}],
    ids=["no list", "a label that the metric does not have", "a metric that there is not"],
)
def test_nothing_else_changes(mapping: dict[str, str]) -> None:
    assert lines(mapping) == lines({})


def test_an_empty_list_allows_no_value_but_the_empty_one() -> None:
    assert 'requests_total{code="unexpected",verb="GET"} 8' in lines({"requests_total,code": ""})


def test_a_key_without_a_label_is_refused() -> None:
    with pytest.raises(ValueError, match="expected metricName,labelName, got 'requests_total'"):
        parse_allow_lists({"requests_total": "200"})

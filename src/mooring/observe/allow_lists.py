"""Allow lists: the label values that a metric shows; all other values are merged into one.

# component-base: metrics/options.go (MetricLabelAllowList)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mooring.observe.families import MetricFamily, MetricSample

#: The label value that replaces every value not on the list.
UNEXPECTED = "unexpected"

#: Values by metric and label.
AllowLists = Mapping[str, Mapping[str, frozenset[str]]]


def parse_allow_lists(mapping: Mapping[str, str]) -> AllowLists:
    """Parse `{"metric,label": "value,value"}`.

    >>> parse_allow_lists({"m_total,code": "200"})
    {'m_total': {'code': frozenset({'200'})}}
    """
    lists: dict[str, dict[str, frozenset[str]]] = {}
    for key, values in mapping.items():
        metric, comma, label = key.partition(",")
        if not comma:
            raise ValueError(f"expected metricName,labelName, got {key!r}")
        lists.setdefault(metric, {})[label] = frozenset(values.split(","))
    return lists


def constrain(families: Iterable[Any], lists: AllowLists) -> Iterator[Any]:
    """Replace values that are not allowed; series that become equal are added up."""
    for family in families:
        allowed = lists.get(family.name) or lists.get(f"{family.name}_total")
        yield family if allowed is None else _constrained(family, allowed)


def _constrained(family: Any, allowed: Mapping[str, frozenset[str]]) -> MetricFamily:
    merged: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for sample in family.samples:
        labels = tuple(
            (label, value if value in allowed.get(label, (value,)) else UNEXPECTED)
            for label, value in sample.labels.items()
        )
        key = sample.name, labels
        merged[key] = merged.get(key, 0.0) + sample.value
    samples = [MetricSample(name, dict(labels), value) for (name, labels), value in merged.items()]
    return MetricFamily(family.name, family.documentation, family.type, samples)

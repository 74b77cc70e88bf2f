"""/metrics after the same scenario: the same families with the same labels and buckets."""

from __future__ import annotations

import re

import msgspec
import pytest

from tests.reference.differences import idle, unexpected
from tests.reference.scenario import Observed

SERIES = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
FEATURE = "kubernetes_feature_enabled"


class Shown(msgspec.Struct):
    """A metric family as in /metrics, without its values."""

    help: str
    type: str = ""
    labels: set[str] = msgspec.field(default_factory=set)
    buckets: list[str] = msgspec.field(default_factory=list)


def families(text: str) -> dict[str, Shown]:
    found: dict[str, Shown] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, help = line.removeprefix("# HELP ").split(" ", 1)
            found[name] = Shown(help)
        elif line.startswith("# TYPE "):
            found[name].type = line.split()[-1]
        elif match := SERIES.match(line):
            for label, value in LABEL.findall(match["labels"] or ""):
                if label != "le":
                    found[name].labels.add(label)
                elif value not in found[name].buckets:
                    found[name].buckets.append(value)
    return found


@pytest.fixture(scope="module")
def both(observed: tuple[Observed, Observed]) -> tuple[dict[str, Shown], dict[str, Shown]]:
    return families(observed[0].metrics), families(observed[1].metrics)


def test_the_families_are_the_same(both: tuple[dict[str, Shown], dict[str, Shown]]) -> None:
    reference, ours = both
    differing = reference.keys() ^ ours.keys()
    assert unexpected("metric", differing) == []
    assert idle("metric", differing) == []


def test_families_have_the_same_help_type_labels_and_buckets(
    both: tuple[dict[str, Shown], dict[str, Shown]],
) -> None:
    reference, ours = both
    shared = reference.keys() & ours.keys()
    assert len([name for name in shared if name.startswith("scheduler_")]) > 20
    for name in sorted(shared):
        assert ours[name] == reference[name], name


def values(text: str, name: str, *labels: str) -> set[tuple[str, ...]]:
    """Return the combinations of label values that a metric has."""
    found = set()
    for line in text.splitlines():
        match = SERIES.match(line)
        if match and match["name"] == name:
            given = dict(LABEL.findall(match["labels"]))
            found.add(tuple(given[label] for label in labels))
    return found


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("scheduler_plugin_evaluation_total", ["plugin", "extension_point", "profile"]),
        ("scheduler_framework_extension_point_duration_seconds_count", ["extension_point"]),
        ("scheduler_schedule_attempts_total", ["result", "profile"]),
        ("scheduler_pending_pods", ["queue"]),
        ("scheduler_cache_size", ["type"]),
        ("scheduler_event_handling_duration_seconds_count", ["event"]),
    ],
)
def test_the_same_things_are_counted(
    observed: tuple[Observed, Observed], name: str, labels: list[str]
) -> None:
    reference, ours = (values(side.metrics, name, *labels) for side in observed)
    assert reference
    assert ours == reference


def test_the_feature_gates_are_shown_alike(observed: tuple[Observed, Observed]) -> None:
    shown = [
        {line for line in side.metrics.splitlines() if line.startswith(FEATURE)}
        for side in observed
    ]
    assert len(shown[0]) > 100
    assert shown[1] == shown[0]

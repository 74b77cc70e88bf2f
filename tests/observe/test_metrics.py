"""The scheduler's metrics are kube-scheduler's."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mooring.observe import metrics as module
from mooring.observe.families import exponential_buckets
from mooring.observe.metrics import Metrics
from mooring.observe.series import Histogram

SOURCES = (
    "k8s.io/kubernetes@v1.{}/pkg/scheduler/metrics/metrics.go",
    "k8s.io/kubernetes@v1.{}/pkg/scheduler/framework/plugins/volumebinding/metrics/metrics.go",
    "k8s.io/dynamic-resource-allocation@v0.{}/resourceclaim/metrics/metrics.go",
)


def in_the_module(release: str) -> dict[str, tuple[Any, ...]]:
    """Parse name -> (kind, stability and help, labels, buckets) from the reference."""
    if shutil.which("go") is None:
        pytest.skip("needs Go and its module cache")
    cache = Path(subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip())
    sources = [source.format(release) for source in SOURCES]
    if not (cache / sources[0]).exists():
        pytest.skip(f"needs the module file {sources[0]}: go mod download")
    found = {}
    for source in sources:
        if not (cache / source).exists():
            continue
        text = (cache / source).read_text()
        subsystem = "scheduler_volume" if "volumebinding" in source else "scheduler"
        subsystem = "dynamic_resource_allocation" if "resourceclaim" in source else subsystem
        for kind, vec, options, labels in re.findall(
            r"metrics\.New(Counter|Gauge|Histogram)(Vec)?\(\s*&metrics\.\w+Opts\{(.*?)\n\t\t\t?\},?"
            r"(?:\s*\[\]string\{(.*?)\})?",
            text,
            re.DOTALL,
        ):
            field = dict(re.findall(r"^\s*(\w+):\s+(.*),", options, re.MULTILINE))
            buckets = field.get("Buckets", "").partition(",  //")[0]
            numbers = re.findall(r"ExponentialBuckets\(([\d.]+), ([\d.]+), (\d+)\)", buckets)
            found[f"{subsystem}_{eval(field['Name'])}"] = (
                kind,
                f"[{field['StabilityLevel'].removeprefix('metrics.')}] {eval(field['Help'])}",
                tuple(re.findall(r'"(\w+)"', labels)) if vec else (),
                exponential_buckets(float(numbers[0][0]), float(numbers[0][1]), int(numbers[0][2]))
                if numbers
                else (),
            )
    return found


def of_mooring(*, as_in_1_36: bool) -> dict[str, tuple[Any, ...]]:
    found = {}
    for family in Metrics(as_in_1_36=as_in_1_36).maker.families:
        series = family[("",) * len(family.labels)]
        bounds = series.bounds if isinstance(series, Histogram) else ()
        found[family.name] = (family.kind.capitalize(), family.help, family.labels, bounds)
    return found


@pytest.mark.parametrize(
    ("release", "count", "hidden"),
    [("36.4", 37, []), ("37.1", 51, ["scheduler_preemption_goroutines_duration_seconds"])],
)
def test_every_metric_of_the_reference_is_there_and_nothing_else(
    release: str, count: int, hidden: list[str]
) -> None:
    reference, ours = in_the_module(release), of_mooring(as_in_1_36=release == "36.4")
    assert len(reference) == count
    for name in hidden:
        del reference[name]
    assert ours.keys() == reference.keys()
    for name, expected in reference.items():
        assert ours[name] == expected, name


def test_an_attempt_is_counted_and_timed() -> None:
    metrics = Metrics()
    metrics.observe_attempt(module.SCHEDULED, "p", 0.5)
    labels = {"result": "scheduled", "profile": "p"}
    value = metrics.registry.get_sample_value
    assert value("scheduler_schedule_attempts_total", labels) == 1
    assert value("scheduler_scheduling_attempt_duration_seconds_sum", labels) == 0.5


def test_two_schedulers_do_not_share_their_metrics() -> None:
    one, other = Metrics(), Metrics()
    one.preemption_attempts.inc()
    assert b"scheduler_preemption_attempts_total 1\n" in one.expose()
    assert b"scheduler_preemption_attempts_total 0\n" in other.expose()


@pytest.mark.parametrize(
    ("gate", "name"),
    [
        pytest.param("SchedulerAsyncAPICalls", "async_api_calls", id="off by default"),
        pytest.param("SchedulerAsyncPreemption", "preemption_goroutines", id="on by default"),
    ],
)
def test_metrics_of_a_gate_that_is_off_are_not_shown(gate: str, name: str) -> None:
    for enabled in (True, False):
        metrics = Metrics(lambda asked, on=enabled: on if asked == gate else True)
        family = getattr(metrics, name)
        family[("a", "b")[: len(family.labels)]].inc()
        assert (family.name.encode() in metrics.expose()) is enabled


def test_what_is_exposed_can_be_read_back() -> None:
    metrics = Metrics()
    metrics.queue_incoming_pods["active", 'with "quotes"\nand\\more'].inc(3)
    metrics.extension_point_duration["Filter", "Success", "p"].observe(0.0002)
    text = metrics.expose().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    (sample,) = families["scheduler_queue_incoming_pods"].samples
    assert sample.labels == {"queue": "active", "event": 'with "quotes"\nand\\more'}
    assert sample.value == 3
    assert "_created" not in text
    # A family with labels that has counted nothing is missing; one without labels is always there.
    assert "scheduler_schedule_attempts" not in families
    assert "scheduler_preemption_victims" in families
    assert list(families) == sorted(families)

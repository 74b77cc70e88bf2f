"""A load source holds the newest measurements, and says once when there are none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring import ConfigError
from mooring.contrib.load import LoadArgs, LoadSource
from mooring.contrib.load.load_args import MetricProvider
from mooring.contrib.load.load_provider import MAX_ANSWER
from mooring.contrib.load.load_source import MAX_AGE, load_provider
from mooring.contrib.load.load_watcher import WATCHER_PERIOD, LoadWatcher
from mooring.contrib.load.metrics_server import MetricsServer
from mooring.contrib.load.prometheus import Prometheus
from mooring.errors import NoAnswerError
from mooring.framework.handle import HttpAnswer
from mooring.testing import make_node
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.load.sources import Answers, handle_of, memory_scheduler

ADDRESS = "http://watcher.example:2020"
GOOD = HttpAnswer(200, b'{"data": {"NodeMetricsMap": {"a": {"metrics": []}}}}')


def source_of(http: Answers, args: LoadArgs | None = None) -> tuple[LoadSource, MemoryScheduler]:
    scheduler = memory_scheduler(http=http)
    source = LoadSource(
        args or LoadArgs(watcher_address=ADDRESS), handle_of(scheduler), "TargetLoadPacking"
    )
    source.start()
    return source, scheduler


def test_measurements_are_fetched_at_the_start_and_every_30_seconds() -> None:
    watcher = Answers(GOOD)
    source, scheduler = source_of(watcher)
    assert source.newest is None
    drive(scheduler.settle())
    assert source.newest is not None
    assert watcher.asked == [(f"{ADDRESS}/watcher", {"timeout": 10.0, "max_bytes": MAX_ANSWER})]
    scheduler.clock.advance(WATCHER_PERIOD - 1)
    drive(scheduler.settle())
    assert len(watcher.asked) == 1
    scheduler.clock.advance(1)
    drive(scheduler.settle())
    assert len(watcher.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(HttpAnswer(503, b"busy"), id="a refusal"),
        pytest.param(HttpAnswer(200, b"<html>"), id="garbage"),
        pytest.param(NoAnswerError("refused", sent=False), id="no answer"),
        pytest.param(ConfigError("server must be a URL"), id="an address that is none"),
    ],
)
def test_failures_are_told_once_and_so_is_their_end(
    answer: HttpAnswer | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="mooring.contrib.load")
    watcher = Answers(GOOD)
    source, scheduler = source_of(watcher)
    drive(source.fetch())
    watcher.answer = answer
    for _ in range(3):
        drive(source.fetch())
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert source.newest is not None, "the last measurements count for a while"
    watcher.answer = GOOD
    drive(source.fetch())
    drive(source.fetch())
    assert [record.message for record in caplog.records][1:] == [
        "The load of nodes is measured again"
    ]
    assert scheduler is not None


def test_old_measurements_count_as_none() -> None:
    source, scheduler = source_of(Answers(GOOD))
    drive(source.fetch())
    scheduler.clock.advance(MAX_AGE)
    assert source.newest is not None
    scheduler.clock.advance(1)
    assert source.newest is None
    assert source.columns(scheduler.cache.nodes, lambda found, nodes: 1) is None


def test_columns_are_made_again_when_measurements_or_nodes_change() -> None:
    source, scheduler = source_of(Answers(GOOD))
    made: list[int] = []

    def work_out(found: Any, nodes: Any) -> int:
        made.append(len(nodes))
        return len(made)

    def columns() -> int | None:
        return source.columns(scheduler.cache.nodes, work_out)

    drive(source.fetch())
    assert [columns(), columns()] == [1, 1]
    assert source.remembered("key", lambda: "one") == "one"
    scheduler.cluster.add(make_node("b"))
    assert columns() == 2
    assert source.remembered("key", lambda: "two") == "two"
    drive(source.fetch())
    assert columns() == 3
    assert made == [1, 2, 2]


@pytest.mark.parametrize(
    ("args", "kind", "period"),
    [
        (LoadArgs(), MetricsServer, 60.0),
        (LoadArgs(watcher_address=ADDRESS), LoadWatcher, 30.0),
        (LoadArgs(metric_provider=MetricProvider(type="Prometheus")), Prometheus, 60.0),
        (
            LoadArgs(MetricProvider(type="Prometheus"), watcher_address=ADDRESS),
            LoadWatcher,
            30.0,
        ),
    ],
    ids=["by default", "load watcher", "Prometheus", "a load watcher goes first"],
)
def test_arguments_name_a_source(args: LoadArgs, kind: type, period: float) -> None:
    found = load_provider(args, handle_of(memory_scheduler()))
    assert isinstance(found, kind)
    assert found.period == period


def test_values_that_are_left_out_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    def answer(value: str) -> HttpAnswer:
        result = [
            {"metric": {"instance": name}, "value": [0, share]}
            for name, share in (("a", "0.5"), ("b", value))
        ]
        data = {"resultType": "vector", "result": result}
        return HttpAnswer(200, msgspec.json.encode({"status": "success", "data": data}))

    http = Answers(answer("NaN"))
    source, _ = source_of(http, LoadArgs(metric_provider=MetricProvider(type="Prometheus")))
    for value in ("NaN", "NaN", "1", "NaN"):
        http.answer = answer(value)
        drive(source.fetch())
    assert [record.message for record in caplog.records] == 2 * [
        "Some measurements count as none; this is one"
    ]
    assert "node b is NaN" in str(caplog.records[0].__dict__["kv"]["err"])
    assert source.newest is not None


def test_the_age_of_measurements_is_a_metric() -> None:
    source, scheduler = source_of(Answers(GOOD))
    line = b'mooring_load_age_seconds{plugin="TargetLoadPacking",profile="default-scheduler"} '
    assert line + b"+Inf\n" in scheduler.metrics.expose()
    drive(source.fetch())
    scheduler.clock.advance(45)
    assert line + b"45\n" in scheduler.metrics.expose()
    other = LoadSource(LoadArgs(), handle_of(scheduler), "Peaks")
    other.start()
    text = scheduler.metrics.expose()
    assert text.count(b"# TYPE mooring_load_age_seconds gauge\n") == 1
    assert text.count(b"mooring_load_age_seconds{") == 2

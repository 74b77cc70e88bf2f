"""A load source holds the newest measurements, and says once when there are none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring import ConfigError
from mooring.contrib.load import LoadArgs, LoadSource
from mooring.contrib.load.load_source import MAX_AGE, MAX_ANSWER, PERIOD, MetricProvider
from mooring.errors import NoAnswerError
from mooring.framework.handle import HttpAnswer
from mooring.offline.driving import drive
from mooring.offline.memory_scheduler import MemoryScheduler
from mooring.testing import make_node

ADDRESS = "http://watcher.example:2020"
GOOD = HttpAnswer(200, b'{"data": {"NodeMetricsMap": {"a": {"metrics": []}}}}')


class Watcher:
    """A load watcher that answers as it is told."""

    def __init__(self) -> None:
        self.answer: HttpAnswer | Exception = GOOD
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        self.asked.append((url, options))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def source_of(watcher: Watcher, args: LoadArgs | None = None) -> tuple[LoadSource, MemoryScheduler]:
    scheduler = MemoryScheduler([make_node("a")], http=watcher)
    handle = next(iter(scheduler.profiles.values())).handle
    source = LoadSource(args or LoadArgs(watcher_address=ADDRESS), handle)
    source.start()
    return source, scheduler


def test_measurements_are_fetched_at_the_start_and_every_30_seconds() -> None:
    watcher = Watcher()
    source, scheduler = source_of(watcher)
    assert source.newest is None
    drive(scheduler.run_periodic())
    assert source.newest is not None
    assert watcher.asked == [(f"{ADDRESS}/watcher", {"timeout": 10.0, "max_bytes": MAX_ANSWER})]
    scheduler.clock.advance(PERIOD - 1)
    drive(scheduler.run_periodic())
    assert len(watcher.asked) == 1
    scheduler.clock.advance(1)
    drive(scheduler.run_periodic())
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
    watcher = Watcher()
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
    source, scheduler = source_of(Watcher())
    drive(source.fetch())
    scheduler.clock.advance(MAX_AGE)
    assert source.newest is not None
    scheduler.clock.advance(1)
    assert source.newest is None
    assert source.columns(scheduler.cluster.cache.nodes, lambda found, nodes: 1) is None


def test_columns_are_made_again_when_measurements_or_nodes_change() -> None:
    source, scheduler = source_of(Watcher())
    made: list[int] = []

    def work_out(found: Any, nodes: Any) -> int:
        made.append(len(nodes))
        return len(made)

    def columns() -> int | None:
        return source.columns(scheduler.cluster.cache.nodes, work_out)

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
    ("raw", "is_good"),
    [
        ({}, True),
        ({"watcherAddress": ADDRESS}, True),
        ({"metricProvider": {"type": "Prometheus", "address": "http://p"}}, True),
        ({"watcherAddress": ""}, False),
        ({"watcherAddress": "", "metricProvider": {"type": "SignalFx"}}, True),
    ],
    ids=["default", "watcher", "provider", "empty address", "empty address with a provider"],
)
def test_a_source_must_be_given(raw: dict[str, Any], is_good: bool) -> None:
    args = msgspec.convert(raw, LoadArgs)
    if is_good:
        args.check()
    else:
        with pytest.raises(ValueError, match=r"metricProvider\.type must be one of"):
            args.check()


def test_a_provider_that_cannot_be_read_is_told(caplog: pytest.LogCaptureFixture) -> None:
    args = LoadArgs(metric_provider=MetricProvider(type="SignalFx"))
    source, _ = source_of(Watcher(), args)
    drive(source.fetch())
    (record,) = caplog.records
    assert "SignalFx" in str(record.__dict__["kv"])

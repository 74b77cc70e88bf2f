"""A load watcher is asked over HTTP."""

from __future__ import annotations

import pytest
from aiohttp import web

from mooring.client.web_client import WebClient
from mooring.contrib.load.load_provider import MAX_ANSWER
from mooring.contrib.load.load_watcher import LoadWatcher
from mooring.errors import ApiError, MooringError, ObjectError
from mooring.framework.handle import HttpAnswer
from mooring.observe.clock import SystemClock
from mooring.virtual.driving import drive
from tests.contrib.load.sources import Answers, handle_of, memory_scheduler, serving

ADDRESS = "http://watcher.example:2020"
#: What load-watcher v0.2.4 writes for one node.
BODY = (
    b'{"timestamp":1556987522,"window":{"duration":"15m","start":1556984522,"end":1556985422},'
    b'"source":"Prometheus","data":{"NodeMetricsMap":{"a":{"metrics":[{"name":"host.cpu",'
    b'"type":"CPU","operator":"AVG","rollup":"15m","value":20}],"tags":{},"metadata":{}}}}}'
)


def watcher(answer: HttpAnswer | Exception) -> tuple[LoadWatcher, Answers]:
    http = Answers(answer)
    return LoadWatcher(ADDRESS, handle_of(memory_scheduler(http=http))), http


def test_the_answer_of_a_load_watcher() -> None:
    source, http = watcher(HttpAnswer(200, BODY))
    answer = drive(source.fetch())
    (metric,) = answer.measurements.by_node["a"].metrics
    assert (metric.type, metric.operator, metric.value) == ("CPU", "AVG", 20.0)
    assert answer.measurements.window.end == 1556985422
    assert answer.left_out == ""
    assert http.asked == [(f"{ADDRESS}/watcher", {"timeout": 10.0, "max_bytes": MAX_ANSWER})]
    assert (source.name, source.period) == (ADDRESS, 30.0)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (HttpAnswer(500, b""), ApiError, "received status code 500 from watcher"),
        (HttpAnswer(200, b"<html>"), ObjectError, "not an answer of a load watcher"),
    ],
    ids=["a refusal", "garbage"],
)
def test_answers_that_are_refused(
    answer: HttpAnswer, error: type[MooringError], message: str
) -> None:
    source, _ = watcher(answer)
    with pytest.raises(error, match=message):
        drive(source.fetch())


async def test_a_load_watcher_over_the_network() -> None:
    bodies = [BODY, b'{"data": "' + b"x" * 10_000_000 + b'"}']

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=bodies.pop(0), content_type="application/json")

    http = WebClient(SystemClock())
    async with serving("/watcher", answer) as address:
        source = LoadWatcher(f"http://{address}", handle_of(memory_scheduler(http=http)))
        found = (await source.fetch()).measurements
        assert [one.value for one in found.by_node["a"].metrics] == [20.0]
        with pytest.raises(ApiError, match="larger than 8 MiB"):
            await source.fetch()
        await http.close()

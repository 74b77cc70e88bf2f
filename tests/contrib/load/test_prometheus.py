"""Prometheus: four queries, what their answers mean, and a real server."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
import yaml
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from mooring.client.web_client import WebClient
from mooring.contrib.load.load_args import MetricProvider
from mooring.contrib.load.load_provider import MAX_ANSWER, LoadAnswer
from mooring.contrib.load.prometheus import (
    CLUSTER_AUTHORITY,
    CLUSTER_AUTHORITY_FILE,
    NO_SERIES,
    WITHHELD,
    Prometheus,
    read_samples,
)
from mooring.errors import ApiError, MooringError, ObjectError
from mooring.framework.handle import HttpAnswer
from mooring.observe.clock import SystemClock
from mooring.virtual.driving import drive
from tests.contrib.load.sources import Answers, handle_of, memory_scheduler, serving
from tests.support.certificates import Authority
from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import PATIENCE

CPU, MEMORY = "instance:node_cpu:ratio", "instance:node_memory_utilisation:ratio"


def vector(**values: str) -> bytes:
    """Return the answer to a query: the value of each node."""
    result = [
        {"metric": {"instance": name}, "value": [1.5, value]} for name, value in values.items()
    ]
    data = {"resultType": "vector", "result": result}
    return msgspec.json.encode({"status": "success", "data": data})


class Queries:
    """An HTTP client that answers each query of PromQL."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self.answers = answers
        self.options: list[dict[str, Any]] = []

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        self.options.append(options)
        parts = urlsplit(url)
        assert (parts.netloc, parts.path) == ("p.example:9090", "/prefix/api/v1/query")
        (query,) = parse_qs(parts.query)["query"]
        return HttpAnswer(200, self.answers[query])


PROVIDER = MetricProvider(type="Prometheus", address="https://p.example:9090/prefix/", token="t")


def source_of(http: Any, provider: MetricProvider = PROVIDER) -> Prometheus:
    return Prometheus(provider, handle_of(memory_scheduler(http=http)))


def loads(answer: LoadAnswer) -> dict[str, list[tuple[str, str, float]]]:
    return {
        name: [(metric.type, metric.operator, metric.value) for metric in one.metrics]
        for name, one in answer.measurements.by_node.items()
    }


def answers(cpu: dict[str, str]) -> dict[str, bytes]:
    return {
        f"avg_over_time({CPU}[15m])": vector(**cpu),
        f"stddev_over_time({CPU}[15m])": vector(a="0.0625"),
        f"avg_over_time({MEMORY}[15m])": vector(a="0.25"),
        f"stddev_over_time({MEMORY}[15m])": vector(),
    }


def test_shares_become_percent() -> None:
    http = Queries(answers({"a": "0.5", "b": "1"}))
    answer = drive(source_of(http).fetch())
    assert loads(answer) == {
        "a": [("CPU", "AVG", 50.0), ("Memory", "AVG", 25.0), ("CPU", "STD", 6.25)],
        "b": [("CPU", "AVG", 100.0)],
    }
    assert answer.left_out == ""
    assert answer.measurements.source == "Prometheus"
    assert http.options == 4 * [
        {
            "token": "t",
            "ca_file": "",
            "insecure": True,
            "timeout": 10.0,
            "max_bytes": MAX_ANSWER,
        }
    ]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "1e308", "0x", ""])
def test_values_that_are_no_numbers_count_as_none(value: str) -> None:
    answer = drive(source_of(Queries(answers({"a": "0.5", "b": value}))).fetch())
    assert list(loads(answer)) == ["a"]
    assert answer.left_out == f"avg_over_time of {CPU} of node b is {value}"


@pytest.mark.parametrize(
    ("provider", "ca_file", "insecure"),
    [
        ({}, "", True),
        ({"insecureSkipVerify": False}, "", False),
        ({"caFile": "ca.crt"}, "ca.crt", False),
    ],
    ids=["not verified by default", "verified", "with authorities"],
)
def test_certificates(provider: dict[str, Any], ca_file: str, insecure: bool) -> None:
    http = Answers(HttpAnswer(200, vector(a="1")))
    drive(source_of(http, msgspec.convert(provider, MetricProvider)).fetch())
    address, options = http.asked[0]
    assert address.startswith("http://prometheus-k8s:9090/api/v1/query?query=avg_over_time%28")
    assert (options["ca_file"], options["insecure"]) == (ca_file, insecure)


def test_the_authorities_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CLUSTER_AUTHORITY, "")
    http = Answers(HttpAnswer(200, vector(a="1")))
    drive(source_of(http).fetch())
    options = http.asked[0][1]
    assert (options["ca_file"], options["insecure"]) == (CLUSTER_AUTHORITY_FILE, False)


def test_a_token_that_was_not_sent_is_told() -> None:
    plain = MetricProvider(address="http://p", token="t")
    with pytest.raises(ApiError, match=WITHHELD):
        drive(source_of(Answers(HttpAnswer(401)), plain).fetch())
    with pytest.raises(ApiError) as found:
        drive(source_of(Answers(HttpAnswer(401))).fetch())
    assert WITHHELD not in str(found.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(HttpAnswer(200, vector()), NO_SERIES.partition(":")[0], id="no series"),
        pytest.param(HttpAnswer(200, vector(a="NaN")), "node a is NaN", id="only NaN"),
        pytest.param(HttpAnswer(200, b"<html>"), "not an answer of Prometheus", id="garbage"),
        pytest.param(
            HttpAnswer(400, b'{"status": "error", "error": "bad query"}'), "bad query", id="refused"
        ),
        pytest.param(HttpAnswer(502, b"<html>"), "502", id="a proxy"),
    ],
)
def test_failures(answer: HttpAnswer, message: str) -> None:
    with pytest.raises(MooringError, match=message):
        drive(source_of(Answers(answer)).fetch())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"status": "error", "error": "slow"}', "slow"),
        (b'{"status": "success", "data": {"resultType": "scalar", "result": []}}', "a vector"),
        (b'{"status": "success", "data": {"resultType": "vector", "result": [1]}}', "object"),
        (b"\xff", "not an answer"),
        (b"[" * 100_000, "not an answer"),
    ],
    ids=["an error", "a scalar", "numbers", "bytes", "deep"],
)
def test_answers_that_make_no_sense(body: bytes, message: str) -> None:
    with pytest.raises(ObjectError, match=message):
        read_samples(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
VALUES = st.floats().map(str) | st.text()
HTTP = Answers(HttpAnswer(200))
SOURCE = source_of(HTTP)


@given(
    JSON.map(lambda result: {"resultType": "vector", "result": result})
    | JSON
    | st.dictionaries(st.text(), VALUES).map(lambda found: msgspec.json.decode(vector(**found)))
)
def test_no_answer_crashes(data: Any) -> None:
    whole = isinstance(data, dict) and "status" in data
    found = data if whole else {"status": "success", "data": data}
    HTTP.answer = HttpAnswer(200, msgspec.json.encode(found))
    try:
        answer = drive(SOURCE.fetch())
    except MooringError:
        return
    assert all(
        math.isfinite(metric.value)
        for one in answer.measurements.by_node.values()
        for metric in one.metrics
    )


# A real Prometheus, which scrapes series of the recording rules.

SERIES = f"""\
{CPU}{{instance="a"}} 0.5
{CPU}{{instance="b"}} NaN
{MEMORY}{{instance="a"}} 0.25
{MEMORY}{{instance="b"}} 0.75
"""


async def series(request: web.Request) -> web.Response:
    return web.Response(text=SERIES)


@pytest.fixture
def prometheus_program() -> Path:
    """Return the path of Prometheus; without it the test is skipped before it opens anything."""
    found = shutil.which("prometheus")
    if found is None:
        pytest.skip("prometheus not installed")
    return Path(found)


@asynccontextmanager
async def prometheus(program: Path, folder: Path, target: str, *flags: str) -> AsyncIterator[str]:
    """Run a Prometheus that scrapes a target; yield its address without a scheme."""
    job = {
        "job_name": "nodes",
        "honor_labels": True,
        "scrape_interval": "200ms",
        "scrape_timeout": "200ms",
        "static_configs": [{"targets": [target]}],
    }
    config = folder / "prometheus.yml"
    config.write_text(yaml.safe_dump({"scrape_configs": [job]}))
    address = f"{LOOPBACK}:{free_port()}"
    process = Process(
        program,
        [
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            *flags,
        ],
        folder / "prometheus.log",
    )
    try:
        yield address
    finally:
        process.stop()


async def until(source: Prometheus, wanted: Callable[[LoadAnswer], bool]) -> LoadAnswer:
    """Fetch until the server has started, has scraped, and answers as wanted."""
    problem: object = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    answer = await source.fetch()
                except MooringError as error:
                    problem = error
                else:
                    if wanted(answer):
                        return answer
                    problem = answer
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within 30 s; at last: {problem}") from None


async def test_a_real_prometheus(prometheus_program: Path, tmp_path: Path) -> None:
    http = WebClient(SystemClock())
    async with (
        serving("/metrics", series) as target,
        prometheus(prometheus_program, tmp_path, target) as address,
    ):
        source = source_of(http, MetricProvider(type="Prometheus", address=f"http://{address}"))
        # The queries run side by side, and a scrape can come between them.
        answer = await until(source, lambda found: sum(map(len, loads(found).values())) == 6)
        await http.close()
    assert loads(answer) == {
        "a": [
            ("CPU", "AVG", 50.0),
            ("Memory", "AVG", 25.0),
            ("CPU", "STD", 0.0),
            ("Memory", "STD", 0.0),
        ],
        "b": [("Memory", "AVG", 75.0), ("Memory", "STD", 0.0)],
    }
    assert answer.left_out == f"avg_over_time of {CPU} of node b is NaN"


async def test_a_real_prometheus_with_a_certificate(
    prometheus_program: Path, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "authority")
    pair = authority.server("prometheus")
    settings = {"cert_file": str(pair.certificate), "key_file": str(pair.key)}
    web_config = tmp_path / "web.yml"
    web_config.write_text(yaml.safe_dump({"tls_server_config": settings}))
    http = WebClient(SystemClock())
    async with (
        serving("/metrics", series) as target,
        prometheus(
            prometheus_program, tmp_path, target, f"--web.config.file={web_config}"
        ) as address,
    ):
        where = {"type": "Prometheus", "address": f"https://{address}", "token": "t"}
        trusted = MetricProvider(**where, ca_file=str(authority.certificate))
        answer = await until(
            source_of(http, trusted), lambda found: len(loads(found).get("a", ())) == 4
        )
        assert loads(answer)["a"][0] == ("CPU", "AVG", 50.0)
        assert await source_of(http, MetricProvider(**where)).fetch()
        with pytest.raises(MooringError, match="certificate"):
            await source_of(http, MetricProvider(**where, insecure_skip_verify=False)).fetch()
        await http.close()

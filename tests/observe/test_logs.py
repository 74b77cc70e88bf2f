"""Log lines as klog and component-base write them."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import time
from typing import Any

import pytest

from mooring.errors import ConfigError
from mooring.observe.logs import (
    JSON,
    JsonFormatter,
    KlogFormatter,
    ObjectRef,
    Verbosity,
    configure,
    kv,
    log_error,
    parse_vmodule,
    verbose,
    vlog,
)
from mooring.testing.builders import make_node, make_pod


def a_record(level: int = logging.INFO, message: str = "Hello", **pairs: Any) -> logging.LogRecord:
    record = logging.LogRecord("mooring.x", level, "/src/queue/active.py", 210, message, (), None)
    record.kv = pairs
    return record


def body(record: logging.LogRecord) -> str:
    return KlogFormatter().format(record).partition("] ")[2]


# ---- text


def test_the_header_is_klogs() -> None:
    record = a_record()
    record.created = time.mktime((2025, 11, 15, 6, 47, 38, 0, 0, -1)) + 0.123456789
    record.process = 12345
    line = KlogFormatter().format(record)
    assert line == 'I1115 06:47:38.123456   12345 active.py:210] "Hello"'


@pytest.mark.parametrize(
    ("level", "letter"),
    [
        pytest.param(logging.INFO, "I", id="info"),
        pytest.param(logging.INFO - 5, "I", id="V(5)"),
        pytest.param(logging.WARNING, "W", id="warning"),
        pytest.param(logging.ERROR, "E", id="error"),
        pytest.param(logging.CRITICAL, "F", id="fatal"),
    ],
)
def test_the_first_letter_tells_how_bad_it_is(level: int, letter: str) -> None:
    assert KlogFormatter().format(a_record(level))[0] == letter


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("a b", '="a b"', id="a text"),
        pytest.param("", '=""', id="an empty text"),
        pytest.param('say "hi" \\ \t', r'="say \"hi\" \\ \t"', id="a text that needs quoting"),
        pytest.param("über", '="über"', id="a letter that is not ASCII"),
        pytest.param("a\x00\x7f\u200b", r'="a\x00\x7f\u200b"', id="what cannot be printed"),
        pytest.param("a\nb", "=<\n\ta\n\tb\n >", id="a text of several lines"),
        pytest.param("a\n", "=<\n\ta\n >", id="a text that ends its line"),
        pytest.param(4, "=4", id="a number"),
        pytest.param(0.5, "=0.5", id="a fraction"),
        pytest.param(True, "=true", id="a truth"),
        pytest.param(None, "=null", id="nothing"),
        pytest.param(["a", "b"], '=["a","b"]', id="a list"),
        pytest.param({"b", "a"}, '={"a":{},"b":{}}', id="a set, as Go's"),
        pytest.param({"a": 1}, '={"a":1}', id="a mapping"),
        pytest.param(ValueError("no"), '="no"', id="an exception"),
        pytest.param(make_pod("p"), '="default/p"', id="a pod"),
        pytest.param(make_node("n"), '="n"', id="a node"),
        pytest.param(ObjectRef("p", "ns"), '="ns/p"', id="a reference"),
        pytest.param([make_pod("p")], '=[{"name":"p","namespace":"default"}]', id="a list of pods"),
        pytest.param(object, "=\"<class 'object'>\"", id="anything else"),
    ],
)
def test_values(value: Any, shown: str) -> None:
    assert body(a_record(key=value)) == f'"Hello" key{shown}'


def test_pairs_stand_in_the_order_they_were_given() -> None:
    assert body(a_record(pod=make_pod("p"), node="n")) == '"Hello" pod="default/p" node="n"'


def test_a_traceback_follows_the_line() -> None:
    try:
        raise ValueError("boom")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f.py", 1, "Bad", (), sys.exc_info())
    lines = KlogFormatter().format(record).splitlines()
    assert lines[0].endswith('"Bad"')
    assert (lines[1], lines[-1]) == ("Traceback (most recent call last):", "ValueError: boom")


# ---- JSON


def fields(record: logging.LogRecord) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(JsonFormatter().format(record))
    return line


def test_a_json_line_is_component_bases() -> None:
    record = a_record(logging.INFO - 3, pod=make_pod("p"), node=make_node("n"), count=2)
    record.created = 1794739408.2521194
    assert list(fields(record).items()) == [
        ("ts", 1794739408252.1194),
        ("caller", "queue/active.py:210"),
        ("msg", "Hello"),
        ("v", 3),
        ("pod", {"name": "p", "namespace": "default"}),
        ("node", {"name": "n"}),
        ("count", 2),
    ]


def test_an_error_has_no_verbosity_but_a_cause() -> None:
    line = fields(a_record(logging.ERROR, err=ValueError("boom")))
    assert "v" not in line
    assert line["err"] == "boom"


def test_the_name_of_a_logger_stands_first() -> None:
    assert list(fields(a_record(pod="p", logger="Bind.X")))[:3] == ["ts", "logger", "caller"]


def test_a_json_line_holds_the_traceback() -> None:
    try:
        raise ValueError("boom")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f.py", 1, "Bad", (), sys.exc_info())
    assert fields(record)["stacktrace"].endswith("ValueError: boom")


# ---- what is logged


def logger(name: str = "mooring.test_logs") -> logging.Logger:
    return logging.getLogger(name)


@pytest.mark.parametrize("v", [0, 2, 4, 10])
def test_verbosity_is_a_threshold(v: int) -> None:
    stream = io.StringIO()
    configure(v=v, stream=stream)
    for level in range(12):
        vlog(logger(), level, f"at {level}")
        assert verbose(logger(), level) is (level <= v)
    assert re.findall(r"at (\d+)", stream.getvalue()) == [str(level) for level in range(v + 1)]


def test_a_line_names_the_place_that_wrote_it() -> None:
    stream = io.StringIO()
    configure(v=5, stream=stream)
    vlog(logger(), 5, "deep", pod=make_pod("p"))
    log_error(logger(), ValueError("boom"), "Failed", pod=make_pod("p"))
    log_error(logger(), None, "Failed")
    logger().info("plain", extra=kv(a=1))
    lines = [line.partition("] ") for line in stream.getvalue().splitlines()]
    assert all(f" {os.getpid()} test_logs.py:" in header for header, _, _ in lines)
    assert [text for _, _, text in lines] == [
        '"deep" pod="default/p"',
        '"Failed" err="boom" pod="default/p"',
        '"Failed"',
        '"plain" a=1',
    ]


def test_json_can_be_configured() -> None:
    stream = io.StringIO()
    configure(JSON, stream=stream)
    logger().warning("careful")
    assert json.loads(stream.getvalue())["msg"] == "careful"


def test_verbosity_can_be_changed_while_running() -> None:
    stream = io.StringIO()
    verbosity = configure(v=1, stream=stream)
    vlog(logger(), 4, "before")
    verbosity.set(4)
    vlog(logger(), 4, "after")
    verbosity.set(0)
    vlog(logger(), 4, "later")
    assert re.findall(r'"(\w+)"', stream.getvalue()) == ["after"]


@pytest.mark.parametrize(
    ("vmodule", "name", "on"),
    [
        pytest.param("active=5", "mooring.queue.active", True, id="by the file's name"),
        pytest.param("act*=5", "mooring.queue.active", True, id="by a pattern"),
        pytest.param("active=4", "mooring.queue.active", False, id="not loud enough"),
        pytest.param("active=5", "mooring.queue.other", False, id="another file"),
        pytest.param("queue=5", "mooring.queue.active", False, id="a folder is no file"),
        pytest.param("mooring.queue.*=5", "mooring.queue.active", True, id="by the full name"),
        pytest.param("x=9,active=5,active=1", "mooring.queue.active", True, id="the first counts"),
    ],
)
def test_vmodule(vmodule: str, name: str, on: bool) -> None:
    logging.getLogger(name)
    configure(v=2, vmodule=vmodule, stream=io.StringIO())
    assert verbose(logging.getLogger(name), 5) is on
    assert verbose(logging.getLogger(name), 2)


def test_the_level_of_a_package_is_not_that_of_its_modules() -> None:
    package = logging.getLogger("mooring.test_logs.package")
    module = logging.getLogger("mooring.test_logs.package.module")
    Verbosity(2, "package=5").apply()
    assert verbose(package, 5)
    assert verbose(module, 2)
    assert not verbose(module, 5)
    Verbosity(0).apply()


def test_later_settings_replace_earlier_ones() -> None:
    logger = logging.getLogger("mooring.test_logs.replaced")
    Verbosity(0, "replaced=5").apply()
    assert verbose(logger, 5)
    Verbosity(0, "other=5").apply()
    assert not verbose(logger, 5)


def test_vmodule_reaches_loggers_made_later() -> None:
    verbosity = Verbosity(0, "latecomer=5")
    late = logging.getLogger("mooring.test_logs.latecomer")
    verbosity.apply()
    assert verbose(late, 5)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("queue", "expect comma-separated list of filename=N", id="no level"),
        pytest.param("queue=", "expect comma-separated list of filename=N", id="an empty level"),
        pytest.param("=4", "expect comma-separated list of filename=N", id="no pattern"),
        pytest.param("queue=high", "expect comma-separated list of filename=N", id="no number"),
        pytest.param("queue=-1", "negative value for vmodule level", id="a negative level"),
    ],
)
def test_a_bad_vmodule_is_refused_in_klogs_words(text: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        parse_vmodule(text)


@pytest.mark.parametrize(
    ("message", "args", "shown"),
    [
        pytest.param("score %d of %s", (3, "a"), "score 3 of a", id="as klog's Infof"),
        pytest.param("score", (), '"score"', id="as klog's InfoS"),
        pytest.param("pod %s", ("a\nE1115",), r'"pod a\nE1115"', id="nobody forges a line"),
    ],
)
def test_a_message_with_arguments_is_not_quoted(
    message: str, args: tuple[object, ...], shown: str
) -> None:
    record = logging.LogRecord("mooring.x", logging.INFO, "/a.py", 1, message, args, None)
    assert body(record) == shown

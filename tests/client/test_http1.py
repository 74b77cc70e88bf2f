"""Answers in HTTP/1.1, whole and in pieces."""

from __future__ import annotations

import gzip
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.client.http1 import ProtocolError, ResponseReader, header_lines, request_bytes
from mooring.client.transport import Response

LENGTH = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nRetry-After: 7\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 201 Created\r\nRetry-After:7\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2;x=y\r\nhe\r\n1\r\nl\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"
)
PACKED = gzip.compress(b"hello")
GZIP = (
    b"HTTP/1.1 201 Created\r\ncontent-encoding: gzip\r\nretry-after: 7\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(PACKED), PACKED)
)
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n" + LENGTH
ANSWERS = [LENGTH, CHUNKED, GZIP, INTERIM]
NAMES = ["with a length", "in chunks", "compressed", "after interim answers"]


def read(*pieces: bytes) -> Response | None:
    reader = ResponseReader()
    answers = [reader.feed(piece) for piece in pieces]
    assert answers[:-1] == [None] * (len(pieces) - 1)
    return answers[-1]


@pytest.mark.parametrize("data", ANSWERS, ids=NAMES)
def test_an_answer_is_read_in_one_piece(data: bytes) -> None:
    response = read(data)
    assert response is not None
    assert (response.status, response.body) == (201, b"hello")
    assert response.headers["RETRY-After"] == "7" and "retry-AFTER" in response.headers
    assert response.headers.get("nothing") is None


@given(data=st.sampled_from(ANSWERS), cuts=st.sets(st.integers(1, 200)))
def test_an_answer_is_read_however_it_is_cut(data: bytes, cuts: set[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    response = read(*(data[start:end] for start, end in itertools.pairwise(edges)))
    assert response is not None and response.body == b"hello"


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_some_answers_have_no_body(status: bytes) -> None:
    response = read(b"HTTP/1.1 " + status + b"\r\nContent-Length: 9\r\n\r\n")
    assert response is not None and response.body == b""


def test_an_empty_body() -> None:
    response = read(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert response is not None and response.body == b""
    response = read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    assert response is not None and response.body == b""


def test_a_body_may_last_as_long_as_the_connection() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nhel") is None
    assert reader.feed(b"lo") is None
    assert reader.end().body == b"hello"
    assert not reader.keep_alive


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
    ],
)
def test_the_connection_may_be_used_again_or_not(head: bytes, kept: bool) -> None:
    reader = ResponseReader()
    reader.feed(head)
    assert reader.keep_alive is kept


@pytest.mark.parametrize(
    "data",
    [
        b"garbage",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ntwo",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 300_000,
    ],
    ids=lambda data: repr(data[-30:]),
)
def test_what_is_not_http_is_told(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        ResponseReader().feed(data)


@pytest.mark.parametrize(
    ("before", "words"),
    [(b"", "closed"), (b"HTTP/1.1 2", "cut"), (LENGTH[:-1], "cut"), (CHUNKED[:-1], "cut")],
)
def test_an_end_that_comes_too_early_is_told(before: bytes, words: str) -> None:
    reader = ResponseReader()
    if before:
        reader.feed(before)
    with pytest.raises(ProtocolError, match=words):
        reader.end()


def test_a_request_is_put_together() -> None:
    lines = header_lines([("Host", "a"), ("X", "y")])
    assert (
        request_bytes("GET", "/a?b", lines, b"") == b"GET /a?b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n"
    )
    assert request_bytes("POST", "/a", lines, b"{}") == (
        b"POST /a HTTP/1.1\r\nHost: a\r\nX: y\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert b"Content-Length: 0" in request_bytes("POST", "/a", lines, b"")


@pytest.mark.parametrize("target", ["/a b", "/a\r\nX: y", "/\u00e4", "/a\x00"])
def test_a_target_that_would_break_the_request_is_refused(target: str) -> None:
    with pytest.raises(ValueError, match="percent-encoded"):
        request_bytes("GET", target, b"", b"")


@pytest.mark.parametrize("header", [("A", "b\r\nC: d"), ("A\n", "b"), ("A:", "b")])
def test_a_header_that_would_break_the_request_is_refused(header: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        header_lines([header])

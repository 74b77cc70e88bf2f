"""Responses in HTTP/1.1, complete and in pieces."""

from __future__ import annotations

import gzip
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.client.http1 import ResponseReader, header_lines, request_bytes
from mooring.client.protocol import ProtocolError, TooLargeError
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
    complete = [reader.feed(piece) for piece in pieces]
    assert complete[:-1] == [False] * (len(pieces) - 1)
    return reader.response() if complete[-1] else None


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
    assert not reader.feed(b"HTTP/1.1 200 OK\r\n\r\nhel")
    assert not reader.feed(b"lo")
    reader.end()
    assert reader.response().body == b"hello"
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
    reader = ResponseReader()
    with pytest.raises(ProtocolError):
        if reader.feed(data):
            reader.response()


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


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("lines", "name", "value"),
    [
        (b'Warning: 299 - "a"\r\nWarning: 299 - "b"\r\n', "Warning", '299 - "a", 299 - "b"'),
        (b"Vary: Accept\r\nvary: Origin\r\n", "Vary", "Accept, Origin"),
        (b"Content-Type: a/b\r\nContent-Type: a/b\r\n", "Content-Type", "a/b"),
    ],
    ids=["warnings", "vary", "the same type twice"],
)
def test_repeated_headers_are_joined_if_they_are_lists(lines: bytes, name: str, value: str) -> None:
    response = read(OK + lines + b"Content-Length: 0\r\n\r\n")
    assert response is not None and response.headers[name] == value


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 0\r\nContent-Length: 5\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Content-Length: 0\r\nContent-Type: a\r\nContent-Type: b\r\n",
        b"Content-Length: 0\r\nLocation: /a\r\nLocation: /b\r\n",
        b"Content-Length: 0\r\nRetry-After: 1\r\nRetry-After: 2\r\n",
        b"A: b\nContent-Length: 0\r\n",
        b"A: b\rContent-Length: 0\r\n",
        b"A: b\x00c\r\nContent-Length: 0\r\n",
        b"A: b\r\n c\r\nContent-Length: 0\r\n",
        b"Content-Length : 0\r\n",
        b"Content-Length: +0\r\n",
    ],
    ids=lambda head: repr(head[:60]),
)
def test_headers_that_two_readers_could_read_in_two_ways_are_refused(head: bytes) -> None:
    with pytest.raises(ProtocolError):
        ResponseReader().feed(OK + head + b"\r\n")


@pytest.mark.parametrize("status", [100, 103, 199])
def test_an_interim_response_is_passed_over(status: int) -> None:
    response = read(b"HTTP/1.1 %d Wait\r\nA: b\r\n\r\n" % status + LENGTH)
    assert response is not None and (response.status, response.body) == (201, b"hello")
    assert "A" not in response.headers


def test_repeated_headers_leave_the_others_as_they_are() -> None:
    response = read(CHUNKED.replace(b"Retry", b"Vary: a\r\nVary: b\r\nRetry"))
    assert response is not None and response.body == b"hello"
    assert dict(response.headers) == {
        "vary": "a, b",
        "retry-after": "7",
        "transfer-encoding": "chunked",
    }


def test_interim_responses_are_limited() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    response = read(interim * 5 + LENGTH)
    assert response is not None and response.body == b"hello"
    for data in (interim * 5_000 + LENGTH, interim * 6):
        with pytest.raises(ProtocolError, match="too many 1xx informational responses"):
            ResponseReader().feed(data)


def test_another_protocol_is_refused() -> None:
    switch = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
    with pytest.raises(ProtocolError, match="101"):
        ResponseReader().feed(switch)


def test_the_number_of_headers_is_limited() -> None:
    with pytest.raises(ProtocolError, match="more than 1000 headers"):
        ResponseReader().feed(OK + b"A: b\r\n" * 1001 + b"\r\n")


def test_what_is_not_body_is_limited() -> None:
    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    for endless in (b"2;" + b"x" * 300_000, b"0\r\nA: " + b"x" * 300_000):
        reader = ResponseReader()
        reader.feed(chunked)
        with pytest.raises(ProtocolError, match="between two pieces of the body"):
            reader.feed(endless)
    reader = ResponseReader(None)
    reader.feed(chunked)
    for _ in range(50_000):
        # Small chunks are mostly overhead, but legal: a watch sends them for hours.
        reader.feed(b"1;xxxxx\r\na\r\n")
    assert reader.take() == b"a" * 50_000


@pytest.mark.parametrize(
    "data",
    [
        OK + b"Content-Length: 11\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nb\r\n" + b"x" * 11,
        OK + b"\r\n" + b"x" * 11,
    ],
    ids=["announced", "in chunks", "until the end"],
)
def test_a_body_that_is_too_large_is_refused(data: bytes) -> None:
    with pytest.raises(TooLargeError, match="larger than 10 bytes"):
        ResponseReader(10).feed(data)


@pytest.mark.parametrize(
    ("packed", "error", "words"),
    [
        pytest.param(b"hello", ProtocolError, "not valid gzip", id="not gzip"),
        pytest.param(PACKED + b"x", ProtocolError, "after the end", id="more than gzip"),
        pytest.param(
            gzip.compress(b"x" * 101), TooLargeError, "larger than 100 bytes", id="too large"
        ),
    ],
)
def test_a_body_that_does_not_inflate_is_refused(
    packed: bytes, error: type[Exception], words: str
) -> None:
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with pytest.raises(error, match=words):
        ResponseReader(100).feed(head + packed)


def test_nothing_of_one_response_is_left_for_the_next() -> None:
    trailed = (
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nWarning: x\r\nVary: y\r\n\r\n"
    )
    reader = ResponseReader()
    for data in (trailed, LENGTH, trailed, GZIP, CHUNKED):
        reader.reset()
        assert reader.feed(data)
        response = reader.response()
        assert response.body == (b"ok" if data is trailed else b"hello")
        assert "Warning" not in response.headers and "Vary" not in response.headers
        assert ("Content-Length" in response.headers) is (data in (LENGTH, GZIP))


CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("before", "longest", "words"),
    [
        pytest.param(b"", OK + b"A: ", "262144 bytes of the head", id="a head"),
        pytest.param(CHUNKS, b"2;", "262144 bytes between two pieces", id="the size of a chunk"),
        pytest.param(CHUNKS + b"1\r\na\r\n", b"0\r\nA: ", "between two pieces", id="trailers"),
    ],
)
def test_what_is_not_body_may_be_as_long_as_the_limit(
    before: bytes, longest: bytes, words: str
) -> None:
    reader = ResponseReader()
    if before:
        assert not reader.feed(before)
    assert not reader.feed(longest.ljust(2**18, b"x"))
    with pytest.raises(ProtocolError, match=words):
        reader.feed(b"x")


def test_what_precedes_the_body_does_not_count_as_a_part_of_it() -> None:
    reader = ResponseReader()
    head = OK + b"A: " + b"x" * 200_000 + b"\r\nTransfer-Encoding: chunked\r\n"
    assert not reader.feed(head)
    assert not reader.feed(b"\r\n")
    assert not reader.feed(b"2;" + b"x" * 200_000)
    assert reader.feed(b"\r\nok\r\n0\r\n\r\n")
    assert reader.response().body == b"ok"


def test_as_many_headers_as_the_limit_are_read() -> None:
    lines = b"".join(b"A%d: b\r\n" % number for number in range(999))
    response = read(OK + lines + b"Content-Length: 0\r\n\r\n")
    assert response is not None and len(response.headers) == 1000
    assert response.headers["a998"] == "b"


def test_headers_are_a_mapping() -> None:
    response = read(OK + b"Content-Length: 0\r\nX-Name: \xe4\r\n\r\n")
    assert response is not None
    assert dict(response.headers) == {"content-length": "0", "x-name": "\xe4"}
    assert len(response.headers) == 2
    assert response.headers.get("X-NAME", "none") == "\xe4"
    assert response.headers.get("Other", "none") == "none"
    assert response.headers.get("\u20ac") is None
    with pytest.raises(KeyError):
        response.headers["Other"]


@pytest.mark.parametrize(
    "data",
    [
        OK + b"Content-Length: 10\r\n\r\n" + b"x" * 10,
        CHUNKS + b"a\r\n" + b"x" * 10 + b"\r\n0\r\n\r\n",
        OK
        + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s"
        % (len(gzip.compress(b"x" * 10)), gzip.compress(b"x" * 10)),
    ],
    ids=["announced", "in chunks", "compressed"],
)
def test_a_body_may_be_as_large_as_the_limit(data: bytes) -> None:
    # What was compressed may be longer on the wire.
    limit = 10 if b"gzip" not in data else 40
    reader = ResponseReader(limit)
    assert reader.feed(data)
    assert reader.response().body == b"x" * 10


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_the_length_of_a_body_that_does_not_come_is_not_limited(status: bytes) -> None:
    reader = ResponseReader(5)
    assert reader.feed(b"HTTP/1.1 " + status + b"\r\nContent-Length: 9\r\n\r\n")
    assert reader.response().body == b""
    assert reader.keep_alive


def test_a_body_that_is_taken_in_pieces_is_not_inflated() -> None:
    reader = ResponseReader(None)
    assert reader.feed(GZIP)
    assert reader.take() == PACKED
    assert reader.take() == b""


def test_each_response_of_a_connection_starts_from_nothing() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * 4
    reader = ResponseReader(5)
    for _ in range(3):
        reader.reset(5)
        assert (reader.status, reader.complete, reader.keep_alive) == (0, False, False)
        assert dict(reader.headers) == {}
        with pytest.raises(ProtocolError, match="closed"):
            reader.end()
        assert not reader.feed(interim + OK + b"A: " + b"x" * 200_000)
        assert not reader.feed(b"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")
        assert reader.feed(b"B: " + b"x" * 200_000 + b"\r\n\r\n")
        assert (reader.status, reader.complete, reader.keep_alive) == (200, True, True)
        reader.end()
        assert reader.response().body == b"hello"
    reader.reset(3)
    with pytest.raises(TooLargeError, match="larger than 3 bytes"):
        reader.feed(LENGTH)


def test_a_coding_that_is_not_known_is_named_in_short() -> None:
    coding = b"y" * 50
    with pytest.raises(ProtocolError, match=r"Transfer-Encoding b'y{40}'$"):
        ResponseReader().feed(OK + b"Transfer-Encoding: " + coding + b"\r\n\r\n")


def test_only_a_request_that_may_have_a_body_says_how_long_it_is() -> None:
    for method in ("GET", "DELETE"):
        assert request_bytes(method, "/a", b"", b"") == f"{method} /a HTTP/1.1\r\n\r\n".encode()
        assert b"Content-Length: 2\r\n\r\n{}" in request_bytes(method, "/a", b"", b"{}")
    for method in ("POST", "PUT", "PATCH"):
        assert b"Content-Length: 0\r\n\r\n" in request_bytes(method, "/a", b"", b"")

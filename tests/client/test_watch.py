"""A watch stream, cut into chunks anywhere."""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncIterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import CustomResource, Pod
from mooring.client.transport import MAX_OBJECT
from mooring.client.watch import Watch
from mooring.errors import ApiError, NoAnswerError
from tests.client.fakes import FakeStream, failure


def line(type_: str, name: str, version: str = "1", **more: object) -> bytes:
    body = {"kind": "Pod", "apiVersion": "v1", **more}
    metadata = {"name": name, "resourceVersion": version}
    return msgspec.json.encode({"type": type_, "object": {**body, "metadata": metadata}}) + b"\n"


async def read(*chunks: bytes | Exception, struct: type = Pod) -> list[list[tuple[str, str]]]:
    watch = Watch(FakeStream(chunks), struct, "https://server/pods")
    return [
        [(event.type, event.object.metadata.name) for event in batch]
        async for batch in watch.batches()
    ]


async def test_what_comes_together_is_one_batch() -> None:
    batches = await read(line("ADDED", "a") + line("DELETED", "b"), line("BOOKMARK", ""))
    assert batches == [[("ADDED", "a"), ("DELETED", "b")], [("BOOKMARK", "")]]


LINES = b"".join(line("MODIFIED", f"p{number}" * 20) for number in range(6))


@given(cuts=st.sets(st.integers(1, len(LINES) - 1)))
async def test_lines_are_found_however_the_stream_is_cut(cuts: set[int]) -> None:
    edges = [0, *sorted(cuts), len(LINES)]
    chunks = [LINES[start:end] for start, end in itertools.pairwise(edges)]
    batches = await read(*chunks)
    assert all(batches)
    assert [name for batch in batches for _, name in batch] == [f"p{n}" * 20 for n in range(6)]


async def test_a_line_that_was_cut_off_is_dropped() -> None:
    assert await read(line("ADDED", "a") + b'{"type":"ADDED","obj') == [[("ADDED", "a")]]


async def test_empty_lines_mean_nothing() -> None:
    assert await read(b"\n\n" + line("ADDED", "a") + b" \n") == [[("ADDED", "a")]]


async def test_nulls_are_absent_fields() -> None:
    body = b'{"type":"ADDED","object":{"metadata":{"name":"a","labels":null},"spec":null}}\n'
    assert await read(body) == [[("ADDED", "a")]]


@pytest.mark.parametrize("struct", [Pod, CustomResource])
async def test_an_error_is_raised_after_what_came_before_it(struct: type) -> None:
    gone = {"type": "ERROR", "object": failure(410, "Expired", "too old resource version")}
    watch = Watch(
        FakeStream(
            [
                line("ADDED", "a", kind="Crew" if struct is CustomResource else "Pod"),
                msgspec.json.encode(gone) + b"\n",
            ]
        ),
        struct,
        "https://server/pods",
    )
    seen = []
    with pytest.raises(ApiError, match="too old resource version") as raised:
        async for batch in watch.batches():
            seen += [event.object.metadata.name for event in batch]
    assert seen == ["a"]
    assert raised.value.is_gone


async def test_an_error_in_the_same_chunk_loses_nothing() -> None:
    gone = {"type": "ERROR", "object": failure(500, "InternalError", "oh")}
    watch = Watch(
        FakeStream([line("ADDED", "a") + msgspec.json.encode(gone) + b"\n"]), Pod, "https://server"
    )
    seen = []
    with pytest.raises(ApiError):
        async for batch in watch.batches():
            seen += batch
    assert len(seen) == 1


@pytest.mark.parametrize("garbage", [b"garbage\n", b"{}\n", b"[]\n", b"\xff\xfe\n"])
async def test_garbage_ends_the_watch(garbage: bytes) -> None:
    with pytest.raises(ApiError, match="unable to decode an event") as raised:
        await read(garbage)
    assert (raised.value.status, raised.value.reason) == (500, "ClientWatchDecoding")


async def test_an_object_that_cannot_be_read_is_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = b'{"type":"ADDED","object":{"metadata":{"name":5}}}\n'
    with caplog.at_level(logging.ERROR):
        assert await read(broken + line("ADDED", "a")) == [[("ADDED", "a")]]
    assert "going on without it" in caplog.text


async def test_a_broken_connection_is_told() -> None:
    with pytest.raises(NoAnswerError):
        await read(line("ADDED", "a"), NoAnswerError("cut", sent=True))


async def test_an_event_has_a_largest_size() -> None:
    """A line without an end is not collected in memory."""
    taken = 0

    class Endless(FakeStream):
        async def chunks(self) -> AsyncIterator[bytes]:
            nonlocal taken
            yield line("ADDED", "a")
            while True:
                taken += 2**18
                yield b"x" * 2**18

    watch = Watch(Endless(()), Pod, "https://server/pods")
    with pytest.raises(ApiError, match="an event is larger than 16777216 bytes"):
        async for batch in watch.batches():
            assert [event.object.metadata.name for event in batch] == ["a"]
    assert taken <= MAX_OBJECT + 2**18
    # Together, many events may be larger than that.
    many = line("ADDED", "b", note="x" * 2**18)
    assert len(await read(*[many] * 100)) == 100


@pytest.mark.parametrize("tail", [0, 10], ids=["on its own", "after a part in another chunk"])
async def test_an_event_may_be_as_large_as_the_limit(tail: int) -> None:
    rest = line("ADDED", "b")
    largest = rest[:-1].ljust(MAX_OBJECT)
    first = line("ADDED", "a") + largest[:tail]
    assert await read(first, largest[tail:], b"\n") == [[("ADDED", "a")], [("ADDED", "b")]]
    with pytest.raises(ApiError, match="an event is larger"):
        await read(first, largest[tail:], b" ", b"\n")


async def test_small_chunks_add_up_to_what_is_too_large() -> None:
    with pytest.raises(ApiError, match="an event is larger"):
        await read(*[b"x" * 2**20] * 17)
    # Each event starts from nothing.
    half = line("ADDED", "a")[:-1].ljust(2**23)
    assert await read(half, b"\n", half, b"\n", half, b"\n") == [[("ADDED", "a")]] * 3


@pytest.mark.parametrize("more", [0, 1000], ids=["kind first", "kind last"])
async def test_objects_of_another_kind_are_left_out(
    more: int, caplog: pytest.LogCaptureFixture
) -> None:
    """One event may say so late: a server need not send the kind first."""
    body = {"metadata": {"name": "n", "annotations": {"a": "x" * more}}, "kind": "Node"}
    other = msgspec.json.encode({"type": "ADDED", "object": body}) + b"\n"
    assert await read(line("ADDED", "a") + other, line("ADDED", "b")) == [
        [("ADDED", "a")],
        [("ADDED", "b")],
    ]
    (record,) = caplog.records
    assert record.getMessage() == "Cannot read a watched object, going on without it"
    assert record.kv["err"] == "expected Pod, got Node"  # type: ignore[attr-defined]


async def test_objects_that_do_not_say_their_kind_are_expected_ones() -> None:
    body = {"metadata": {"name": "a", "ownerReferences": [{"kind": "Job", "name": "j"}]}}
    assert await read(msgspec.json.encode({"type": "ADDED", "object": body}) + b"\n") == [
        [("ADDED", "a")]
    ]


async def test_unreadable_objects_are_logged_ever_more_rarely(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = b'{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":[]}}}\n'
    assert await read((broken + line("ADDED", "", kind="k" * 10_000)) * 1_000) == []
    assert 10 < len(caplog.records) < 30
    assert all(len(str(record.__dict__["kv"])) < 1_000 for record in caplog.records)

from __future__ import annotations

import gzip
import random
import zlib

import pytest

from mooring.client.inflate import Inflater
from mooring.client.protocol import ProtocolError, TooLargeError
from mooring.client.transport import MAX_LIST, MAX_OBJECT


def inflate(inflater: Inflater, data: bytes, step: int) -> bytes:
    parts = []
    for at in range(0, len(data), step):
        parts += inflater.feed(data[at : at + step])
    inflater.finish()
    return b"".join(parts)


@pytest.mark.parametrize("step", [1, 7, 10**9])
@pytest.mark.parametrize("size", [0, 1, 2**18, 2**18 + 1, 600_000])
def test_what_was_packed_comes_out(size: int, step: int) -> None:
    rng = random.Random(size)
    wanted = bytes(rng.choices(b"abcdef", k=size // 2)) + b"x" * (size - size // 2)
    if step > 1 or size < 10:
        assert inflate(Inflater(MAX_OBJECT), gzip.compress(wanted), step) == wanted


def zeros(count: int) -> bytes:
    """Compress zeros without holding them all in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes(2**20)
    return b"".join([*(packer.compress(block) for _ in range(count >> 20)), packer.flush()])


def test_a_bomb_is_cut_when_it_passes_the_limit() -> None:
    inflater = Inflater(MAX_OBJECT)
    came = 0
    with pytest.raises(TooLargeError, match="larger than 16 MiB"):
        for at in range(0, len(bomb := zeros(2**26)), 1024):
            came += sum(map(len, inflater.feed(bomb[at : at + 1024])))
    assert came <= MAX_OBJECT


def test_a_list_may_grow_a_hundredfold() -> None:
    inflater = Inflater(MAX_LIST)
    with pytest.raises(TooLargeError, match="more than 100 times its size"):
        inflate(inflater, zeros(2**26), 1024)
    # Small results are accepted at any compression ratio.
    assert len(inflate(Inflater(MAX_LIST), zeros(2**24), 1024)) == 2**24


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b"x" * 100)[:-3], "cut"),
        (b"hello, world", "not valid gzip"),
        (zlib.compress(b"hello"), "not valid gzip"),
        (gzip.compress(b"x") + b"more", "after the end"),
    ],
    ids=["cut", "no gzip", "another format of zlib", "more"],
)
def test_what_is_not_one_gzip_stream_is_refused(data: bytes, words: str) -> None:
    for step in (1, 1000):
        with pytest.raises(ProtocolError, match=words):
            inflate(Inflater(MAX_OBJECT), data, step)


def test_what_is_inflated_at_once_is_bounded() -> None:
    parts = Inflater(MAX_OBJECT).feed(zeros(2**20))
    assert max(map(len, parts)) == 2**18 and sum(map(len, parts)) == 2**20


def test_a_body_may_inflate_to_exactly_the_limit() -> None:
    packed = gzip.compress(b"x" * 1000)
    assert len(inflate(Inflater(1000), packed, 10)) == 1000
    with pytest.raises(TooLargeError, match="larger than 999 bytes"):
        inflate(Inflater(999), packed, 10)


def test_the_ratio_counts_all_that_was_fed() -> None:
    """A part may inflate a thousandfold if the whole does not."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    noise = random.Random(1).randbytes(2**20)
    data = packer.compress(noise)
    data += b"".join(packer.compress(bytes(2**20)) for _ in range(60)) + packer.flush()
    assert len(inflate(Inflater(MAX_LIST), data, 2**14)) == 61 * 2**20


@pytest.mark.parametrize("step", [1, 1000])
def test_an_empty_body_is_no_stream(step: int) -> None:
    assert inflate(Inflater(MAX_OBJECT), b"", step) == b""
    inflater = Inflater(MAX_OBJECT)
    inflate(inflater, gzip.compress(b"x"), step)
    with pytest.raises(ProtocolError, match="after the end"):
        inflater.feed(b"more")


@pytest.mark.parametrize(
    ("share", "accepted"),
    [pytest.param(0.0101, True, id="99 times"), pytest.param(0.0099, False, id="101 times")],
)
def test_the_ratio_is_a_hundred(share: float, accepted: bool) -> None:
    """Beyond 16 MiB, what comes out is compared with a hundred times what was fed."""
    size = 20 * 2**20
    # Zeros shrink to about a thousandth; the rest does not shrink at all.
    noise = random.Random(1).randbytes(int(size * share) - size // 1029)
    packed = gzip.compress(noise + bytes(size - len(noise)))
    assert len(packed) == pytest.approx(size * share, rel=0.008)
    inflater = Inflater(MAX_LIST)
    if accepted:
        assert sum(map(len, inflater.feed(packed))) == size
        return
    with pytest.raises(TooLargeError, match="more than 100 times"):
        list(inflater.feed(packed))


def test_nothing_is_held_back_when_a_piece_is_full() -> None:
    """Wherever the data is cut, all that it says so far comes out."""
    packed = zeros(2**20)
    full = 0
    for end in range(200, 320):
        whole = zlib.decompressobj(31).decompress(packed[:end])
        assert b"".join(Inflater(MAX_OBJECT).feed(packed[:end])) == whole
        limited = zlib.decompressobj(31)
        limited.decompress(packed[:end], 2**18)
        full += not limited.unconsumed_tail and len(whole) > 2**18
    # Among the cuts are some after which zlib holds output back without any input left.
    assert full

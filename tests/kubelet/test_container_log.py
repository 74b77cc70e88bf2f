"""The log of a container, as `kubectl logs` reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.apiserver.subresources.pod_logs import PodLogOptions
from mooring.kubelet.container_log import ContainerLog
from tests.support.controllers import ManualClock
from tests.support.waiting import PATIENCE


class Log(ContainerLog):
    """A log on a clock that tests advance."""

    def __init__(self, folder: Path, **options: int) -> None:
        self.time = ManualClock()
        super().__init__(folder / "log", self.time, **options)

    async def text(self, **options: object) -> str:
        found = [chunk async for chunk in self.read(PodLogOptions(**options))]  # type: ignore[arg-type]
        return b"".join(found).decode()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """Return an empty log."""
    made = Log(tmp_path)
    yield made
    made.close()


async def test_lines_are_shown_as_they_were_written(log: Log, tmp_path: Path) -> None:
    log.append(b"one\ntw")
    assert await log.text() == "one\n"
    log.append(b"o\n\nthree\rfour\nlast")
    log.close()
    assert await log.text() == "one\ntwo\n\nthree\rfour\nlast\n"
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
    assert log.tail_text(2, 100) == "three\rfour\nlast"


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        pytest.param({"tail": 2}, "b\nc\n", id="the last two"),
        pytest.param({"tail": 0}, "", id="none"),
        pytest.param({"tail": 9}, "a\nb\nc\n", id="more than there are"),
        pytest.param({"since_seconds": 15}, "b\nc\n", id="of the last seconds"),
        pytest.param({"limit_bytes": 3}, "a\nb", id="a limit"),
    ],
)
async def test_a_part_of_a_log(log: Log, options: dict[str, int], shown: str) -> None:
    for line in (b"a\n", b"b\n", b"c\n"):
        log.append(line)
        log.time.advance(10)
    log.time.advance(-10 + 2)
    assert await log.text(**options) == shown
    assert await log.text(**options, follow=False) == shown


async def test_times_are_shown_where_they_are_asked_for(log: Log) -> None:
    log.append(b"a b\n")
    when, _, text = (await log.text(timestamps=True)).partition(" ")
    assert text == "a b\n"
    assert when.endswith("Z") and "T" in when


async def test_a_follower_sees_what_comes_and_the_end(log: Log) -> None:
    log.append(b"before\n")
    following = asyncio.create_task(log.text(follow=True, tail=0))
    await asyncio.sleep(0)
    log.append(b"one\ntwo")
    await asyncio.sleep(0)
    assert not following.done()
    log.close()
    async with asyncio.timeout(PATIENCE):
        assert await following == "one\ntwo\n"


async def test_a_log_that_grows_too_long_begins_anew(tmp_path: Path) -> None:
    log = Log(tmp_path, most=200)
    following = asyncio.create_task(log.text(follow=True))
    written = [f"line {number}" for number in range(20)]
    for line in written:
        log.append(line.encode() + b"\n")
        await asyncio.sleep(0)
    log.close()
    async with asyncio.timeout(PATIENCE):
        assert (await following).splitlines() == written
    kept = (await log.text()).splitlines()
    assert kept == written[-len(kept) :] and len(kept) < 15
    log.remove()
    assert not list(tmp_path.iterdir())

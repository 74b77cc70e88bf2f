from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.controllers.expectations import PATIENCE, Expectations, in_batches
from mooring.informers.store import Store
from mooring.observe.clock import VirtualClock


def pod(name: str, owner: str = "o", **metadata: Any) -> Pod:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": owner}
    reference |= {"controller": True}
    return decode_as(
        {
            "metadata": {
                "name": name,
                "namespace": "n",
                "uid": f"uid-{name}",
                "ownerReferences": [reference],
                **metadata,
            }
        },
        Pod,
    )


class Known:
    """Expectations over a store that a test changes."""

    def __init__(self) -> None:
        self.pods: Store[Pod] = Store()
        self.clock = VirtualClock()
        self.expectations = Expectations(self.pods, self.clock)
        self.asked = 0

    async def ask(self, failure: Exception | None = None) -> None:
        self.asked += 1
        if failure is not None:
            raise failure


async def test_a_creation_is_expected_until_it_is_seen() -> None:
    known = Known()
    assert known.expectations.fulfilled("o")
    await known.expectations.create("o", "p", known.ask())
    assert known.asked == 1
    assert not known.expectations.fulfilled("o")
    assert known.expectations.fulfilled("another")
    known.pods.add(pod("other"))
    assert not known.expectations.fulfilled("o")
    known.pods.add(pod("p"))
    assert known.expectations.fulfilled("o")


@pytest.mark.parametrize("gone", [True, False], ids=["it is gone", "it terminates"])
async def test_a_deletion_is_expected_until_it_is_seen(gone: bool) -> None:
    known = Known()
    known.pods.add(pod("p"))
    await known.expectations.delete("o", "uid-p", known.ask())
    assert not known.expectations.fulfilled("o")
    known.pods.update(pod("p", labels={"a": "b"}))
    assert not known.expectations.fulfilled("o")
    if gone:
        known.pods.delete("p", "n")
    else:
        known.pods.update(pod("p", deletionTimestamp="2026-01-01T00:00:00Z"))
    assert known.expectations.fulfilled("o")


async def test_what_failed_is_not_expected() -> None:
    known = Known()
    with pytest.raises(ValueError, match="no"):
        await known.expectations.create("o", "p", known.ask(ValueError("no")))
    assert known.expectations.fulfilled("o")


async def test_an_event_that_never_comes_is_given_up() -> None:
    known = Known()
    await known.expectations.create("o", "p", known.ask())
    known.clock.advance(PATIENCE - 1)
    assert not known.expectations.fulfilled("o")
    known.clock.advance(1)
    assert known.expectations.fulfilled("o")


async def test_batches_double_until_one_fails() -> None:
    made: list[int] = []

    async def call(i: int) -> None:
        made.append(i)
        if i == 4:
            raise ValueError(i)

    calls = [lambda i=i: call(i) for i in range(20)]
    failure = await in_batches(calls)  # type: ignore[arg-type]
    assert str(failure) == "4"
    # Batches of one, two and four: what follows the failure is not tried.
    assert made == list(range(7))
    assert await in_batches([]) is None
    assert await in_batches([lambda: call(0)]) is None


async def test_batches_stop_growing() -> None:
    running = most = 0

    async def call() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    await in_batches([call] * 200)
    assert most == 32

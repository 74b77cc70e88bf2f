"""Journals of small local clusters."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec

from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running

HUGE = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "900"}}}]}


class Moments(msgspec.Struct, frozen=True):
    """Moments of a journal, in seconds since the epoch."""

    before: float
    between: float
    after: float


async def record_two_pods(folder: Path, *, huge: bool = False) -> Moments:
    """Record a journal of two nodes and the pods "one" and "two"; return when nothing happened.

    With `huge`, the second pod fits nowhere.
    """

    async def rest() -> float:
        """Return a moment after everything so far, in a second of its own."""
        started = time.time()
        while time.time() < started + 1.1:
            await asyncio.sleep(0.05)
        return float(int(time.time()))

    def is_decided(found: Any) -> bool:
        return bool(found["spec"].get("nodeName") or found["status"].get("conditions"))

    async with running(folder, nodes=2, journal=str(folder / "journal")) as cluster:
        moments = [await rest()]
        for name in ("one", "two"):
            spec = {"spec": HUGE} if huge and name == "two" else {}
            await cluster.post(PODS, {**pod(name), **spec})
            await cluster.until(f"{PODS}/{name}", is_decided)
            moments.append(await rest())
        await cluster.post(PODS, pod("last"))
        await cluster.until(f"{PODS}/last", is_decided)
    return Moments(*moments)

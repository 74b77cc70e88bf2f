"""Taps: what observers of the scheduling loop are told, and that they cannot harm it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.observe.attempt_random import AttemptRandom
from mooring.scheduler.taps import SilentTap, make_taps
from tests.app.world import World, make_node, make_pod

CALLS = [name for name in vars(SilentTap) if not name.startswith("_")]


class Listening(SilentTap):
    """A tap that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, tuple[Any, ...]]] = []

    @property
    def calls(self) -> list[str]:
        return [call for call, _ in self.told]

    def of(self, call: str) -> list[tuple[Any, ...]]:
        return [args for name, args in self.told if name == call]


def _noting(call: str) -> Any:
    def note(self: Listening, *args: Any) -> None:
        self.told.append((call, args))

    return note


for _call in CALLS:
    setattr(Listening, _call, _noting(_call))


async def test_the_calls_for_a_pod_that_is_bound() -> None:
    tap = Listening()
    world = World(taps=[tap])
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    state = world.scheduler.random.state
    await world.settle()
    own = [call for call in tap.calls if call not in ("changed", "assigning")]
    assert own == ["deciding", "decided", "reserved", "permitted", "bound"]
    (info, start, within, seed, sampling_start) = tap.of("deciding")[0]
    assert (info.pod.metadata.name, start, within) == ("p", world.clock.now(), None)
    assert (seed, sampling_start) == (state, 0)
    ((_, decision, _),) = tap.of("decided")
    assert decision.node_name == "n"


async def test_the_calls_for_a_pod_that_finds_no_node() -> None:
    tap = Listening()
    world = World(taps=[tap])
    world.pods.add(make_pod("p"))
    await world.settle()
    assert [call for call in tap.calls if call != "changed"] == ["deciding", "decided", "failed"]
    ((_, failure),) = tap.of("failed")
    assert failure.message == "no nodes available to schedule pods"


@pytest.mark.parametrize("point", ["permit", "pre_bind"])
async def test_the_calls_for_a_pod_that_loses_its_node(point: str) -> None:
    refuse = {point: lambda *_: Status.unschedulable("no")}
    tap = Listening()
    world = World(type("Refusing", (Plugin,), refuse), taps=[tap])
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    await world.scheduler.turn()
    await world.settle()
    calls = [call for call in tap.calls if call != "changed"]
    permitted = ["permitted"] if point == "pre_bind" else []
    assert calls[:5] == ["deciding", "decided", "reserved", *permitted, "gave_back", "failed"][:5]
    assert tap.of("gave_back")[0][1].message == "no"


async def test_changes_are_told_once_and_before_they_are_handled() -> None:
    class Watching(Plugin):
        """Watches pods too, beside the scheduler."""

        def start(self) -> None:
            self.handle.watch(Pod, added=lambda pod: seen.append(f"plugin {pod.metadata.name}"))

        def filter(self, *_: Any) -> None:
            return None

    from mooring.api import Node, Pod

    seen: list[str] = []

    class Seeing(SilentTap):
        def changed(self, kind: Any, old: Any, new: Any) -> None:
            if kind in (Node, Pod):
                seen.append(
                    f"{kind.__name__} {old and old.metadata.name} {new and new.metadata.name}"
                )
                seen.append(f"{len(world.scheduler.cache.nodes)} nodes")

    world = World(Watching, taps=[Seeing()])
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p", scheduler_name="another"))
    world.nodes.delete("n")
    world.scheduler.inbox.drain()
    assert seen == [
        "Node None n",
        "0 nodes",
        "Pod None p",
        "1 nodes",
        "plugin p",
        "Node n None",
        "1 nodes",
    ]


async def test_a_tap_that_raises_is_dropped_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Failing(SilentTap):
        def decided(self, *_: Any) -> None:
            raise ValueError("oh")

        def bound(self, *_: Any) -> None:
            bound.append(1)

    bound: list[int] = []
    tap = Listening()
    world = World(taps=[Failing(), tap])
    world.nodes.add(make_node("n"))
    for name in ("p", "q"):
        world.pods.add(make_pod(name))
    with caplog.at_level(logging.ERROR):
        await world.settle()
    assert [write[1] for write in world.client.writes] == ["bound", "bound"]
    assert tap.calls.count("decided") == 2
    assert not bound
    failed = [one for one in caplog.records if "observer" in one.getMessage()]
    assert len(failed) == 1


def test_without_taps_there_is_nothing_to_call() -> None:
    assert make_taps((), AttemptRandom(1)) is None


def test_who_hears_of_changes() -> None:
    class Hearing(SilentTap):
        def changed(self, kind: Any, old: Any, new: Any) -> None:
            return None

    quiet, hearing = (make_taps([tap], AttemptRandom(1)) for tap in (SilentTap(), Hearing()))
    assert quiet is not None and not quiet.hears_changes
    assert hearing is not None and hearing.hears_changes

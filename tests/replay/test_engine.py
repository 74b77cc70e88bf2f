"""The engine that follows a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mooring import Plugin, Status
from mooring.framework.decision import Outcome
from mooring.framework.status import Code
from mooring.journal.entries import (
    AttemptBegins,
    Change,
    ExtenderAnswer,
    RecordedStatus,
    SegmentHead,
)
from mooring.replay.engine import ReplayEngine, to_status
from mooring.replay.replay_rules import recorded_rules
from tests.journal.journals import read
from tests.replay.recordings import JournaledCluster, journaled, node, pod


class Writes(Plugin):
    """A plugin of somebody else, whose binding points reach the outside."""

    done: list[str] = []  # noqa: RUF012

    def pre_bind(self, state: Any, pod: Any, node_name: str) -> Status | None:
        self.done.append("pre_bind")
        return None

    def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
        self.done.append("post_bind")


async def one_pod(cluster: JournaledCluster) -> None:
    await cluster.create(node("one"))
    await cluster.create(pod("web"))
    await cluster.schedule()


def engine_before(folder: Path, *plugins: type[Plugin]) -> tuple[ReplayEngine, AttemptBegins]:
    """Return an engine that has come to the first attempt of a journal."""
    (head,) = read(folder, SegmentHead)
    engine = ReplayEngine(recorded_rules(head, plugins))
    for entry in read(folder):
        if isinstance(entry, Change):
            assert engine.take_in(entry)
        elif isinstance(entry, AttemptBegins):
            return engine, entry
    raise AssertionError


def test_an_examination_changes_nothing(tmp_path: Path) -> None:
    journaled(tmp_path, one_pod)
    engine, entry = engine_before(tmp_path)
    found = engine.begin(entry)
    assert found is not None
    state = engine.random.state
    examined = engine.examine(entry, found)
    assert engine.random.state == state
    decision = engine.decide(entry, found)
    assert examined.node_name == decision.node_name == "one"
    assert examined.totals is not None
    assert decision.totals is None


def test_a_reserved_pod_takes_room_until_it_is_given_back(tmp_path: Path) -> None:
    journaled(tmp_path, one_pod)
    engine, entry = engine_before(tmp_path)
    found = engine.begin(entry)
    assert found is not None
    engine.decide(entry, found)
    assert engine.reserve(entry.time, entry.uid, "one") == ""
    assert engine.scheduler.cache.is_assumed(entry.uid)
    engine.forgot(entry.uid)
    assert not engine.scheduler.cache.is_assumed(entry.uid)


def test_binding_points_of_other_plugins_do_not_run(tmp_path: Path) -> None:
    journaled(tmp_path, one_pod, Writes)
    assert Writes.done == ["pre_bind", "post_bind"]
    Writes.done.clear()
    engine, entry = engine_before(tmp_path, Writes)
    found = engine.begin(entry)
    assert found is not None
    engine.decide(entry, found)
    engine.reserve(entry.time, entry.uid, "one")
    engine.permit(entry.time, entry.uid)
    engine.bound(entry.time + 1.0, entry.uid)
    assert Writes.done == []


def test_a_pod_of_no_profile(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await one_pod(cluster)

    journaled(tmp_path, play)
    engine, entry = engine_before(tmp_path)
    found = engine.begin(entry)
    assert found is not None
    engine.scheduler.profiles.clear()
    decision = engine.decide(entry, found)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message.startswith('no profile serves schedulerName "default-scheduler"')


def test_a_recorded_status() -> None:
    assert to_status(None).code is Code.UNSCHEDULABLE
    status = to_status(RecordedStatus(1, ("no",), "Permits"))
    assert (status.code, status.message, status.plugin) == (Code.ERROR, "no", "Permits")


def with_extender(folder: Path) -> SegmentHead:
    """Return the head of a journal as if its scheduler had an extender."""
    (head,) = read(folder, SegmentHead)
    extender = {
        "urlPrefix": "http://one",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 10,
        "httpTimeout": "5s",
    }
    return replace(head, config={**head.config, "extenders": [extender]})


def test_extenders_answer_as_recorded(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(node("one"), node("two"), node("three"))
        await cluster.create(pod("web"))
        await cluster.schedule()

    journaled(tmp_path, play)
    engine = ReplayEngine(recorded_rules(with_extender(tmp_path)))
    (begins,) = read(tmp_path, AttemptBegins)
    for entry in read(tmp_path, Change):
        if entry.time <= begins.time:
            engine.take_in(entry)

    def answer(verb: str, data: Any) -> ExtenderAnswer:
        return ExtenderAnswer(begins.time, "http://one", verb, begins.uid, data)

    passed = answer("filter", [["one", "two"], {"three": "full"}, {}])
    for scores, expected in (({"one": 10}, "one"), ({"two": 10}, "two")):
        found = engine.begin(begins, [passed, answer("prioritize", scores)])
        assert found is not None
        assert engine.decide(begins, found).node_name == expected
    found = engine.begin(begins, ())
    assert found is not None
    decision = engine.decide(begins, found)
    assert decision.outcome is Outcome.ERROR
    assert "holds no answer of extender" in decision.message

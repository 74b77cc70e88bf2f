"""Questions to a running scheduler."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import numpy as np
import pytest

from mooring import Plugin, Status
from mooring.errors import ObjectError
from mooring.explain.attempt_history import AttemptHistory
from mooring.explain.data_reading import read_live_explanation
from mooring.explain.explainer import Explainer
from mooring.explain.questions import QUESTIONS, TooManyQuestions, UnknownPodError
from mooring.queue.queue_places import Whereabouts
from tests.app.world import make_node, make_pod
from tests.explain.histories import RecordedWorld
from tests.scheduler.groups import GroupWorld


async def test_a_pending_pod_is_explained_by_its_last_attempt_and_in_full() -> None:
    world = RecordedWorld()
    world.add_nodes(2, cpu=1)
    await world.try_pod("p", cpu=3)
    world.clock.advance(12.0)
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    assert found.record is not None and found.record.attempt == 1
    assert (found.asked_now, found.found.recorded) == (False, False)
    # Nothing has changed since, so the amounts are those of the attempt.
    (short,) = found.found.causes[0].diagnosis
    assert (short.resource, short.missing) == ("cpu", 2000)
    assert found.queue is not None and found.queue.place is Whereabouts.UNSCHEDULABLE
    assert found.found.decision.message == found.record.message


async def test_an_attempt_on_a_state_that_has_changed_is_explained_as_recorded() -> None:
    world = RecordedWorld()
    world.add_nodes(2, cpu=1)
    await world.try_pod("p", cpu=3)
    world.nodes.add(make_node("n2", cpu=1))
    await world.settle()
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    assert found.found.recorded
    assert found.found.causes[0].nodes == 2
    now = await world.ask(world.explainer.explain_pod("default", "p", 0))
    assert now.asked_now
    assert now.found.causes[0].nodes == 3


class Overshoots(Plugin):
    """Gives the second node a score that is out of range."""

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return np.array([50, 143, 20], dtype=np.int64)


class Stumbles(Plugin):
    """Raises when it normalises."""

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return np.array([5, 6, 7], dtype=np.int64)

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        raise ValueError("boom")


@pytest.mark.parametrize(
    ("plugin", "raw", "normalized", "cell"),
    [
        pytest.param(Overshoots, [50, 143, 20], [50, 143, 20], "143", id="out of range"),
        pytest.param(Stumbles, [5, 6, 7], [None] * 3, "6", id="normalising raises"),
    ],
)
@pytest.mark.parametrize("attempt", [None, 0], ids=["recorded", "now"])
async def test_an_attempt_whose_scoring_failed_is_explained_by_the_scores_until_then(
    plugin: type[Plugin], raw: list[int], normalized: list[int], cell: str, attempt: int | None
) -> None:
    world = RecordedWorld(plugin)
    world.add_nodes(3)
    await world.try_pod("p")
    found = await world.ask(world.explainer.explain_pod("default", "p", attempt))
    data = found.data()
    assert (data["outcome"], data["feasible"], data["totals"]) == ("error", [True] * 3, None)
    scores = {one["name"]: one for one in data["scorePlugins"]}
    assert (scores[plugin.name]["raw"], scores[plugin.name]["normalized"]) == (raw, normalized)
    assert len(scores) > 3
    # The command reads the data of the leader.
    read = read_live_explanation(msgspec.json.decode(msgspec.json.encode(data)))
    assert msgspec.json.encode(read.data()) == msgspec.json.encode(data)
    lines = read.lines()
    assert any(line.endswith("scoring failed, so there is no total") for line in lines)
    (row,) = [line.split() for line in lines if line.split()[:1] == ["n1"]]
    assert (cell in row, row[-1]) == (True, "-")


async def test_a_pod_with_a_node_is_explained_by_its_scores() -> None:
    world = RecordedWorld()
    world.add_nodes(3)
    await world.try_pod("p")
    for _ in range(QUESTIONS + 1):
        # What is recorded costs nothing, so there is no limit.
        found = await world.ask(world.explainer.explain_pod("default", "p"))
    assert found.current_node == found.record.node == found.found.chosen
    assert found.queue is None
    assert len(found.found.scores) > 3


async def test_an_earlier_attempt_by_its_number() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    world.nodes.add(make_node("large", cpu=8))
    await world.after(30.0)
    first = await world.ask(world.explainer.explain_pod("default", "p", 1))
    assert first.record is not None and first.record.outcome == "unschedulable"
    assert [record.attempt for record in first.others] == [2]
    with pytest.raises(UnknownPodError, match=r"attempt 5 of pod default/p .* known are: 1, 2"):
        await world.ask(world.explainer.explain_pod("default", "p", 5))


async def test_a_pod_that_is_gone_is_explained_by_what_was_recorded() -> None:
    world = RecordedWorld()
    world.add_nodes(2)
    await world.try_pod("p")
    world.pods.delete("p", "default")
    await world.settle()
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    assert not found.exists
    assert len(found.found.scores) > 3
    world.history.limit = 3000
    await world.try_pod("q")
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    assert not found.found.scores and not found.asked_now
    assert found.found.decision.node_name == found.record.node


async def test_another_pod_of_the_same_name_is_not_taken_for_the_old_one() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3, metadata={"uid": "old"})
    world.pods.delete("p", "default")
    world.pods.add(make_pod("p", cpu=3, metadata={"uid": "new"}, gates=["a/b"]))
    await world.settle()
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    assert found.record is None and found.asked_now
    assert found.queue is not None and found.queue.place is Whereabouts.GATED
    assert [record.uid for record in found.others] == ["old"]


async def test_without_a_history_the_plugins_are_asked_now() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    explainer = Explainer(world.scheduler)
    found = await world.ask(explainer.explain_pod("default", "p"))
    assert found.asked_now and found.record is None
    assert explainer.records_since(0).records == ()
    waiting = asyncio.ensure_future(explainer.wait_for_records(0))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.parametrize(
    ("name", "error"),
    [("nobody", UnknownPodError), ("stranger", ObjectError)],
)
async def test_pods_that_cannot_be_explained(name: str, error: type[Exception]) -> None:
    world = RecordedWorld()
    world.pods.add(make_pod("stranger", scheduler_name="another"))
    with pytest.raises(error, match=name):
        await world.ask(world.explainer.explain_pod("default", name))


async def test_at_most_so_many_examinations_a_second() -> None:
    world = RecordedWorld()
    world.add_nodes(1)
    world.pods.add(make_pod("p", gates=["a/b"]))
    await world.settle()
    for _ in range(QUESTIONS):
        await world.ask(world.explainer.explain_pod("default", "p"))
    with pytest.raises(TooManyQuestions) as caught:
        await world.ask(world.explainer.explain_pod("default", "p"))
    world.clock.advance(caught.value.seconds)
    await world.ask(world.explainer.explain_pod("default", "p"))


async def test_a_question_that_is_withdrawn_is_not_answered() -> None:
    world = RecordedWorld()
    world.pods.add(make_pod("p", gates=["a/b"]))
    await world.settle()
    for _ in range(2 * QUESTIONS):
        asked = asyncio.ensure_future(world.explainer.explain_pod("default", "p"))
        await asyncio.sleep(0)
        asked.cancel()
        await world.settle()
    assert (await world.ask(world.explainer.explain_pod("default", "p"))).asked_now


async def test_a_pod_that_waits_at_permit() -> None:
    class Waiting(Plugin):
        """Waits for a minute."""

        def permit(self, state: Any, pod: Any, node_name: str) -> Status:
            return Status.wait(60.0)

    world = RecordedWorld(Waiting)
    world.add_nodes(1)
    await world.try_pod("p")
    found = await world.ask(world.explainer.explain_pod("default", "p"))
    place = found.queue
    assert place is not None and place.place is Whereabouts.WAITING_AT_PERMIT
    assert (tuple(place.plugins), place.until) == (("Waiting",), world.clock.now() + 60.0)
    page = await world.ask(world.explainer.queue_page())
    assert [one.place for one in page.items] == [Whereabouts.WAITING_AT_PERMIT]
    await world.scheduler.stop()


async def test_the_queue_is_shown_in_pages() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=1)
    for number in range(5):
        world.pods.add(make_pod(f"p{number}", cpu=3))
    world.pods.add(make_pod("gated", gates=["a/b"]))
    await world.settle()
    names: list[str] = []
    after, pages = "", 0
    while pages == 0 or after:
        page = await world.ask(world.explainer.queue_page(after, 4))
        names += [place.name for place in page.items]
        after, pages = page.continue_, pages + 1
        assert page.total == 6
    assert (names, pages) == (["gated", "p0", "p1", "p2", "p3", "p4"], 2)
    data = msgspec.to_builtins(page)
    assert data["continue"] == ""
    assert data["items"][0]["place"] == "unschedulable"


async def test_looking_changes_nothing() -> None:
    class Careful(Plugin):
        """Counts what it is asked, draws numbers and starts work."""

        asked = 0

        def filter(self, state: Any, pod: Any, node: Any) -> None:
            Careful.asked += 1
            self.handle.random.random()
            self.handle.spawn(self._work(), pod)
            self.handle.activate([pod])

        async def _work(self) -> None:
            worked.append(1)

    worked: list[int] = []
    world = RecordedWorld(Careful)
    world.add_nodes(2, cpu=1)
    await world.try_pod("there", cpu=1, priority=1)
    await world.try_pod("p", cpu=3, priority=9)
    worked.clear()
    scheduler, seen = world.scheduler, Careful.asked
    evaluations = scheduler.metrics.plugin_evaluations["Careful", "Filter", "default-scheduler"]
    before = (scheduler.random.state, scheduler.cycle.search.next_start_node_index)
    counted, writes = evaluations.value, list(world.client.writes)
    for name in ("p", "there"):
        await world.ask(world.explainer.explain_pod("default", name, 0))
    assert Careful.asked > seen
    assert (scheduler.random.state, scheduler.cycle.search.next_start_node_index) == before
    assert evaluations.value == counted
    assert (world.client.writes, worked) == (writes, [])
    assert [info.pod.metadata.name for info in scheduler.cache.pods] == ["there"]


async def test_a_pod_of_a_tree_is_explained_with_its_groups() -> None:
    history = AttemptHistory()
    gates = {"TopologyAwareWorkloadScheduling": True, "CompositePodGroup": True}
    world = GroupWorld(taps=[history], gates=gates)
    world.add_nodes("n", cpu=3)
    world.add_composite("job", min_group_count=2)
    world.gang("left", 2, parent="job")
    world.gang("right", 2, parent="job")
    await world.settle()
    asked = asyncio.create_task(
        Explainer(world.scheduler, history).explain_pod("default", "left-0")
    )
    await asyncio.sleep(0)
    await world.settle()
    found = await asked
    assert [one["name"] for one in found.data()["tree"]] == ["job", "left", "right"]
    lines = found.lines()
    assert "pod group default/left of composite pod group default/job" in "\n".join(lines)
    start = lines.index("The last attempt of composite pod group default/job:")
    too_few = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    first = "pod group is unschedulable, 0/1 placements are available, first placement status"
    assert lines[start + 1 :] == [
        "GROUP    NEEDS  PLACED         PLACEMENT  RESULT",
        f"job      2      1 of 2 groups  all nodes  {too_few}",
        "  left   2      2 of 2 pods    all nodes  fits",
        f"  right  2      1 of 2 pods    all nodes  {first}: {too_few}",
    ]

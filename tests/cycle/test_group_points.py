"""The answers of plugins at the points of pod groups."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cycle.group_points import run_placement_feasible, run_pod_group_post_filter
from mooring.framework.placements import NominatePods, PlacementProgress
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.testing import make_pod_group
from tests.scheduler.groups import GroupWorld

GROUP = make_pod_group("g", min_count=2)


class Feasible(Plugin):
    name = "Feasible"
    answer: Any = None

    def placement_feasible(self, state: Any, group: Any, progress: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        return None


class Clearing(Plugin):
    name = "Clearing"
    answer: Any = None

    async def pod_group_post_filter(self, state: Any, group: Any, trial: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def profile_of(plugin: type[Plugin], answer: Any) -> Any:
    kind = type(plugin.__name__, (plugin,), {"name": plugin.name, "answer": answer})
    return GroupWorld(kind).scheduler.profiles["default-scheduler"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (None, Code.SUCCESS),
        (Status.wait(0.0, "more"), Code.WAIT),
        (Status.unschedulable("no"), Code.UNSCHEDULABLE),
        (ValueError("boom"), Code.ERROR),
        ("yes", Code.ERROR),
    ],
)
def test_a_plugin_says_whether_enough_pods_fit(answer: Any, code: Code) -> None:
    profile = profile_of(Feasible, answer)
    progress = PlacementProgress(scheduled=2, remaining=0)
    status = run_placement_feasible(profile, CycleState(), GROUP, progress)
    assert (status or Status.success()).code is code


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        (NominatePods({"u": "n"}, Status.success("done")), Code.SUCCESS, "done"),
        (Status.unresolvable("never"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "never"),
        (
            ValueError("boom"),
            Code.ERROR,
            'error in "Clearing" PodGroupPostFilter plugins: '
            "plugin Clearing, point PodGroupPostFilter: ValueError: boom",
        ),
    ],
)
async def test_the_first_plugin_with_an_answer_ends_the_point(
    answer: Any, code: Code, text: str
) -> None:
    profile = profile_of(Clearing, answer)
    trial: Any = None
    steps = [step for step in profile.pod_group_post_filter if step.name == "Clearing"]
    profile.pod_group_post_filter = tuple(steps)
    result = await run_pod_group_post_filter(profile, CycleState(), GROUP, trial)
    status = result.status if isinstance(result, NominatePods) else result
    assert status.code is code
    assert text in status.message


async def test_refusals_are_collected_in_order() -> None:
    profile = profile_of(Clearing, Status.unschedulable("second"))
    (step,) = (step for step in profile.pod_group_post_filter if step.name == "Clearing")
    profile.pod_group_post_filter = (step, step)
    trial: Any = None
    result = await run_pod_group_post_filter(profile, CycleState(), GROUP, trial)
    assert isinstance(result, Status)
    assert result.reasons == ("second", "second")

"""When the pods of a gang are held back, and what lets them go."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mooring.api import AnyPodGroup, Pod, WorkloadPodGroup
from mooring.framework.cluster_events import QueueingHint
from mooring.framework.features import FeatureGates
from mooring.framework.placements import PlacementProgress
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfos
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.plugins.gang_scheduling import NOT_SCHEDULED, TOO_FEW, GangScheduling
from mooring.testing import make_composite_pod_group, make_pod, make_pod_group

GATES = FeatureGates({"GenericWorkload": True})
INFOS = PodInfos(GATES)


class Waiting:
    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.allowed: list[str] = []

    def allow(self, plugin: str) -> None:
        self.allowed.append(plugin)


class Stage:
    """A plugin with the groups that it sees."""

    def __init__(
        self,
        *groups: WorkloadPodGroup,
        features: FeatureGates = GATES,
        composites: bool = False,
    ) -> None:
        self.groups = PodGroups(composites=composites)
        for group in groups:
            self.groups.set_group(group)
        self.waiting: list[Waiting] = []
        handle: Any = SimpleNamespace(
            features=features,
            pod_groups=self.groups,
            waiting_pods=lambda: self.waiting,
        )
        self.plugin = GangScheduling(handle=handle)
        self.plugin.start()

    def permit(self, pod: Pod) -> Status | None:
        return self.plugin.permit(CycleState(), pod, "n")


def member(name: str, node: str = "") -> Pod:
    return make_pod(name, group="g", node=node, metadata={"uid": name})


def test_a_gang_is_held_until_enough_of_its_pods_exist() -> None:
    stage = Stage(make_pod_group("g", min_count=2))
    stage.groups.set_pending(member("a"))
    status = stage.plugin.pre_enqueue(member("a"))
    assert status == Status.unresolvable(TOO_FEW)
    stage.groups.place(INFOS.of(member("b", "n")))
    assert stage.plugin.pre_enqueue(member("a")) is None


def test_pods_of_a_missing_group_are_held_and_others_are_not() -> None:
    stage = Stage(make_pod_group("basic"))
    status = stage.plugin.pre_enqueue(member("a"))
    assert status is not None
    assert status.message == ('waiting for pods\'s pod group "g" to appear in scheduling queue')
    assert stage.plugin.pre_enqueue(make_pod("p", group="basic")) is None
    assert stage.plugin.pre_enqueue(make_pod("p")) is None


@pytest.mark.parametrize(
    ("scheduled", "remaining", "code", "text"),
    [
        (0, 1, Code.UNSCHEDULABLE, "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"),
        (1, 1, Code.WAIT, "minCount (2) is not yet satisfied: 1 scheduled, 1 remaining"),
        (2, 3, Code.SUCCESS, ""),
    ],
)
def test_whether_enough_pods_fit(scheduled: int, remaining: int, code: Code, text: str) -> None:
    progress = PlacementProgress(scheduled, remaining)
    group = make_pod_group("g", min_count=2)
    answer = Stage().plugin.placement_feasible(CycleState(), group, progress)
    status = answer or Status.success()
    assert (status.code, status.message) == (code, text)


def test_pods_wait_at_permit_until_the_last_one_lets_them_go() -> None:
    stage = Stage(make_pod_group("g", min_count=2))
    stage.groups.set_pending(member("b"))
    stage.groups.place(INFOS.of(member("a", "n")))
    status = stage.permit(member("a"))
    assert status is not None
    assert status.is_wait
    assert status.message == NOT_SCHEDULED
    stage.waiting = [Waiting(member("a")), Waiting(make_pod("stranger", group="other"))]
    stage.groups.place(INFOS.of(member("b", "n")))
    assert stage.permit(member("b")) is None
    assert [waiting.allowed for waiting in stage.waiting] == [["GangScheduling"], []]


def test_permit_has_nothing_to_say_of_other_pods_and_an_error_for_a_missing_group() -> None:
    stage = Stage(make_pod_group("basic"))
    assert stage.permit(make_pod("p")) is None
    assert stage.permit(make_pod("p", group="basic")) is None
    status = stage.permit(member("a"))
    assert status is not None
    assert status.is_error


def test_without_pod_groups_the_plugin_agrees_to_everything() -> None:
    stage = Stage(features=FeatureGates())
    assert stage.plugin.pre_enqueue(member("a")) is None
    assert stage.permit(member("a")) is None


QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


@pytest.mark.parametrize(
    ("index", "old", "new", "hint"),
    [
        pytest.param(0, None, member("b"), QUEUE, id="a pod of the group"),
        pytest.param(0, None, make_pod("p", group="x"), SKIP, id="a pod of another group"),
        pytest.param(0, None, make_pod("p"), SKIP, id="a pod without a group"),
        pytest.param(1, None, make_pod_group("g"), QUEUE, id="the group"),
        pytest.param(1, None, make_pod_group("x"), SKIP, id="another group"),
        pytest.param(
            2,
            make_pod_group("g", min_count=3),
            make_pod_group("g", min_count=2),
            QUEUE,
            id="a lower minCount",
        ),
        pytest.param(
            2,
            make_pod_group("g", min_count=2),
            make_pod_group("g", min_count=3),
            QUEUE,
            id="a higher minCount, which the group is told",
        ),
        pytest.param(2, make_pod_group("g"), make_pod_group("g"), SKIP, id="no gang"),
        pytest.param(
            2,
            make_pod_group("x", min_count=3),
            make_pod_group("x", min_count=2),
            SKIP,
            id="a lower minCount of another group",
        ),
    ],
)
def test_which_events_may_help(index: int, old: Any, new: Any, hint: QueueingHint) -> None:
    event = Stage().plugin.events_to_register()[index]
    assert event.hint is not None
    assert event.hint(member("a"), old, new) is hint


JOB = make_composite_pod_group("job", min_group_count=2)
TREE = (JOB, make_pod_group("g", min_count=2, parent="job"), make_pod_group("h", parent="job"))
WAITING = 'waiting for composite pod group "job" tree to meet quorum'


def of_tree(*groups: AnyPodGroup) -> Stage:
    stage = Stage(composites=True)
    for group in groups:
        stage.groups.set_group(group)
    return stage


def text(status: Status | None) -> str | None:
    return None if status is None else status.message


def test_the_pods_of_a_tree_are_held_until_enough_groups_are_complete() -> None:
    stage = of_tree(*TREE)
    other = make_pod("c", group="h", metadata={"uid": "c"})
    for pod in (member("a"), other):
        stage.groups.set_pending(pod)
    assert text(stage.plugin.pre_enqueue(other)) == WAITING
    stage.groups.set_pending(member("b"))
    assert stage.plugin.pre_enqueue(other) is None
    stage.groups.remove_group(JOB)
    assert text(stage.plugin.pre_enqueue(other)) == (
        "failed to build hierarchy snapshot: composite pod group object not found in state for "
        "compositepodgroup/default/job"
    )


def test_a_tree_of_too_many_levels_is_held() -> None:
    names = ["1", "2", "3", "4", "5"]
    levels = [
        make_composite_pod_group(name, parent=above)
        for name, above in zip(names, [None, *names], strict=False)
    ]
    for depth, held in ((4, False), (5, True)):
        stage = of_tree(*levels[:depth], make_pod_group("g", parent=names[depth - 1]))
        stage.groups.set_pending(member("a"))
        assert (stage.plugin.pre_enqueue(member("a")) is not None) is held


@pytest.mark.parametrize(
    ("parents", "found"),
    [
        pytest.param({"p": "p"}, "p", id="a group that is its own parent"),
        pytest.param({"p": "q", "q": "p"}, "q", id="two groups"),
        pytest.param({"p": "q", "q": "r", "r": "p"}, "p", id="three groups"),
        pytest.param({"p": "q", "q": "r", "r": "q"}, "q", id="two groups above another one"),
        pytest.param(
            {"p": "q", "q": "r", "r": "s", "s": "t", "t": "p"}, "s", id="more groups than levels"
        ),
    ],
)
def test_groups_whose_parents_form_a_cycle_are_held(parents: dict[str, str], found: str) -> None:
    composites = [make_composite_pod_group(name, parent=up) for name, up in parents.items()]
    stage = of_tree(*composites, make_pod_group("g", parent="p"))
    stage.groups.set_pending(member("a"))
    assert text(stage.plugin.pre_enqueue(member("a"))) == (
        "failed to build hierarchy snapshot: cycle detected in composite pod group hierarchy: "
        f"compositepodgroup/default/{found}"
    )


def test_the_pods_of_a_tree_wait_at_permit_for_each_other() -> None:
    stage = of_tree(*TREE)
    first = make_pod("c", group="h", node="n", metadata={"uid": "c"})
    stage.groups.place(INFOS.of(first))
    status = stage.permit(first)
    assert status is not None and (status.code, status.message) == (Code.WAIT, WAITING)
    stage.waiting.append(Waiting(first))
    for name in ("a", "b"):
        stage.groups.place(INFOS.of(member(name, node="n")))
    assert stage.permit(member("b", node="n")) is None
    assert stage.waiting[0].allowed == ["GangScheduling"]
    stage.groups.remove_group(JOB)
    status = stage.permit(member("b", node="n"))
    assert status is not None and status.is_error


@pytest.mark.parametrize(
    ("index", "new", "hint"),
    [
        pytest.param(0, make_pod("p", group="h"), QUEUE, id="a pod of another group of the tree"),
        pytest.param(0, make_pod("p", group="x"), SKIP, id="a pod of a stranger"),
        pytest.param(1, TREE[2], QUEUE, id="another group of the tree"),
        pytest.param(1, make_pod_group("x"), SKIP, id="a group of its own"),
        pytest.param(3, JOB, QUEUE, id="the top"),
        pytest.param(3, make_composite_pod_group("x"), SKIP, id="the top of another tree"),
    ],
)
def test_which_events_may_help_a_tree(index: int, new: Any, hint: QueueingHint) -> None:
    event = of_tree(*TREE).plugin.events_to_register()[index]
    assert event.hint is not None
    assert event.hint(member("a"), None, new) is hint

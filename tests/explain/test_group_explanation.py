"""The explanation of a pod group's attempts, as text and as data."""

from __future__ import annotations

from mooring.api import Pod
from mooring.explain.group_explanation import SHOWN_PLACEMENTS, group_data, group_text
from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup, TriedPlacement, TriedPod
from mooring.scheduler.examined_group import ExaminedGroup
from mooring.testing import make_composite_pod_group, make_pod, make_pod_group

GROUP = make_pod_group("g", min_count=2)
PODS = [make_pod(f"g-{index}", group="g") for index in range(2)]
TOO_FEW = Status.unschedulable("minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
FULL = "0/1 nodes are available: 1 Insufficient cpu."


def placed(*nodes: str) -> list[TriedPod]:
    """Return the pods, each with a node, or refused."""
    return [
        TriedPod(pod, node) if node else TriedPod(pod, message=FULL)
        for pod, node in zip(PODS, nodes, strict=False)
    ]


def examined(
    *placements: TriedPlacement, status: Status | None = None, attempt: int = 1
) -> ExaminedGroup:
    return ExaminedGroup(TriedGroup(GROUP, status, placements, size=2), attempt, PODS, status)


def test_the_chosen_placement_and_the_others_are_listed() -> None:
    a = TriedPlacement("a", 2, placed("a1", "a2"), None, {"Fit": 20, "Count": 100}, 120)
    b = TriedPlacement("b", 1, placed("b1", "b1"), None, {"Fit": 50, "Count": 100}, 150)
    b.is_chosen = True
    c = TriedPlacement("c", 1, placed("c1", ""), TOO_FEW)
    assert group_text(PODS[0], [examined(a, b, c)]) == [
        "default/g-0, pod group default/g, attempt 1: scheduled",
        "",
        "Placements: the group fits in 2 of 3",
        "PLACEMENT  NODES  PODS    Fit  Count  TOTAL  RESULT",
        "a          2      2 of 2  20   100    120    fits",
        "b          1      2 of 2  50   100    150    fits, chosen",
        "c          1      1 of 2  -    -      -      "
        "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
        f"c: default/g-1: {FULL}",
        "",
        "POD          NODE",
        "default/g-0  b1",
        "default/g-1  b1",
    ]


def test_a_group_that_does_not_fit_says_why_in_each_placement() -> None:
    only = TriedPlacement("", 1, placed("n", ""), TOO_FEW)
    final = Status.unschedulable(*TOO_FEW.reasons, "pod group preemption: none")
    first = examined(only, status=TOO_FEW)
    lines = group_text(PODS[1], [first, examined(only, status=final, attempt=2)])
    assert lines == [
        "default/g-1, pod group default/g, attempt 2: unschedulable",
        f"  attempt 1: unschedulable: {TOO_FEW.message}",
        f"  {final.message}",
        "",
        "PLACEMENT  NODES  PODS    RESULT",
        f"all nodes  1      1 of 2  {TOO_FEW.message}",
        f"all nodes: default/g-1: {FULL}",
    ]


def test_a_group_that_was_not_tried_shows_no_placements() -> None:
    lines = group_text(PODS[0], [examined(status=Status.error("pods differ"))])
    assert lines == ["default/g-0, pod group default/g, attempt 1: failed", "  pods differ"]


def test_an_earlier_attempt_may_have_succeeded() -> None:
    only = TriedPlacement("", 1, placed("n", "n"), None, is_chosen=True)
    lines = group_text(PODS[0], [examined(only), examined(only, attempt=2)])
    assert lines[1] == "  attempt 1: scheduled"


def test_of_many_placements_the_chosen_one_is_shown() -> None:
    refused = [TriedPlacement(f"r{n}", 1, placed(""), TOO_FEW) for n in range(SHOWN_PLACEMENTS)]
    chosen = TriedPlacement("z", 1, placed("z1", "z1"), None, is_chosen=True)
    fits = TriedPlacement("y", 1, placed("y1", "y1"), None)
    lines = group_text(PODS[0], [examined(*refused, fits, chosen)])
    assert lines[4].startswith("z  ")
    assert lines[5].startswith("y  ")
    assert "  and 2 more" in lines


def test_the_data_hold_every_placement_and_pod() -> None:
    a = TriedPlacement("a", 2, placed("a1", ""), TOO_FEW)
    b = TriedPlacement("b", 1, placed("b1", "b1"), None, {"Fit": 50}, 50, is_chosen=True)
    data = group_data(PODS[0], [examined(a, status=TOO_FEW), examined(a, b, attempt=2)])
    assert data == {
        "namespace": "default",
        "name": "g",
        "attempt": 2,
        "scheduled": True,
        "message": "",
        "minCount": 2,
        "placements": [
            {
                "name": "a",
                "nodes": 2,
                "fits": False,
                "chosen": False,
                "message": TOO_FEW.message,
                "scores": {},
                "total": None,
                "pods": [_pod(PODS[0], "a1"), _pod(PODS[1], "", FULL)],
            },
            {
                "name": "b",
                "nodes": 1,
                "fits": True,
                "chosen": True,
                "message": "",
                "scores": {"Fit": 50},
                "total": 50,
                "pods": [_pod(PODS[0], "b1"), _pod(PODS[1], "b1")],
            },
        ],
        "earlierAttempts": [{"attempt": 1, "scheduled": False, "message": TOO_FEW.message}],
    }


def _pod(pod: Pod, node: str, message: str = "") -> dict[str, str]:
    return {"name": pod.name, "node": node, "message": message}


def test_attempts_after_a_pod_was_placed_are_not_shown_for_it() -> None:
    only = TriedPlacement("", 1, placed("n"), None, is_chosen=True)
    later = ExaminedGroup(TriedGroup(GROUP, TOO_FEW, (), size=1), 2, PODS[1:], TOO_FEW)
    lines = group_text(PODS[0], [examined(only), later])
    assert lines[0] == "default/g-0, pod group default/g, attempt 1: scheduled"
    assert group_data(PODS[0], [examined(only), later])["attempt"] == 1
    assert group_data(PODS[1], [examined(only), later])["attempt"] == 2


# Trees.

JOB = make_composite_pod_group("job", min_group_count=2)
LEAVES = {name: make_pod_group(name, parent="job", min_count=2) for name in ("left", "right")}
MEMBERS = {name: [make_pod(f"{name}-{i}", group=name) for i in range(2)] for name in LEAVES}
ONE_PART = Status.unschedulable("minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
NO_RACK = Status.unschedulable("pod group is unschedulable", "0/2 placements are available")


def leaf(name: str, *placements: TriedPlacement, status: Status | None = None) -> TriedGroup:
    return TriedGroup(LEAVES[name], status, placements, size=2)


def of_leaf(
    name: str, rack: str, *nodes: str, status: Status | None = None, chosen: bool = False
) -> TriedPlacement:
    """Return a placement of a pod group whose pods found these nodes; "" is no node."""
    pods = [
        TriedPod(pod, node) if node else TriedPod(pod, message=FULL)
        for pod, node in zip(MEMBERS[name], nodes, strict=False)
    ]
    return TriedPlacement(rack, 1, pods, status, is_chosen=chosen)


def tree(
    *parts: TriedGroup, status: Status | None = None, final: Status | None = None
) -> ExaminedGroup:
    """Return an attempt of a tree in one placement."""
    only = TriedPlacement("", 4, (), status, is_chosen=status is None, parts=parts)
    top = TriedGroup(JOB, final or status, [only], size=2)
    pods = [pod for members in MEMBERS.values() for pod in members]
    return ExaminedGroup(top, 1, pods, final or status)


LEFT = leaf("left", of_leaf("left", "a", "a1", "a2", chosen=True))
RIGHT = leaf("right", of_leaf("right", "b", "b1", "b1", chosen=True))
FAILED = leaf(
    "right",
    of_leaf("right", "a", "", status=TOO_FEW),
    of_leaf("right", "b", "b1", "", status=TOO_FEW),
    status=NO_RACK,
)


def test_a_tree_that_fits_shows_its_groups_and_all_its_pods() -> None:
    assert group_text(MEMBERS["left"][0], [tree(LEFT, RIGHT)]) == [
        "default/left-0, pod group default/left of composite pod group default/job, attempt 1: "
        "scheduled",
        "",
        "GROUP    NEEDS  PLACED         PLACEMENT  RESULT",
        "job      2      2 of 2 groups  all nodes  fits",
        "  left   2      2 of 2 pods    a          fits",
        "  right  2      2 of 2 pods    b          fits",
        "",
        "POD              NODE",
        "default/left-0   a1",
        "default/left-1   a2",
        "default/right-0  b1",
        "default/right-1  b1",
    ]


def test_a_tree_that_does_not_fit_shows_which_group_failed_and_why() -> None:
    assert group_text(MEMBERS["left"][0], [tree(LEFT, FAILED, status=ONE_PART)]) == [
        "default/left-0, pod group default/left of composite pod group default/job, attempt 1: "
        "unschedulable",
        f"  {ONE_PART.message}",
        "",
        "GROUP    NEEDS  PLACED         PLACEMENT  RESULT",
        f"job      2      1 of 2 groups  all nodes  {ONE_PART.message}",
        "  left   2      2 of 2 pods    a          fits",
        f"  right  2      0 of 2 pods    0 of 2     {TOO_FEW.message}",
        "",
        "Placements: right fits in 0 of 2",
        "PLACEMENT  NODES  PODS    RESULT",
        f"a          1      0 of 2  {TOO_FEW.message}",
        f"b          1      1 of 2  {TOO_FEW.message}",
        f"a: default/right-0: {FULL}",
        f"b: default/right-1: {FULL}",
    ]


def test_a_failed_group_that_its_tree_does_not_need_is_unschedulable() -> None:
    pod = MEMBERS["right"][0]
    lines = group_text(pod, [tree(LEFT, FAILED)])
    assert lines[0].endswith("attempt 1: unschedulable, the rest of job was scheduled")
    assert lines[1] == f"  {NO_RACK.message}"
    assert lines[-3:] == ["POD             NODE", "default/left-0  a1", "default/left-1  a2"]
    data = group_data(pod, [tree(LEFT, FAILED)])
    assert (data["scheduled"], data["message"]) == (False, NO_RACK.message)


def test_a_group_after_a_required_one_that_failed_is_not_tried() -> None:
    untried = TriedGroup(LEAVES["right"], None, is_tried=False)
    failed = of_leaf("left", "", "a1", "", status=TOO_FEW)
    lines = group_text(MEMBERS["right"][0], [tree(leaf("left", failed, status=TOO_FEW), untried)])
    assert lines[-2] == "  right  2      -              -          not tried"
    assert lines[-1] == f"left: default/left-1: {FULL}"


def test_a_composite_group_with_several_placements_names_the_part_that_failed() -> None:
    fits = TriedPlacement("z1", 2, (), None, is_chosen=True, parts=[LEFT, RIGHT])
    refused = TriedPlacement("z2", 2, (), ONE_PART, parts=[LEFT, FAILED])
    found = ExaminedGroup(TriedGroup(JOB, None, [refused, fits], size=2), 1, [], None)
    lines = group_text(MEMBERS["left"][0], [found])
    start = lines.index("Placements: job fits in 1 of 2")
    assert lines[start : start + 4] == [
        "Placements: job fits in 1 of 2",
        "PLACEMENT  NODES  GROUPS  RESULT",
        f"z2         2      1 of 2  {ONE_PART.message}",
        "z1         2      2 of 2  fits, chosen",
    ]
    assert lines[start + 4] == f"z2: right: {TOO_FEW.message}"


def test_a_tree_whose_quorum_runs_says_that_nothing_else_fits() -> None:
    found = tree(LEFT, FAILED, final=Status.unschedulable("pod group is unschedulable"))
    lines = group_text(MEMBERS["right"][0], [found])
    (top,) = [line for line in lines if line.startswith("job ")]
    assert top.endswith("1 of 2 groups  all nodes  has its quorum, and no other pod fits")
    assert not any(line.startswith("POD ") for line in lines)


def test_the_data_of_a_tree_hold_every_group() -> None:
    data = group_data(MEMBERS["right"][0], [tree(LEFT, FAILED, status=ONE_PART)])
    assert (data["name"], data["minCount"]) == ("right", 2)
    assert [one["name"] for one in data["placements"]] == ["a", "b"]
    top = data["tree"]
    assert (top["kind"], top["name"], top["minGroupCount"]) == ("CompositePodGroup", "job", 2)
    assert (top["tried"], top["fits"], top["message"]) == (True, False, ONE_PART.message)
    left, right = top["placements"][0]["groups"]
    assert (left["kind"], left["name"], left["minCount"]) == ("PodGroup", "left", 2)
    assert (left["fits"], right["fits"], right["message"]) == (True, False, NO_RACK.message)
    assert left["placements"][0]["pods"] == [
        _pod(MEMBERS["left"][0], "a1"),
        _pod(MEMBERS["left"][1], "a2"),
    ]

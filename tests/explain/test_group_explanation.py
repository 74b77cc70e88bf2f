"""The explanation of a pod group's attempts, as text and as data."""

from __future__ import annotations

from mooring.api import Pod
from mooring.explain.group_explanation import SHOWN_PLACEMENTS, group_data, group_text
from mooring.framework.status import Status
from mooring.scheduler.examined_group import ExaminedGroup, TriedPlacement, TriedPod
from mooring.testing import make_pod, make_pod_group

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
    return ExaminedGroup(GROUP, attempt, PODS, status, placements)


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
    data = group_data([examined(a, status=TOO_FEW), examined(a, b, attempt=2)])
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

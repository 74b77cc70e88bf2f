"""What plugins answer."""

from __future__ import annotations

import pytest

from mooring.framework.status import Code, Status, code_of


@pytest.mark.parametrize(
    ("status", "code", "true"),
    [
        (Status.success(), Code.SUCCESS, {"is_success"}),
        (Status.skip(), Code.SKIP, {"is_skip"}),
        (Status.unschedulable("no"), Code.UNSCHEDULABLE, {"is_rejected"}),
        (Status.unresolvable("no"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, {"is_rejected"}),
        (Status.pending("no"), Code.PENDING, {"is_rejected"}),
        (Status.error("bad"), Code.ERROR, {"is_error"}),
        (Status.wait(5), Code.WAIT, {"is_wait"}),
    ],
    ids=lambda value: value.label if isinstance(value, Code) else "",
)
def test_each_answer_is_one_thing(status, code, true):
    questions = ("is_success", "is_skip", "is_wait", "is_rejected", "is_error")
    assert {name for name in questions if getattr(status, name)} == true
    assert status.code is code is code_of(status)


def test_none_is_success():
    assert code_of(None) is Code.SUCCESS


def test_reasons_are_one_message():
    assert Status.unschedulable("a", "b").message == "a, b"
    assert Status.unschedulable().message == ""
    assert Status.wait(1.5, "soon").timeout == 1.5


def test_a_status_is_attributed_to_a_plugin():
    status = Status.unschedulable("a")
    named = status.by("P")
    assert (named.plugin, named.reasons, status.plugin) == ("P", ("a",), "")
    assert named.by("P") is named
    assert named.by("Q").plugin == "Q"


def test_labels_are_kube_schedulers():
    # kube-scheduler: framework/interface.go (codes)
    assert [code.label for code in Code] == [
        "Success",
        "Error",
        "Unschedulable",
        "UnschedulableAndUnresolvable",
        "Wait",
        "Skip",
        "Pending",
    ]


def test_a_refusal_can_name_each_node():
    status = Status.unschedulable("{node} is full", "so is {node}").per_node()
    assert status.for_node("n1") == Status.unschedulable("n1 is full", "so is n1")
    assert status.for_node("n1").for_node("n2") == status.for_node("n1")


def test_braces_of_other_refusals_are_kept():
    status = Status.unschedulable("no {node}")
    assert status.for_node("n1") is status


def test_only_a_refusal_names_nodes():
    with pytest.raises(ValueError, match="only a refusal can name its nodes, not Error"):
        Status.error("{node} broke").per_node()


def test_a_refusal_can_make_the_pod_wait_for_its_whole_backoff():
    status = Status.unresolvable("too long").after_backoff()
    assert status.backs_off and status.by("P").backs_off
    assert not Status.unresolvable("too long").backs_off
    with pytest.raises(ValueError, match="only a refusal can make a pod back off, not Error"):
        Status.error("bad").after_backoff()

"""Taints and tolerations."""

from __future__ import annotations

import pytest

from mooring.api import Taint, Toleration, decode_as
from mooring.api.taints import Tolerations, find_untolerated, tolerates
from tests.api.reference import recorded


@pytest.mark.parametrize(("question", "answer"), recorded("toleration"), ids=lambda _: "recorded")
def test_tolerations_answer_as_in_the_reference(question, answer):
    toleration = decode_as(question["Toleration"], Toleration)
    taint = decode_as(question["Taint"], Taint)
    assert tolerates(toleration, taint, question["Opts"]["cmp"]) is answer


def test_the_first_untolerated_taint_with_an_effect_that_counts_is_found():
    taints = [
        Taint(key="a", effect="PreferNoSchedule"),
        Taint(key="b", value="1", effect="NoSchedule"),
        Taint(key="c", effect="NoExecute"),
    ]
    tolerations = [Toleration(key="b", operator="Exists")]
    assert find_untolerated(taints, []) is taints[1]
    assert find_untolerated(taints, tolerations) is taints[2]
    assert find_untolerated(taints, [Toleration(operator="Exists")]) is None
    assert find_untolerated(taints, tolerations, effects=("PreferNoSchedule",)) is taints[0]


@pytest.mark.parametrize(
    ("taint", "text"),
    [
        (Taint(key="k", value="v", effect="NoSchedule"), "k=v:NoSchedule"),
        (Taint(key="k", effect="NoSchedule"), "k:NoSchedule"),
        (Taint(key="k", value="v"), "k=v:"),
        (Taint(key="k"), "k"),
    ],
    ids=str,
)
def test_a_taint_is_printed_without_empty_parts(taint, text):
    assert taint.to_string() == text


@pytest.mark.parametrize(("question", "answer"), recorded("toleration"), ids=lambda _: "recorded")
def test_many_tolerations_answer_as_each_alone(question, answer):
    toleration = decode_as(question["Toleration"], Toleration)
    taint = decode_as(question["Taint"], Taint)
    others = [Toleration(key=f"other-{i}", operator="Exists") for i in range(40)]
    many = Tolerations([*others, toleration, *others], question["Opts"]["cmp"])
    assert many.tolerate(taint) is answer


def test_of_many_bounds_the_widest_counts():
    bounds = [Toleration(key="size", operator="Lt", value=str(i)) for i in range(40)]
    bounds += [Toleration(key="size", operator="Gt", value=str(i)) for i in range(60, 100)]
    many = Tolerations(bounds, True)
    answers = {n: many.tolerate(Taint(key="size", value=str(n))) for n in (38, 39, 50, 60, 61)}
    assert answers == {38: True, 39: False, 50: False, 60: False, 61: True}
    assert not Tolerations(bounds, False).tolerate(Taint(key="size", value="1"))

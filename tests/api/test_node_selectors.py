"""Node selectors and node affinity."""

from __future__ import annotations

import pytest

from mooring.api import Node, Pod, PreferredSchedulingTerm, decode_as
from mooring.api.node_selectors import NodeTerms, PreferredTerms, required_node_affinity
from mooring.api.scheduling import NodeSelector
from mooring.errors import ObjectError
from tests.api.reference import recorded


@pytest.mark.parametrize(("question", "answer"), recorded("affinity"), ids=lambda _: "recorded")
def test_required_affinity_matches_as_in_the_reference(question, answer):
    affinity = required_node_affinity(decode_as(question["Pod"], Pod))
    node = decode_as(question["Node"], Node)
    matches, message = answer
    assert affinity.matches(node) is matches
    if message:
        with pytest.raises(ObjectError) as caught:
            affinity.terms.check()
        assert caught.value.message == message


@pytest.mark.parametrize(("question", "answer"), recorded("preferred"), ids=lambda _: "recorded")
def test_preferences_score_as_in_the_reference(question, answer):
    terms = [decode_as(term, PreferredSchedulingTerm) for term in question["Preferred"]]
    score, message = answer
    if score is None:
        with pytest.raises(ObjectError) as caught:
            PreferredTerms.parse(terms)
        assert caught.value.message == message
    else:
        assert PreferredTerms.parse(terms).score(decode_as(question["Node"], Node)) == score


def selector(*terms):
    return decode_as({"nodeSelectorTerms": list(terms)}, NodeSelector)


def label(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        pytest.param([], False, id="no term matches no node"),
        pytest.param([{}], False, id="an empty term matches no node"),
        pytest.param([{}, label("zone", "In", "a")], True, id="one term is enough"),
        pytest.param(
            [label("zone", "Bad"), label("zone", "Exists")], True, id="a bad one hurts not"
        ),
        pytest.param([label("zone", "Bad")], False, id="a bad one alone matches nothing"),
    ],
)
def test_terms_are_alternatives(terms, matches):
    node = decode_as({"metadata": {"name": "n", "labels": {"zone": "a"}}}, Node)
    assert NodeTerms.parse(selector(*terms)).matches(node) is matches


def test_a_strict_parse_raises_with_the_path():
    with pytest.raises(
        ObjectError, match=r"^nodeSelectorTerms\[0\].matchExpressions\[0\].operator"
    ):
        NodeTerms.parse_strictly(selector(label("zone", "Bad")))


def test_equal_demands_are_one_key():
    first = NodeTerms.parse(selector(label("zone", "In", "a", "b")))
    second = NodeTerms.parse(selector(label("zone", "In", "b", "a")))
    assert first == second
    assert hash(first) == hash(second)
    pods = [decode_as({"spec": {"nodeSelector": labels}}, Pod) for labels in ({"a": "1"},) * 2]
    assert len({required_node_affinity(pod) for pod in pods}) == 1
    assert required_node_affinity(Pod()).matches(Node())

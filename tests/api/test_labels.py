"""Label selectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import LabelSelector, decode_as
from mooring.api.labels import EVERYTHING, NOTHING, Requirement, Selector
from mooring.errors import MooringError, ObjectError
from tests.api.reference import recorded


@pytest.mark.parametrize(("question", "answer"), recorded("selector"), ids=lambda _: "recorded")
def test_label_selectors_match_as_in_the_reference(question, answer):
    raw, (matches, message) = question["Selector"], answer
    typed = None if raw is None else decode_as(raw, LabelSelector)
    if matches is None:
        with pytest.raises(ObjectError) as caught:
            Selector.from_label_selector(typed)
        assert caught.value.message == message
    else:
        assert Selector.from_label_selector(typed).matches(question["Labels"]) is matches


@pytest.mark.parametrize(("question", "answer"), recorded("text"), ids=lambda _: "recorded")
def test_the_text_form_is_read_as_in_the_reference(question, answer):
    if answer[0] is None:
        with pytest.raises(ObjectError):
            Selector.from_text(question["Text"])
    else:
        assert Selector.from_text(question["Text"]).matches(question["Labels"]) is answer[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("a=1,b=2", "b=2,a=1", id="the order of requirements does not matter"),
        pytest.param("a in (x,y)", "a in (y,x)", id="nor that of values"),
        pytest.param("a in (x)", "a=x", id="one value is equality"),
        pytest.param("a notin (x)", "a!=x", id="and its negation"),
        pytest.param("a=1,a=1", "a=1", id="what is said twice is said once"),
    ],
)
def test_equal_selectors_are_one_key(one, other):
    left, right = Selector.from_text(one), Selector.from_text(other)
    assert left == right
    assert hash(left) == hash(right)
    assert len({left, right}) == 1


def test_nothing_and_everything():
    assert Selector.from_label_selector(None) is NOTHING
    assert Selector.from_label_selector(LabelSelector()) is EVERYTHING
    assert Selector.from_map({}) is EVERYTHING
    assert NOTHING != EVERYTHING
    assert EVERYTHING.matches({}) and EVERYTHING.empty
    assert not NOTHING.matches({"a": "b"}) and not NOTHING.empty
    assert NOTHING.add(Requirement("a", "Exists")) is NOTHING
    assert EVERYTHING.add(Requirement("a", "Exists")).matches({"a": ""})


@pytest.mark.parametrize(
    ("requirement", "value", "matches"),
    [
        (Requirement("a", "In", ["x", "y"]), "y", True),
        (Requirement("a", "In", ["x"]), None, False),
        (Requirement("a", "NotIn", ["x"]), None, True),
        (Requirement("a", "!=", ["x"]), "x", False),
        (Requirement("a", "Exists"), "", True),
        (Requirement("a", "DoesNotExist"), None, True),
        (Requirement("a", "Gt", ["5"]), "6", True),
        (Requirement("a", "Gt", ["5"]), "six", False),
        (Requirement("a", "Lt", ["5"]), "-6", True),
        (Requirement("a", "Lt", ["5"]), None, False),
    ],
    ids=str,
)
def test_a_requirement_judges_a_value_or_its_absence(requirement, value, matches):
    assert requirement.matches_value(value) is matches


def test_the_text_says_what_was_selected():
    text = "a=b,c in (x,y),!d,e!=f,g>1,h<2,i"
    assert str(Selector.from_text(text)) == text


@given(st.text(alphabet="ab=!<>(),in x", max_size=20) | st.text(max_size=10))
def test_only_our_errors_escape(text):
    try:
        selector = Selector.from_text(text)
    except MooringError:
        return
    assert selector.matches({"a": "b"}) in (True, False)
    assert Selector.from_text(str(selector)) == selector

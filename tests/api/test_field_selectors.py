"""Field selectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import decode, encode
from mooring.api.field_selectors import FieldSelector
from mooring.errors import MooringError, ObjectError

RAW = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"nodeName": "n1", "hostNetwork": True},
    "status": {"phase": "Running", "podIP": "1.2.3.4"},
}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("spec.nodeName=n1", True),
        ("spec.nodeName==n2", False),
        ("spec.nodeName!=n2,status.phase=Running", True),
        ("spec.nodeName=n1,status.phase!=Running", False),
        ("spec.hostNetwork=true", True),
        ("status.podIP=1.2.3.4", True),
        ("spec.schedulerName=", True),
        ("spec.containers.name=", True),
        ("spec.nothing!=", False),
    ],
)
def test_objects_and_dicts_are_judged_alike(text, matches):
    selector = FieldSelector.from_text(text)
    assert selector.matches(RAW) is matches
    assert selector.matches(decode(RAW)) is matches
    assert selector.matches(encode(decode(RAW))) is matches


def test_values_may_hold_escaped_signs():
    selector = FieldSelector.from_text(r"metadata.name=a\,b\=c\\d")
    assert selector.requirements[0].value == r"a,b=c\d"
    assert FieldSelector.from_text(str(selector)) == selector
    assert not selector.empty
    assert FieldSelector.from_text("").empty


def test_the_order_does_not_matter():
    one, other = FieldSelector.from_text("a=1,b=2"), FieldSelector.from_text("b=2,a=1")
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize("text", ["a", "=b", "a=b=c", "a!b"])
def test_what_is_no_selector_is_refused(text):
    with pytest.raises(ObjectError, match="invalid field selector"):
        FieldSelector.from_text(text)


@given(st.text(alphabet="ab.=!,\\", max_size=12))
def test_only_our_errors_escape(text):
    try:
        selector = FieldSelector.from_text(text)
    except MooringError:
        return
    assert FieldSelector.from_text(str(selector)) == selector

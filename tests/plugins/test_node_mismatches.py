"""Which labels of a node do not match."""

from __future__ import annotations

import pytest

from mooring.api import NodeSelectorTerm, NodeTerms, Requirement
from mooring.api.node_selectors import Term
from mooring.api.scheduling import NodeSelectorRequirement
from mooring.plugins.node_mismatches import mismatch, nearest_term, unmet_labels
from mooring.testing.builders import make_node


@pytest.mark.parametrize(
    ("operator", "values", "found", "text"),
    [
        ("In", ["b"], "a", "zone is a, not b"),
        ("In", ["b", "c"], None, "zone is not set, not b or c"),
        ("In", ["b"], "", 'zone is "", not b'),
        ("NotIn", ["a"], "a", "zone is a"),
        ("Exists", [], None, "zone is not set"),
        ("DoesNotExist", [], "a", "zone is a"),
        ("DoesNotExist", [], "", "zone is set"),
        ("Gt", ["5"], "3", "zone is 3, not above 5"),
        ("Lt", ["5"], "7", "zone is 7, not below 5"),
    ],
)
def test_every_operator(operator: str, values: list[str], found: str | None, text: str) -> None:
    assert mismatch(Requirement("zone", operator, values), found) == text


def test_labels_of_a_node_selector() -> None:
    labels = {"zone": "a", "disk": "ssd"}
    wanted = {"zone": "b", "disk": "ssd", "gpu": "yes"}
    assert unmet_labels(wanted, labels) == "zone is a, not b, gpu is not set, not yes"
    assert unmet_labels({}, labels) == ""


def test_the_term_that_comes_nearest_is_described() -> None:
    far = Term([Requirement("zone", "In", ["b"]), Requirement("gpu", "Exists")])
    near = Term([Requirement("disk", "In", ["ssd"])])
    node = make_node("n1", labels={"zone": "a", "disk": "hdd"})
    assert nearest_term(NodeTerms([far, near]), node) == "disk is hdd, not ssd"


def test_a_term_about_the_name_of_the_node() -> None:
    named = NodeSelectorRequirement(key="metadata.name", operator="In", values=("n2",))
    term = Term.parse(NodeSelectorTerm(match_fields=(named,)))
    assert nearest_term(NodeTerms([term]), make_node("n1")) == "metadata.name is n1, not n2"


def test_terms_that_cannot_match() -> None:
    assert nearest_term(NodeTerms([]), make_node("n1")) == "no term can match"

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import NodeSelector, NodeTerms, decode_as
from mooring.api.node_selectors import RequiredNodeAffinity
from mooring.plugins.node_matching import nodes_matching_required, nodes_matching_terms
from tests.plugins.cluster import Cluster, make_node

KEYS = st.sampled_from(["zone", "size", "disk"])
VALUES = st.sampled_from(["a", "b", "3", "7", "-2"])
LABELS = st.dictionaries(KEYS, VALUES, max_size=3)


@st.composite
def expressions(draw: st.DrawFn) -> dict:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Odd"]))
    values = draw(st.lists(VALUES, min_size=1, max_size=3))
    if operator in ("Gt", "Lt"):
        values = [draw(st.sampled_from(["3", "7", "many"]))]
    elif operator in ("Exists", "DoesNotExist"):
        values = []
    return {"key": draw(KEYS), "operator": operator, "values": values}


@st.composite
def fields(draw: st.DrawFn) -> dict:
    return {
        "key": draw(st.sampled_from(["metadata.name", "metadata.namespace"])),
        "operator": draw(st.sampled_from(["In", "NotIn"])),
        "values": [draw(st.sampled_from(["n0", "n1", "n9", ""]))],
    }


TERMS = st.fixed_dictionaries(
    {
        "matchExpressions": st.lists(expressions(), max_size=2),
        "matchFields": st.lists(fields(), max_size=2),
    }
)


@given(
    st.lists(LABELS, min_size=1, max_size=5),
    st.none() | LABELS.filter(bool),
    st.none() | st.lists(TERMS, max_size=3),
)
def test_all_nodes_at_once_match_as_one_by_one(labels: list, selector, terms) -> None:
    cluster = Cluster([make_node(f"n{i}", labels=each) for i, each in enumerate(labels)])
    parsed = None
    if terms is not None:
        parsed = NodeTerms.parse(decode_as({"nodeSelectorTerms": terms}, NodeSelector))
        expected = [parsed.matches(info.node) for info in cluster.nodes.infos()]
        assert nodes_matching_terms(cluster.nodes, parsed).tolist() == expected
    demand = RequiredNodeAffinity(selector or {}, parsed)
    expected = [demand.matches(info.node) for info in cluster.nodes.infos()]
    assert nodes_matching_required(cluster.nodes, demand).tolist() == expected
    backwards = cluster.nodes.select(np.arange(len(labels), dtype=np.intp)[::-1])
    assert nodes_matching_required(backwards, demand).tolist() == expected[::-1]

"""Matching parsed node selectors against all nodes at once, on the label columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from mooring.api import NodeTerms, PreferredTerms, RequiredNodeAffinity, Requirement, Term
from mooring.api.node_selectors import NAME_FIELD
from mooring.framework.nodes import Nodes
from mooring.typing import Ints, Mask

#: After every so many requirements, check whether any node is left.
_LOOK_EVERY = 8


def nodes_matching_term(nodes: Nodes, term: Term) -> Mask:
    """Return which nodes satisfy every requirement of a term; a malformed term matches none."""
    if term.errors:
        return np.zeros(len(nodes), dtype=np.bool_)
    if len(term.labels) == 1 and not term.fields:
        return nodes.matches(term.labels[0])
    return _all_of(
        nodes,
        itertools.chain(
            map(nodes.matches, term.labels),
            (_nodes_matching_field(nodes, requirement) for requirement in term.fields),
        ),
    )


def nodes_matching_terms(nodes: Nodes, selector: NodeTerms) -> Mask:
    """Return which nodes satisfy any of the terms."""
    terms = selector.terms
    if len(terms) == 1:
        return nodes_matching_term(nodes, terms[0])
    matching = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        matching |= nodes_matching_term(nodes, term)
    return matching


def nodes_matching_required(nodes: Nodes, required: RequiredNodeAffinity) -> Mask:
    """Return which nodes satisfy a pod's nodeSelector and required node affinity."""
    selected = (nodes.label_is(key, text) for key, text in required.labels.items())
    terms = () if required.terms is None else (required.terms,)
    return _all_of(
        nodes,
        itertools.chain(selected, (nodes_matching_terms(nodes, one) for one in terms)),
    )


def weights_of_nodes(nodes: Nodes, preferred: PreferredTerms) -> Ints:
    """Return, for each node, the sum of the weights of the matching terms."""
    total = np.zeros(len(nodes), dtype=np.int64)
    for weight, term in preferred.terms:
        total += weight * nodes_matching_term(nodes, term)
    return total


def _all_of(nodes: Nodes, masks: Iterable[Mask]) -> Mask:
    """Return the nodes that are in all masks; stop computing masks once no node is left."""
    matching: Mask | None = None
    for count, mask in enumerate(masks, start=1):
        matching = mask if matching is None else matching & mask
        if count % _LOOK_EVERY == 0 and not matching.any():
            break
    return np.ones(len(nodes), dtype=np.bool_) if matching is None else matching


def _nodes_matching_field(nodes: Nodes, requirement: Requirement) -> Mask:
    if requirement.key != NAME_FIELD:
        # The scheduler knows no field but the name; the others are empty.
        return np.full(len(nodes), requirement.matches_value(""))
    named = requirement.operator == "In"
    matching = np.full(len(nodes.all), not named)
    for name in requirement.values:
        row = nodes.row(name)
        if row >= 0:
            matching[row] = named
    return nodes.gather(matching)

"""Match parsed node selectors against all nodes at once, on the label columns."""

from __future__ import annotations

import numpy as np

from mooring.api import NodeTerms, PreferredTerms, RequiredNodeAffinity, Requirement, Term
from mooring.api.node_selectors import NAME_FIELD
from mooring.framework.columns import Ints, Mask
from mooring.framework.nodes import Nodes


def nodes_matching_term(nodes: Nodes, term: Term) -> Mask:
    """Return which nodes satisfy every requirement of a term; a malformed one matches none."""
    if term.errors:
        return np.zeros(len(nodes), dtype=np.bool_)
    masks = [nodes.matches(requirement) for requirement in term.labels]
    masks += [_nodes_matching_field(nodes, requirement) for requirement in term.fields]
    return _all_of(nodes, masks)


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
    masks = []
    if required.selector is not None:
        masks += [nodes.matches(requirement) for requirement in required.selector.requirements]
    if required.terms is not None:
        masks.append(nodes_matching_terms(nodes, required.terms))
    return _all_of(nodes, masks)


def weights_of_nodes(nodes: Nodes, preferred: PreferredTerms) -> Ints:
    """Return, for each node, the weights of the matching terms together."""
    total = np.zeros(len(nodes), dtype=np.int64)
    for weight, term in preferred.terms:
        total += weight * nodes_matching_term(nodes, term)
    return total


def _all_of(nodes: Nodes, masks: list[Mask]) -> Mask:
    if not masks:
        return np.ones(len(nodes), dtype=np.bool_)
    matching = masks[0]
    for mask in masks[1:]:
        matching = matching & mask
    return matching


def _nodes_matching_field(nodes: Nodes, requirement: Requirement) -> Mask:
    if requirement.key != NAME_FIELD:
        # A field other than the name is empty for the scheduler.
        return np.full(len(nodes), requirement.matches_value(""))
    named = requirement.operator == "In"
    matching = np.full(len(nodes.all), not named)
    for name in requirement.values:
        row = nodes.row(name)
        if row >= 0:
            matching[row] = named
    return nodes.gather(matching)

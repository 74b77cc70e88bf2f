"""Checks of `diagnose`: what a plugin says about the nodes that it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mooring.framework.diagnosis import Detail, Shortfall
from mooring.framework.node_info import NodeInfo
from mooring.framework.state import CycleState
from mooring.testing.bench import Bench
from mooring.testing.plugin_answers import Case

POINT = "Filter"
RIGHT_TYPE = "diagnose returns a text, a Detail, Shortfalls or None"
SHORTFALL_HOLDS = "a node that is given what diagnose calls short passes"
CHANGES_NOTHING = "diagnose changes no answer"

_AGAIN = "{} before diagnose, {} after it"


def check_diagnoses(bench: Bench, case: Case) -> int:
    """Call `diagnose` for every refused node, and check its answers; return how many there were."""
    plugin: Any = bench.plugin
    if not hasattr(plugin, "diagnose"):
        return 0
    state = CycleState()
    before = bench.pre_filter(state, case.pod)
    if before.status is not None or plugin.name in state.skip_filter_plugins:
        return 0
    whole = bench.ask_nodes(state, case.pod, bench.nodes)
    diagnosed = 0
    for row, answer in enumerate(whole):
        if answer is None:
            continue
        node = bench.nodes.info(row)
        found = case.call(POINT, node.name, plugin.diagnose, state, case.pod, node)
        diagnosed += 1
        text = found.text if isinstance(found, Detail) else found
        if found is None or (isinstance(text, str) and text):
            continue
        shortfalls = _shortfalls(case, node, found)
        if shortfalls and hasattr(plugin, "filter"):
            _check_shortfalls(plugin, state, case, node, shortfalls)
    again = bench.ask_nodes(state, case.pod, bench.nodes)
    case.compare_filter(CHANGES_NOTHING, bench.nodes.names, whole, again, _AGAIN)
    return diagnosed


def _shortfalls(case: Case, node: NodeInfo, found: Any) -> Sequence[Shortfall]:
    if not isinstance(found, list | tuple) or not all(isinstance(one, Shortfall) for one in found):
        raise case.fail(RIGHT_TYPE, f"it returned {found!r}", point=POINT, node=node.name)
    return found


def _check_shortfalls(
    plugin: Any, state: CycleState, case: Case, node: NodeInfo, shortfalls: Sequence[Shortfall]
) -> None:
    larger = node.clone()
    larger.allocatable = dict(node.allocatable)
    for short in shortfalls:
        offered = larger.allocatable.get(short.resource, 0)
        larger.allocatable[short.resource] = offered + short.missing
    answer = case.call(POINT, node.name, plugin.filter, state, case.pod, larger)
    if answer is not None:
        text = f"{answer.message}, although {shortfalls} was added"
        raise case.fail(SHORTFALL_HOLDS, text, point=POINT, node=node.name)

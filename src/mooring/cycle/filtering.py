"""Filter: which nodes can take the pod.

The mass pass calls each plugin once for all nodes (vector form) and passes on the nodes that no
plugin has refused yet, so a node's refusal comes from the first plugin that refuses it. Single
nodes (nominated pods, a preemption's dry run) are filtered in node form.

# kube-scheduler: framework/runtime/framework.go (RunFilterPlugins*)
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.cycle.pre_filter import run_extension
from mooring.cycle.profile import FilterStep, Profile
from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.handle import Nominator
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.pod_info import PodInfo
from mooring.framework.points import Point
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.framework.what_if import PodBatch, WhatIf
from mooring.typing import Mask

_REFUSALS = "(Status, mask) with a bool per node"
_BOOL = np.dtype(np.bool_)
#: Once fewer than one node in this many is left, the remaining plugins see only those nodes.
_NARROW = 4
_NO_NODES: Rows = np.empty(0, dtype=np.intp)

Hits = list[tuple[Status, Mask]]


class Verdicts(msgspec.Struct):
    """The result of Filter for some nodes; a position is an index into the nodes filtered."""

    #: Each distinct refusal and the positions of the nodes it applies to.
    refusals: list[tuple[Status, Rows]]
    #: Positions of the nodes that pass; None if all do.
    passed: Rows | None
    #: A breach of contract that ended the pass before all plugins had run.
    fault: Status | None = None

    @property
    def error(self) -> Status | None:
        """The fault, or else the first error status of a node: either ends the cycle."""
        if self.fault is not None:
            return self.fault
        return next((status for status, rows in self.refusals if status.is_error), None)

    def each(self, nodes: Nodes) -> Iterator[tuple[int, Status]]:
        """Yield the position and the status of every refused node of the nodes filtered."""
        for status, positions in self.refusals:
            for position in positions.tolist():
                yield (
                    position,
                    status.for_node(nodes.names[position]) if status.names_node else status,
                )

    def until(self, end: int) -> Verdicts:
        """Return the verdicts on the nodes before a position."""
        refusals = [
            (status, kept) for status, rows in self.refusals if len(kept := rows[rows < end])
        ]
        passed = np.arange(end) if self.passed is None else self.passed[self.passed < end]
        return Verdicts(refusals, passed, self.fault)


class _Fault(Exception):
    def __init__(self, status: Status) -> None:
        self.status = status


def filter_nodes(
    profile: Profile,
    state: CycleState,
    pod: Pod,
    nodes: Nodes,
    alive: Mask | None = None,
) -> Verdicts:
    """Run all Filter plugins on `nodes` in one pass; if `alive` is given, only where it is True."""
    verdicts = Verdicts([], None)
    profile = profile.of(state)
    skips = state.skip_filter_plugins
    count_nonzero = np.count_nonzero
    #: Position in `nodes` of each node of `view`; None if the view is still all of `nodes`.
    origin: Rows | None = None
    view = nodes
    left = len(nodes) if alive is None else count_nonzero(alive)
    if not left:
        return Verdicts([], _NO_NODES)
    narrows = not isinstance(nodes, WhatIf)
    name = ""
    try:
        for step in profile.filter:
            name = step.name
            if name in skips:
                continue
            if narrows and alive is not None and (step.is_slow or left * _NARROW < len(view)):
                kept = np.flatnonzero(alive)
                origin = kept if origin is None else origin[kept]
                view = nodes.select(origin if nodes.rows is None else nodes.rows[origin])
                alive = None
            step.evaluations.value += left
            step.progress()
            hits: Hits = []
            if step.vector is None:
                hits = _ask_each(step, state, pod, view, alive)
            else:
                for status, mask in step.vector(state, pod, view) or ():
                    if alive is not None:
                        mask = mask & alive
                    if count_nonzero(mask):
                        hits.append((_refusal(step, status, mask, len(view)), mask))
                        if step.is_slow and hits[-1][0].is_error:
                            _stop_at_error(hits, alive)
                            break
            if not hits:
                continue
            refused, groups = _distinct(hits)
            for status, rows in groups:
                verdicts.refusals.append((status, rows if origin is None else origin[rows]))
            alive = ~refused if alive is None else alive & ~refused
            left = count_nonzero(alive)
            if not left:
                break
    except _Fault as found:
        verdicts.fault = found.status
    except BaseException as error:
        verdicts.fault = _failed(name, fault(name, Point.FILTER, error))
    if verdicts.fault is not None:
        verdicts.passed = _NO_NODES
    elif alive is None:
        verdicts.passed = origin
    else:
        kept = np.flatnonzero(alive)
        verdicts.passed = kept if origin is None else origin[kept]
    return verdicts


def _stop_at_error(hits: Hits, alive: Mask | None) -> None:
    """Extend the error in the last answer to all nodes after its first one.

    The plugin was not asked about all of them, and they must not count as passing.
    """
    status, mask = hits.pop()
    after = np.ones(len(mask), dtype=np.bool_) if alive is None else alive.copy()
    after[: int(mask.argmax())] = False
    for _, others in hits:
        after &= ~others
    hits.append((status, mask | after))


def _refusal(step: FilterStep, status: Any, mask: Any, size: int) -> Status:
    """Check one answer of a vector form and return its status with the plugin's name."""
    if (
        not isinstance(status, Status)
        or not isinstance(mask, np.ndarray)
        or mask.dtype != _BOOL
        or mask.shape != (size,)
    ):
        raise _Fault(wrong_type(step.name, Point.FILTER, "filter_nodes", _REFUSALS, (status, mask)))
    return status.by(step.name) if status.is_rejected else _failed(step.name, status)


def _failed(name: str, status: Status) -> Status:
    text = f'running "{name}" filter plugin: {status.message}'
    return Status(Code.ERROR, (text,), plugin=name, traceback=status.traceback)


def _ask_each(
    step: FilterStep, state: CycleState, pod: Pod, view: Nodes, alive: Mask | None
) -> Hits:
    """Call a plugin that has no vector form for each node that is not refused yet."""
    assert step.node is not None
    found: dict[Status, list[int]] = {}
    positions = range(len(view)) if alive is None else np.flatnonzero(alive).tolist()
    for position in positions:
        status = _ask(step, state, pod, view, position)
        if status is not None:
            found.setdefault(status, []).append(position)
    hits: Hits = []
    for status, refused in found.items():
        mask = np.zeros(len(view), dtype=np.bool_)
        mask[refused] = True
        hits.append((status, mask))
    return hits


def _ask(
    step: FilterStep, state: CycleState, pod: Pod, view: Nodes, position: int
) -> Status | None:
    """Call a plugin's node form for one node; raise _Fault if it breaks the contract."""
    assert step.node is not None
    step.progress()
    info = view.info(position)
    try:
        status = step.node(state, pod, info)
    except BaseException as error:
        raise _Fault(_failed(step.name, fault(step.name, Point.FILTER, error, info.name))) from None
    if status is None:
        return None
    if not isinstance(status, Status):
        raise _Fault(
            wrong_type(step.name, Point.FILTER, "filter", "a Status or None", status, info.name)
        )
    if status.is_success:
        return None
    return status.by(step.name) if status.is_rejected else _failed(step.name, status)


def _distinct(hits: Hits) -> tuple[Mask, list[tuple[Status, Rows]]]:
    """Return the mask of refused nodes, and each distinct status with its nodes.

    The reasons of a node that was refused several times are joined in order.
    """
    if len(hits) == 1:
        status, refused = hits[0]
        return refused, [(status, np.flatnonzero(refused))]
    count_nonzero = np.count_nonzero
    refused = functools.reduce(np.logical_or, [mask for _, mask in hits])
    if sum(count_nonzero(mask) for _, mask in hits) == count_nonzero(refused):
        # No node is refused twice.
        return refused, [(status, np.flatnonzero(mask)) for status, mask in hits]
    codes = np.full(len(refused), -1, dtype=np.int64)
    #: By code: the last status of the chain, and the code of the chain before it (-1 for none).
    chains: list[tuple[Status, int]] = []
    for status, mask in hits:
        rows = np.flatnonzero(mask)
        before = codes[rows]
        for code in np.unique(before).tolist():
            codes[rows[before == code]] = len(chains)
            chains.append((status, code))
    return refused, [
        (_merge(chains, code), np.flatnonzero(codes == code))
        for code in np.unique(codes[refused]).tolist()
    ]


def _merge(chains: Sequence[tuple[Status, int]], code: int) -> Status:
    """Merge the statuses of a chain: the first error if any, otherwise all reasons in order."""
    found: list[Status] = []
    while code >= 0:
        status, code = chains[code]
        found.append(status)
    found.reverse()
    first = found[0]
    if len(found) == 1:
        return first
    error = next((status for status in found if status.is_error), None)
    if error is not None:
        return error
    unresolvable = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    worst = unresolvable if any(status.code is unresolvable for status in found) else first.code
    reasons = tuple(reason for status in found for reason in status.reasons)
    return Status(
        worst,
        reasons,
        plugin=first.plugin,
        names_node=any(status.names_node for status in found),
        backs_off=any(status.backs_off for status in found),
    )


def filter_one(
    profile: Profile, state: CycleState, pod: Pod, node: Nodes, *, by_pods_only: bool = False
) -> Status | None:
    """Run all Filter plugins on a view of one node, in node form if the plugin has it.

    With `by_pods_only`, plugins that do not read the pods of a node are skipped.
    """
    skips = state.skip_filter_plugins
    for step in profile.of(state).filter:
        if step.name in skips or (by_pods_only and not step.reads_pods):
            continue
        step.evaluations.value += 1
        try:
            if step.node is not None:
                status = _ask(step, state, pod, node, 0)
                if status is not None:
                    return status
                continue
            assert step.vector is not None
            hits = [
                (_refusal(step, status, mask, len(node)), mask)
                for status, mask in step.vector(state, pod, node) or ()
                if np.count_nonzero(mask)
            ]
            if hits:
                return _distinct(hits)[1][0][0].for_node(node.names[0])
        except _Fault as found:
            return found.status
        except BaseException as error:
            return _failed(step.name, fault(step.name, Point.FILTER, error, node.names[0]))
    return None


def nominated_before(nominator: Nominator, pod: PodInfo, node_name: str) -> list[PodInfo]:
    """Return the other pods nominated to a node whose priority is the same or higher."""
    return [
        other
        for other in nominator.nominated_on(node_name)
        if other.priority >= pod.priority and other.uid != pod.uid
    ]


def filter_with(
    profile: Profile, state: CycleState, pod: Pod, node: WhatIf, others: Sequence[PodInfo]
) -> Status | None:
    """Run all Filter plugins on one node as if `others` were on it; `state` is not changed."""
    state = state.clone()
    for other in others:
        node.add(0, other)
        status = run_extension(profile.of(state).add_pod, "AddPod", state, pod, other, node.info(0))
        if status is not None:
            return status
    return filter_one(profile, state, pod, node)


def refused_by_nominations(
    profile: Profile, nominator: Nominator, state: CycleState, pod: PodInfo, nodes: Nodes
) -> list[tuple[int, Status]]:
    """Return the positions and refusals of nodes that refuse because of their nominated pods."""
    found = [
        (position, others)
        for position, node_name in _nominated_nodes(nominator, nodes)
        if (others := nominated_before(nominator, pod, node_name))
    ]
    if not found:
        return []
    positions = np.array([position for position, _ in found], dtype=np.intp)
    view = WhatIf(nodes, positions if nodes.rows is None else nodes.rows[positions])
    return [
        (found[index][0], status)
        for index, status in refused_with(profile, state, pod.pod, view, [o for _, o in found])
    ]


def _nominated_nodes(nominator: Nominator, nodes: Nodes) -> Iterator[tuple[int, str]]:
    """Yield the position and name of each of `nodes` that has nominated pods."""
    if nodes.rows is None:
        for name in nominator.nodes():
            row = nodes.row(name)
            if row >= 0:
                yield row, name
    elif taken := set(nominator.nodes()):
        for position, name in enumerate(nodes.names):
            if name in taken:
                yield position, name


def refused_with(
    profile: Profile,
    state: CycleState,
    pod: Pod,
    nodes: WhatIf,
    others: Sequence[Sequence[PodInfo]],
) -> list[tuple[int, Status]]:
    """Return the positions and refusals of nodes that refuse the pod if their `others` are added.

    `others` lists the pods to add to each node. All nodes are filtered at once, unless a plugin
    keeps counts across nodes.
    """
    if len(others) == 1 or precomputes(profile, state):
        refused = []
        for position, here in enumerate(others):
            status = filter_with(profile, state, pod, nodes.alone(position), here)
            if status is not None:
                refused.append((position, status))
        return refused
    batch = PodBatch([other for here in others for other in here])
    view = nodes.copy()
    positions = np.repeat(np.arange(len(others)), [len(here) for here in others])
    view.add_batch(positions, batch, np.arange(len(batch.pods), dtype=np.intp))
    verdicts = filter_nodes(profile, state, pod, view)
    if verdicts.error is not None:
        return [(0, verdicts.error)]
    return list(verdicts.each(view))


def precomputes(profile: Profile, state: CycleState) -> bool:
    """Return whether a Filter plugin that runs in this cycle keeps state across nodes."""
    skips = state.skip_filter_plugins
    return any(step.name not in skips for step in (*profile.add_pod, *profile.remove_pod))


def filter_nodes_with_nominated(
    profile: Profile, nominator: Nominator, state: CycleState, pod: PodInfo, nodes: Nodes
) -> Verdicts:
    """Run all Filter plugins; a node that has nominated pods must pass with and without them.

    Resources may be short with the nominated pods, and affinity may be unmet without them.
    """
    refused = refused_by_nominations(profile, nominator, state, pod, nodes)
    return filter_nodes_but(profile, state, pod, nodes, refused)


def filter_nodes_but(
    profile: Profile,
    state: CycleState,
    pod: PodInfo,
    nodes: Nodes,
    refused: Sequence[tuple[int, Status]],
) -> Verdicts:
    """Run all Filter plugins on the nodes that have not been refused already."""
    if not refused:
        return filter_nodes(profile, state, pod.pod, nodes)
    alive = np.ones(len(nodes), dtype=np.bool_)
    groups: dict[Status, list[int]] = {}
    for position, status in refused:
        if not status.is_rejected:
            return Verdicts([], _NO_NODES, status)
        alive[position] = False
        groups.setdefault(status, []).append(position)
    verdicts = filter_nodes(profile, state, pod.pod, nodes, alive)
    verdicts.refusals.extend(
        (status, np.array(positions, dtype=np.intp)) for status, positions in groups.items()
    )
    return verdicts

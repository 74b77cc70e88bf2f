"""Nodes in groups that give the same answer to some claims, so that one search serves a group.

A search reads of a node: its devices in order, of each what the claims' selectors and constraints
read and how it is used, and of each pool a few traits. Nodes that agree in these are in one group.
An answer is kept for later pods with the same claims; if a device is taken, only the nodes that
reach it change their group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.api import DeviceClass, ResourceClaim
from mooring.framework.columns import grown
from mooring.framework.nodes import Nodes
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError, CelBudget
from mooring.plugins.dynamic_resources.claim_reads import (
    ClaimDevicesView,
    ClaimReads,
    Classes,
    expressions_of,
    text_of,
)
from mooring.plugins.dynamic_resources.node_devices import NodeBlocks, NodeDevices, Places
from mooring.plugins.dynamic_resources.pools import NodePools
from mooring.plugins.dynamic_resources.results import ClaimDevices
from mooring.typing import Codes, Ints, Mask

#: How many different sets of claims are remembered.
_KEPT = 64
#: Up to this many changes are applied one by one, more of them at once.
_FEW = 48
#: Groups that are tolerated, besides four per node.
_SPARE = 4096
#: Odd 64-bit numbers that mix a sequence into one number (SplitMix64).
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class GroupAnswer(msgspec.Struct, frozen=True):
    """The answer of a group: the devices of one of its nodes, or why there are none."""

    source: NodePools
    devices: Sequence[ClaimDevices]
    refusal: Status | None = None
    score: int = 0
    #: What the search cost.
    cost: int = 0


#: Searches the devices of a node; an error status ends the cycle and is not remembered. It raises
#: BudgetExceededError if the search costs more than what is left of the budget.
Search = Callable[[NodeBlocks], GroupAnswer | Status]


class NodeGroups:
    """All nodes in groups, for one set of claims. Owned by the scheduling loop."""

    def __init__(
        self, devices: NodeDevices, view: ClaimDevicesView, classes: Sequence[DeviceClass | None]
    ) -> None:
        #: Kept so that no other class gets the same id.
        self.classes = classes
        self._devices = devices
        #: What the claims read of all devices.
        self.view = view
        self._reads = view.codes
        self._clear()

    def _clear(self) -> None:
        self._epoch = self._refreshed = -1
        self._blocks_read = self._nodes_read = 0
        self._block_codes: Codes = np.zeros(0, dtype=np.int32)
        self._block_index: dict[bytes, int] = {}
        #: The group of each slot.
        self._codes: Codes = np.zeros(0, dtype=np.int32)
        self._index: dict[bytes, int] = {}
        self._answers: list[GroupAnswer | None] = []
        self._volatile: list[bool] = []
        #: Groups whose answer must be found again in every cycle.
        self._passing: list[int] = []
        #: By group: whether it has an answer, its refusal in `_refusals` (-1: none) and its score.
        self._answered: Mask = np.zeros(0, dtype=np.bool_)
        self._refused: Ints = np.zeros(0, dtype=np.int64)
        self._scores: Ints = np.zeros(0, dtype=np.int64)
        #: By group: what its search cost; for a search that was ended, at least that.
        self._costs: Ints = np.zeros(0, dtype=np.int64)
        self._refusals: list[Status] = []

    # Which group a node is in.

    def refresh(self) -> None:
        """Apply what changed since the last cycle; further calls in a cycle do nothing."""
        devices = self._devices
        if self._refreshed == devices.refreshed:
            return
        if len(self._answers) > 4 * len(devices.nodes) + _SPARE:
            self._clear()
        self._refreshed = devices.refreshed
        self._reads.refresh()
        for group in self._passing:
            self._answers[group] = None
            self._answered[group] = False
            self._costs[group] = 0
        self._passing.clear()
        everything = self._epoch != devices.epoch
        blocks: set[int] = set()
        nodes: set[int] = set()
        if not everything:
            blocks.update(devices.changed_blocks[self._blocks_read :])
            nodes.update(devices.changed_nodes[self._nodes_read :])
        self._epoch = devices.epoch
        self._blocks_read = len(devices.changed_blocks)
        self._nodes_read = len(devices.changed_nodes)
        if len(self._block_codes) < len(devices.blocks):
            self._block_codes = grown(self._block_codes, 2 * len(devices.blocks))
        if len(self._codes) < len(devices.nodes):
            self._codes = grown(self._codes, 2 * len(devices.nodes))
        if everything or len(blocks) > _FEW:
            self._group_all_blocks()
            everything = True
        else:
            for number in blocks:
                block = devices.blocks[number]
                if block is not None:
                    code = self._block_code(number)
                    if code != self._block_codes[number]:
                        self._block_codes[number] = code
                        nodes |= block.slots
        if everything or len(nodes) > _FEW:
            self._group_all_nodes()
        else:
            for slot in nodes:
                if devices.nodes[slot] is not None:
                    self._codes[slot] = self._group(slot)

    def _block_code(self, number: int) -> int:
        block = self._devices.blocks[number]
        assert block is not None
        key = b"%d/%b%b" % (
            block.extra,
            self._reads.codes[block.rows].tobytes(),
            self._devices.usage.codes[block.rows].tobytes(),
        )
        return self._block_index.setdefault(key, len(self._block_index) + 1)

    def _group(self, slot: int) -> int:
        node = self._devices.nodes[slot]
        assert node is not None
        if node.error is not None:
            key = b"!" + str(node.error).encode()
        else:
            key = self._block_codes[node.blocks].tobytes()
        group = self._index.get(key)
        if group is None:
            group = self._index[key] = len(self._answers)
            blocks = [self._devices.blocks[number] for number in node.blocks.tolist()]
            self._answers.append(None)
            self._volatile.append(
                node.error is not None or any(one is not None and one.is_volatile for one in blocks)
            )
            if group >= len(self._answered):
                self._answered = np.concatenate((self._answered, np.zeros(group + 16, np.bool_)))
                self._refused = np.concatenate((self._refused, np.full(group + 16, -1)))
                self._scores = np.concatenate((self._scores, np.zeros(group + 16, np.int64)))
                self._costs = np.concatenate((self._costs, np.zeros(group + 16, np.int64)))
        return group

    def _group_all_blocks(self) -> None:
        layout, usage = self._devices.layout(), self._devices.usage
        codes = self._reads.codes[layout.rows].astype(np.int64) * usage.bound
        codes += usage.codes[layout.rows]
        first, groups = group_sequences(codes, layout.row_counts, layout.extras)
        table = [self._block_code(number) for number in layout.blocks[first].tolist()]
        self._block_codes[layout.blocks] = np.array(table, dtype=np.int32)[groups]

    def _group_all_nodes(self) -> None:
        layout = self._devices.layout()
        codes = self._block_codes[layout.node_blocks].astype(np.int64)
        none = np.zeros(len(layout.slots), dtype=np.intp)
        first, groups = group_sequences(codes, layout.block_counts, none)
        table = [self._group(slot) for slot in layout.slots[first].tolist()]
        self._codes[layout.slots] = np.array(table, dtype=np.int32)[groups]
        for slot in layout.faulty:
            self._codes[slot] = self._group(slot)

    # Their answers.

    def ask(
        self, nodes: Nodes, asked: Mask | None, search: Search, budget: CelBudget
    ) -> Iterator[tuple[Status, Mask]]:
        """Yield refusals for some nodes; one node of each group without an answer is searched.

        Before an error, all refusals known so far are yielded: the caller may stop there. The
        searches are charged, also those of earlier attempts; raise BudgetExceededError if they cost
        more than the budget.
        """
        codes = self.codes(nodes)
        left = np.ones(len(nodes), dtype=np.bool_) if asked is None else asked.copy()
        if self._costs.any():
            self._charge_known(np.unique(codes[left]), budget)
        waiting = np.flatnonzero(left & ~self._answered[codes])
        while len(waiting):
            position = int(waiting[0])
            group = int(codes[position])
            node = self._devices.at(nodes.info(position).name)
            assert node is not None
            try:
                answer = search(node)
            except BudgetExceededError:
                self._costs[group] = budget.left + 1
                if self._volatile[group]:
                    self._passing.append(group)
                raise
            if isinstance(answer, Status):
                yield from self._refusals_among(codes, left)
                failed = left & (codes == group)
                left &= ~failed
                yield answer, failed
            else:
                self._remember(group, answer)
                budget.spend(answer.cost)
            waiting = waiting[codes[waiting] != group]
        yield from self._refusals_among(codes, left)

    def _charge_known(self, groups: Codes, budget: CelBudget) -> None:
        """Charge the searches of earlier attempts, or raise BudgetExceededError."""
        costs, answered = self._costs[groups], self._answered[groups]
        budget.spend(int(costs[answered].sum()))
        if costs[~answered].max(initial=0) > budget.left:
            # A search that was ended would be ended again.
            raise BudgetExceededError

    def _refusals_among(self, codes: Codes, left: Mask) -> Iterator[tuple[Status, Mask]]:
        """Yield the refusals of groups that have an answer, and take their nodes out of `left`."""
        refused = np.where(left & self._answered[codes], self._refused[codes], -1)
        for number, status in enumerate(self._refusals):
            mask = refused == number
            if mask.any():
                left &= ~mask
                yield status, mask

    def _remember(self, group: int, answer: GroupAnswer) -> None:
        self._answers[group] = answer
        self._answered[group] = True
        self._scores[group] = answer.score
        self._costs[group] = answer.cost
        self._refused[group] = -1
        if answer.refusal is not None:
            if answer.refusal not in self._refusals:
                self._refusals.append(answer.refusal)
            self._refused[group] = self._refusals.index(answer.refusal)
        if self._volatile[group]:
            self._passing.append(group)

    def codes(self, nodes: Nodes) -> Codes:
        """Return the group of each node."""
        return self._codes[self._devices.slots(nodes)]

    def answer(self, node_name: str) -> GroupAnswer | None:
        """Return the answer of a node's group; None if the group was not asked."""
        slot = self._devices.slot(node_name)
        return None if slot < 0 else self._answers[int(self._codes[slot])]

    def scores(self, nodes: Nodes, more: int) -> Ints:
        """Return the score of each node's group and `more`; 0 for a group without devices."""
        codes = self.codes(nodes)
        fits = self._answered[codes] & (self._refused[codes] < 0)
        return np.where(fits, self._scores[codes] + more, 0)


class GroupCache:
    """The groups of nodes for recent sets of claims. Owned by the loop, shared by all profiles."""

    def __init__(self, devices: NodeDevices, reads: ClaimReads) -> None:
        self.devices = devices
        self._reads = reads
        self._epoch = -1
        self._groups: dict[tuple[object, ...], NodeGroups] = {}

    def of(
        self, claims: Sequence[ResourceClaim], classes: Classes, budget: CelBudget
    ) -> NodeGroups:
        """Return the groups of nodes for some claims, as of the last refresh of the devices.

        Raise as `evaluated` does.
        """
        found = self.evaluated(claims, classes, budget)
        found.refresh()
        return found

    def evaluated(
        self, claims: Sequence[ResourceClaim], classes: Classes, budget: CelBudget
    ) -> NodeGroups:
        """Return the groups of nodes for some claims after evaluating the claims' expressions.

        What that costs is charged, each expression once. Raise BudgetExceededError, with the claim,
        if it is more than the budget.
        """
        for claim, expressions in zip(claims, expressions_of(claims, classes), strict=True):
            for expression in expressions:
                work = partial(self._reads.work, expression)
                budget.charge_compiling(claim.key, text_of(expression), work)
        if self._epoch != self.devices.columns.epoch:
            self._epoch = self.devices.columns.epoch
            self._groups.clear()
        named = tuple(classes.get(name) for name in _class_names(claims))
        key = (msgspec.json.encode([_question(claim) for claim in claims]), *map(id, named))
        found = self._groups.pop(key, None)
        if found is None:
            found = NodeGroups(self.devices, self._reads.of(claims, classes), named)
            if len(self._groups) >= _KEPT:
                del self._groups[next(iter(self._groups))]
        self._groups[key] = found
        found.view.evaluate(claims, budget)
        return found


def _question(claim: ResourceClaim) -> tuple[object, ...]:
    return claim.spec.devices.requests, claim.spec.devices.constraints


def _class_names(claims: Iterable[ResourceClaim]) -> Iterator[str]:
    for claim in claims:
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                yield request.exactly.device_class_name
            for sub in request.first_available:
                yield sub.device_class_name


def group_sequences(
    values: npt.NDArray[np.int64], counts: Places, extras: Places
) -> tuple[Places, Places]:
    """Group equal sequences: return the first one of each group, and the group of each.

    `values` holds the sequences one after another, `counts` their lengths; two sequences are equal
    if their `extras` are equal too.
    """
    starts = np.cumsum(counts) - counts
    places = np.arange(len(values)) - np.repeat(starts, counts)
    weights = _weights(int(counts.max(initial=0)))
    products = (values.astype(np.uint64) + np.uint64(1)) * weights[places]
    sums = np.zeros(len(counts), dtype=np.uint64)
    full = counts > 0
    if full.any():
        sums[full] = np.add.reduceat(products, starts[full])
    sums = sums * np.uint64(_MIX[0]) + counts.astype(np.uint64) * np.uint64(_MIX[1])
    sums += extras.astype(np.uint64) * np.uint64(_MIX[2])
    _, first, groups = np.unique(sums, return_index=True, return_inverse=True)
    same = first[groups]
    if (
        np.array_equal(counts, counts[same])
        and np.array_equal(extras, extras[same])
        and np.array_equal(values, values[np.repeat(starts[same], counts) + places])
    ):
        return first, groups
    # Two different sequences have the same sum, which practically does not happen.
    index: dict[tuple[int, bytes], int] = {}
    ends = starts + counts
    keys = [
        (int(extra), values[start:end].tobytes())
        for start, end, extra in zip(starts, ends, extras, strict=True)
    ]
    groups = np.array([index.setdefault(key, len(index)) for key in keys], dtype=np.intp)
    return np.unique(groups, return_index=True)[1], groups


def _weights(count: int) -> npt.NDArray[np.uint64]:
    """Return odd numbers, one for each place of a sequence."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_MIX[0])
    for shift, factor in ((30, _MIX[1]), (27, _MIX[2])):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed | np.uint64(1)

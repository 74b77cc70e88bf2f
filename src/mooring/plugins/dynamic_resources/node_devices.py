"""Which devices every node reaches, as blocks of rows of the device columns.

A block is a pool as some nodes reach it: most blocks belong to one node, that of a pool attached to
the network to many. Blocks and nodes change when a slice, a claim or a node changes; `refresh`
applies what has been recorded since the last cycle, to the nodes concerned only.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.api import Node, ResourceSlice
from mooring.api.resource import CounterSet
from mooring.errors import ObjectError
from mooring.framework.columns import grown
from mooring.framework.listers import Lister
from mooring.framework.nodes import Nodes, Rows
from mooring.plugins.dynamic_resources.device_columns import DeviceColumns, ValueCodes
from mooring.plugins.dynamic_resources.pools import (
    NodePools,
    Pool,
    PoolError,
    PoolID,
    SlicePools,
    parse_selector,
    pool_of,
)
from mooring.plugins.dynamic_resources.tracker import ClaimTracker
from mooring.plugins.node_matching import nodes_matching_terms

#: Changes that are kept for those who follow them.
_LOGGED = 16_384

Places = npt.NDArray[np.intp]


class Block(msgspec.Struct, eq=False):
    """The devices of a pool, as some nodes reach it."""

    pool: Pool
    rows: Places
    #: What the search reads of the pool besides its devices, as a code.
    extra: int
    #: Whether an answer may depend on more than the codes of the devices and `extra`.
    is_volatile: bool
    #: The nodes that reach it.
    slots: set[int]


class NodeBlocks(msgspec.Struct, eq=False):
    """What one node reaches."""

    node: Node
    pools: NodePools | None = None
    #: Numbers of blocks, in the order in which their devices are tried.
    blocks: Places = np.empty(0, dtype=np.intp)
    #: Why the node's pools cannot be gathered.
    error: PoolError | None = None


class Layout(msgspec.Struct, frozen=True):
    """All blocks and nodes that are in use, as arrays."""

    #: Numbers of blocks; their rows one after another, and how many each has; their `extra`.
    blocks: Places
    rows: Places
    row_counts: Places
    extras: Places
    #: Slots whose pools could be gathered; their blocks one after another, and how many each has.
    slots: Places
    node_blocks: Places
    block_counts: Places
    #: Slots whose pools could not be gathered.
    faulty: list[int]


class NodeDevices:
    """The devices that each node reaches. Owned by the scheduling loop, shared by all profiles.

    A node has a slot, a number that stays the same while the node exists.
    """

    def __init__(
        self,
        slices: Lister[ResourceSlice],
        claims: ClaimTracker,
        *,
        partitions: bool,
        lists: bool,
        shares: bool,
        groups: bool = False,
        node_resources: bool = False,
        counters_everywhere: bool = False,
    ) -> None:
        self.pools = SlicePools(
            slices,
            partitions=partitions,
            groups=groups,
            counters_everywhere=counters_everywhere,
        )
        self.columns = DeviceColumns(lists=lists, node_resources=node_resources)
        #: How each device is used, as a code.
        self.usage = ValueCodes(0)
        #: By slot; None for a slot that is not in use.
        self.nodes: list[NodeBlocks | None] = []
        #: By number; None for a number that is not in use.
        self.blocks: list[Block | None] = []
        #: Blocks and nodes as they changed; `NodeClasses` reads the new entries.
        self.changed_blocks: list[int] = []
        self.changed_nodes: list[int] = []
        #: Grows when the record of changes starts over.
        self.epoch = 0
        #: How often `refresh` was called; nothing changes in between.
        self.refreshed = 0
        #: How often the pools of a node were gathered.
        self.gathered = 0
        self._layout: Layout | None = None
        self._claims = claims
        self._shares = shares
        self._slots: dict[str, int] = {}
        #: The slot of each row of the snapshot.
        self._slot_of_row: Places = np.empty(0, dtype=np.intp)
        self._generation = self._node_generation = -1
        self._block_of: dict[int, int] = {}
        self._blocks_of_start: dict[int, set[int]] = {}
        self._slots_of_pool: dict[PoolID, set[int]] = {}
        self._unused_slots: list[int] = []
        self._unused_blocks: list[int] = []
        self._extras = ValueCodes(0)
        self._volatile = 0
        self._changed_slices: list[ResourceSlice] = []
        self._troubled: tuple[Pool, ...] = ()
        self._moves = 0
        self._usage_read = 0
        slices.subscribe(self._slice_changed)

    def _slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        self.columns.change(old, new)
        self._changed_slices += [one for one in (old, new) if one is not None]

    def slots(self, nodes: Nodes) -> Places:
        """Return the slot of each node."""
        return nodes.gather(self._slot_of_row)

    def at(self, name: str) -> NodeBlocks | None:
        """Return what a node reaches; None for a node that is unknown."""
        slot = self._slots.get(name)
        return None if slot is None else self.nodes[slot]

    def slot(self, name: str) -> int:
        """Return the slot of a node, or -1."""
        return self._slots.get(name, -1)

    def layout(self) -> Layout:
        """Return all blocks and nodes as arrays."""
        if self._layout is None:
            blocks = [(i, block) for i, block in enumerate(self.blocks) if block is not None]
            nodes = [
                (i, node.blocks)
                for i, node in enumerate(self.nodes)
                if node is not None and node.error is None
            ]
            none = [np.empty(0, dtype=np.intp)]
            self._layout = Layout(
                blocks=np.array([i for i, _ in blocks], dtype=np.intp),
                rows=np.concatenate([block.rows for _, block in blocks] or none),
                row_counts=np.array([len(block.rows) for _, block in blocks], dtype=np.intp),
                extras=np.array([block.extra for _, block in blocks], dtype=np.intp),
                slots=np.array([i for i, _ in nodes], dtype=np.intp),
                node_blocks=np.concatenate([numbers for _, numbers in nodes] or none),
                block_counts=np.array([len(numbers) for _, numbers in nodes], dtype=np.intp),
                faulty=[i for i, node in enumerate(self.nodes) if node and node.error],
            )
        return self._layout

    # Applying what was recorded.

    def refresh(self, nodes: Nodes) -> None:
        """Apply the changes of nodes, slices and claims since the last call."""
        self.refreshed += 1
        every = nodes.all
        concerned = self._refresh_nodes(every)
        if self._changed_slices:
            concerned |= self._concerned(every)
            self._changed_slices.clear()
        troubled = self.pools.troubled
        if troubled != self._troubled:
            self._troubled = troubled
            concerned |= set(self._slots.values())
        for slot in sorted(concerned):
            self._gather(slot)
        self._refresh_usage()
        self.columns.collect()
        if self._moves != self.columns.moves:
            self._move()
            self._refresh_usage()
        self._usage_read = len(self.columns.written)
        if len(self.changed_blocks) + len(self.changed_nodes) > _LOGGED + 4 * len(self.nodes):
            self.changed_blocks.clear()
            self.changed_nodes.clear()
            self.epoch += 1

    def _refresh_nodes(self, nodes: Nodes) -> set[int]:
        """Give slots to new nodes, and return those whose reach may have changed."""
        if nodes.node_generation == self._node_generation:
            return set()
        self._node_generation = nodes.node_generation
        changed = None
        if len(nodes) == len(self._slot_of_row) and self._generation >= 0:
            changed = nodes.changed_since(self._generation)
        self._generation = nodes.generation
        concerned: set[int] = set()
        if changed is not None:
            for row in set(changed):
                self._note(nodes.info(row).node, concerned)
            return concerned
        for info in nodes.infos():
            self._note(info.node, concerned)
        for name in self._slots.keys() - set(nodes.names):
            self._drop(name)
        slots = self._slots
        self._slot_of_row = np.fromiter((slots[name] for name in nodes.names), np.intp, len(nodes))
        return concerned

    def _note(self, node: Node, concerned: set[int]) -> None:
        name = node.metadata.name
        slot = self._slots.get(name)
        if slot is None:
            if self._unused_slots:
                slot = self._unused_slots.pop()
            else:
                slot = len(self.nodes)
                self.nodes.append(None)
            self._slots[name] = slot
            self.nodes[slot] = NodeBlocks(node)
            concerned.add(slot)
            return
        known = self.nodes[slot]
        assert known is not None
        if (
            known.node.metadata.labels != node.metadata.labels
            or known.node.status.declared_features != node.status.declared_features
        ):
            concerned.add(slot)
        known.node = node

    def _drop(self, name: str) -> None:
        slot = self._slots.pop(name)
        self._layout = None
        self._release(self._unlinked(slot))
        self.nodes[slot] = None
        self._unused_slots.append(slot)

    def _concerned(self, nodes: Nodes) -> set[int]:
        """Return the nodes that reach the pools of slices that changed, before or now."""
        found: set[int] = set()
        pools = {pool_of(one) for one in self._changed_slices}
        for pool in pools:
            found |= self._slots_of_pool.get(pool, set())
        changed = {id(one): one for one in self._changed_slices}
        changed.update((id(one), one) for pool in pools for one in self.pools.slices_of(pool))
        for one in changed.values():
            name = one.spec.node_name
            if name and not one.spec.shared_counters:
                if name in self._slots:
                    found.add(self._slots[name])
            else:
                found.update(self._slot_of_row[_rows_reaching(one, nodes)].tolist())
        return found

    def _gather(self, slot: int) -> None:
        """Gather the pools of a node again."""
        known = self.nodes[slot]
        assert known is not None
        self.gathered += 1
        error, pools = None, None
        try:
            pools = self.pools.of(known.node)
        except PoolError as failure:
            error = failure
        if pools is known.pools and pools is not None:
            return
        self._layout = None
        before = self._unlinked(slot)
        known.pools, known.error = pools, error
        found = [] if pools is None else [self._block(pool) for pool in pools.pools]
        for number in found:
            block = self.blocks[number]
            assert block is not None
            block.slots.add(slot)
            self._slots_of_pool.setdefault(block.pool.id, set()).add(slot)
        known.blocks = np.array(found, dtype=np.intp)
        self._release(before)
        self.changed_nodes.append(slot)

    def _unlinked(self, slot: int) -> list[int]:
        """Remove a node from its blocks, and return these."""
        known = self.nodes[slot]
        assert known is not None
        before: list[int] = known.blocks.tolist()
        for number in before:
            block = self.blocks[number]
            assert block is not None
            block.slots.discard(slot)
            same = self._slots_of_pool[block.pool.id]
            same.discard(slot)
            if not same:
                del self._slots_of_pool[block.pool.id]
        return before

    def _release(self, numbers: list[int]) -> None:
        """Give up blocks that no node reaches."""
        for number in numbers:
            block = self.blocks[number]
            if block is None or block.slots:
                continue
            self.blocks[number] = None
            del self._block_of[id(block.pool)]
            self._unused_blocks.append(number)
            for start in set(self.columns.starts[block.rows].tolist()):
                self._blocks_of_start[start].discard(number)
                if not self._blocks_of_start[start]:
                    del self._blocks_of_start[start]

    def _block(self, pool: Pool) -> int:
        """Return the block of a pool."""
        number = self._block_of.get(id(pool))
        if number is None:
            if self._unused_blocks:
                number = self._unused_blocks.pop()
            else:
                number = len(self.blocks)
                self.blocks.append(None)
            self._block_of[id(pool)] = number
            is_volatile = _is_volatile(pool)
            self._volatile += is_volatile
            extra = (_traits(pool), self._volatile if is_volatile else 0)
            rows = self._rows_of(pool)
            self.blocks[number] = Block(pool, rows, self._extras.code(extra), is_volatile, set())
            self._index(number, rows)
            self.changed_blocks.append(number)
        return number

    def _rows_of(self, pool: Pool) -> Places:
        start_of = self.columns.start_of
        return np.array(
            [
                row
                for one in pool.slices
                for row in range(start_of(one), start_of(one) + len(one.spec.devices))
            ],
            dtype=np.intp,
        )

    def _index(self, number: int, rows: Places) -> None:
        for start in set(self.columns.starts[rows].tolist()):
            self._blocks_of_start.setdefault(start, set()).add(number)

    def _move(self) -> None:
        """Read the rows of all blocks again."""
        self._moves = self.columns.moves
        self._layout = None
        self._blocks_of_start.clear()
        for number, block in enumerate(self.blocks):
            if block is not None:
                block.rows = self._rows_of(block.pool)
                self._index(number, block.rows)
        self.usage = ValueCodes(0)
        self._usage_read = 0

    def _refresh_usage(self) -> None:
        """Read the usage of rows that were written, and of devices that claims took or released."""
        columns, usage = self.columns, self.usage
        if len(usage.codes) < columns.size:
            usage.codes = grown(usage.codes, 2 * columns.size)
        allocated = self._claims.allocated(shares=self._shares)
        changed = self._claims.take_changed()
        for start, end in columns.written[self._usage_read :]:
            usage.codes[start:end] = 0
            changed.update(allocated.used_of(columns.ids[start:end]))
        for device in changed:
            state = allocated.state_of(device)
            code = 0 if state is None else usage.code(state)
            for row in columns.rows.get(device, ()):
                if usage.codes[row] != code:
                    usage.codes[row] = code
                    self.changed_blocks += self._blocks_of_start.get(int(columns.starts[row]), ())


def _is_volatile(pool: Pool) -> bool:
    """Return whether the search reads more of a pool than its devices and traits.

    Devices out of reach may have taken some of the counters.
    """
    return any(isinstance(one, PoolError) for one in pool.reach) or any(
        device.consumes_counters for one in pool.others for device in one.spec.devices
    )


def _traits(pool: Pool) -> tuple[object, ...]:
    """Return what the search reads of a pool besides its devices."""
    counters: dict[str, CounterSet] = pool.counter_sets
    return (
        pool.is_incomplete,
        bool(pool.invalid),
        msgspec.json.encode(counters) if counters else b"",
        tuple(one is True for one in pool.reach),
        pool.skips_operations,
    )


def _rows_reaching(one: ResourceSlice, nodes: Nodes) -> Rows:
    """Return the rows of the nodes that may reach a slice; all of them if that is unclear."""
    spec = one.spec
    everywhere = np.arange(len(nodes), dtype=np.intp)
    by_slice = spec.node_name or spec.all_nodes or spec.node_selector is not None
    found = np.zeros(len(nodes), dtype=np.bool_)
    selectors = set()
    for place in (spec,) if by_slice else spec.devices:
        if place.node_name:
            row = nodes.row(place.node_name)
            if row >= 0:
                found[row] = True
        elif place.all_nodes:
            return everywhere
        elif place.node_selector is not None:
            selectors.add(place.node_selector)
    for selector in selectors:
        try:
            found |= nodes_matching_terms(nodes, parse_selector(selector))
        except ObjectError:
            return everywhere
    return np.flatnonzero(found)

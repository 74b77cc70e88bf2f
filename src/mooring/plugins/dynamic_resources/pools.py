"""Which devices a node can reach: resource slices, grouped into pools.

Nodes that reach the same slices share one NodePools, so that one search serves all of them.
"""

# dynamic-resource-allocation: structured/internal/incubating/pools_incubating.go

from __future__ import annotations

from functools import lru_cache

import msgspec

from mooring.api import Node, NodeSelector, NodeTerms, ResourceSlice
from mooring.api.resource import CounterSet, Device
from mooring.errors import ObjectError
from mooring.framework.listers import Lister
from mooring.plugins.dynamic_resources.tracker import DeviceID

#: Driver and name of a pool.
PoolID = tuple[str, str]

_BY_NODE = "node"
_BY_POOL = "pool"
#: The index key of slices that do not belong to a single node.
_SHARED = ""


class PoolError(Exception):
    """Malformed slices, with which no pod can be scheduled."""


class CandidateDevice(msgspec.Struct, frozen=True):
    """A device that might be allocated."""

    id: DeviceID
    device: Device
    slice: ResourceSlice
    pool: Pool


class Pool(msgspec.Struct):
    """The devices of a pool that a node can reach, in the order in which they are tried."""

    id: PoolID
    #: Whether slices of the pool are still missing.
    is_incomplete: bool = False
    #: Why nothing can be allocated from the pool, or "".
    invalid: str = ""
    devices: list[CandidateDevice] = []
    #: Every device of the pool, even if the node cannot reach it: all of them consume counters.
    all_devices: list[tuple[DeviceID, Device]] = []
    counter_sets: dict[str, CounterSet] = {}
    #: Selector results by expression and device name.
    selected: dict[tuple[str, str], bool] = {}

    @property
    def name(self) -> str:
        """The full name: "driver/pool"."""
        return "/".join(self.id)


class NodePools(msgspec.Struct):
    """The slices, pools and devices that a group of nodes can reach."""

    slices: list[ResourceSlice]
    pools: list[Pool]
    #: Every device that may be allocated, in order.
    devices: list[CandidateDevice]
    #: Whether devices of these pools select their nodes individually.
    per_device: bool
    #: Equal for pools with the same devices under other pool names; empty if search results
    #: cannot be shared.
    shape: bytes
    #: Whether the node reaches all slices of these pools, so that no other slice was read.
    is_whole: bool


@lru_cache(maxsize=1024)
def parse_selector(selector: NodeSelector) -> NodeTerms:
    """Parse a node selector; raise ObjectError if it is malformed."""
    return NodeTerms.parse_strictly(selector)


def node_matches(
    node: Node, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None
) -> bool:
    """Return whether a slice or a device is reachable from a node."""
    if node_name:
        return node.metadata.name == node_name
    if all_nodes:
        return True
    if selector is not None:
        try:
            return parse_selector(selector).matches(node)
        except ObjectError as error:
            raise PoolError(f"failed to parse node selector: {error}") from None
    return False


def _node_keys(one: ResourceSlice) -> tuple[str]:
    spec = one.spec
    return (spec.node_name if spec.node_name and not spec.shared_counters else _SHARED,)


def _pool_keys(one: ResourceSlice) -> tuple[PoolID]:
    return ((one.spec.driver, one.spec.pool.name),)


class SlicePools:
    """The pools of each node, made from slices and cached until a slice or the node changes.

    Owned by the scheduling loop.
    """

    def __init__(self, lister: Lister[ResourceSlice], *, partitions: bool) -> None:
        self._lister = lister
        self._partitions = partitions
        self._version = -1
        self._by_node: dict[str, tuple[Node, NodePools]] = {}
        self._by_slices: dict[tuple[int, ...], NodePools] = {}
        #: The previous `_by_slices`, before the last change of a slice; most of it is still valid.
        self._before: dict[tuple[int, ...], NodePools] = {}
        lister.add_index(_BY_NODE, _node_keys)
        lister.add_index(_BY_POOL, _pool_keys)

    def of(self, node: Node) -> NodePools:
        """Return the pools that a node can reach; raise PoolError if slices are malformed."""
        if self._lister.version != self._version:
            self._version = self._lister.version
            self._by_node.clear()
            self._before, self._by_slices = self._by_slices, {}
        known = self._by_node.get(node.metadata.name)
        if known is not None and known[0] is node:
            return known[1]
        reached = self._reached_from(node)
        key = tuple(map(id, reached))
        found = self._by_slices.get(key)
        if found is None:
            found = self._before.get(key)
            if found is None or not found.is_whole:
                found = self._gather(reached)
            self._by_slices[key] = found
        self._by_node[node.metadata.name] = (node, found)
        return found

    def _reached_from(self, node: Node) -> list[ResourceSlice]:
        reached = [
            one
            for one in self._lister.by_index(_BY_NODE, node.metadata.name)
            if self._partitions or one.spec.per_device_node_selection is None
        ]
        for one in self._lister.by_index(_BY_NODE, _SHARED):
            spec = one.spec
            if not self._partitions and (
                spec.per_device_node_selection is not None or spec.shared_counters
            ):
                continue
            try:
                # A pool's counters are needed on every node that reaches one of its devices.
                if spec.shared_counters or _reaches(one, node):
                    reached.append(one)
            except PoolError as error:
                raise PoolError(
                    "gather pool information: failed to perform node selection for slice "
                    f"{one.metadata.name}: {error}"
                ) from None
        return reached

    def _gather(self, reached: list[ResourceSlice]) -> NodePools:
        by_pool: dict[PoolID, list[ResourceSlice]] = {}
        for one in reached:
            (key,) = _pool_keys(one)
            found = by_pool.setdefault(key, [])
            generation = one.spec.pool.generation
            if found and generation < found[0].spec.pool.generation:
                continue
            if found and generation > found[0].spec.pool.generation:
                found.clear()
            found.append(one)
        pools: list[Pool] = []
        for key, slices in by_pool.items():
            pool = self._pool(key, slices)
            if pool is not None:
                pools.append(pool)
        # Pools with devices that have binding conditions come last.
        pools.sort(key=lambda pool: (_has_binding_conditions(pool), pool.id))
        per_device = any(one.spec.per_device_node_selection for one in reached)
        devices = [candidate for pool in pools for candidate in pool.devices]
        is_whole = all(
            len(slices) == slices[0].spec.pool.resource_slice_count for slices in by_pool.values()
        )
        return NodePools(
            reached, pools, devices, per_device, b"" if per_device else _shape(pools), is_whole
        )

    def _pool(self, key: PoolID, slices: list[ResourceSlice]) -> Pool | None:
        about = slices[0].spec.pool
        others: list[ResourceSlice] = []
        if len(slices) != about.resource_slice_count:
            # The other slices may exist, but be out of the node's reach.
            everything = list(self._lister.by_index(_BY_POOL, key))
            if any(one.spec.pool.generation > about.generation for one in everything):
                return None
            current = [one for one in everything if one.spec.pool.generation == about.generation]
            if len(current) != about.resource_slice_count:
                return Pool(key, is_incomplete=True)
            names = {one.metadata.name for one in slices}
            others = [one for one in current if one.metadata.name not in names]
        return _build(key, slices, others, self._partitions)


def _reaches(one: ResourceSlice, node: Node) -> bool:
    spec = one.spec
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
    return bool(spec.per_device_node_selection) and any(
        node_matches(node, device.node_name, device.all_nodes, device.node_selector)
        for device in spec.devices
    )


def _shape(pools: list[Pool]) -> bytes:
    if any(pool.is_incomplete or pool.invalid or pool.counter_sets for pool in pools):
        return b""
    return msgspec.json.encode(
        [(pool.id[0], [candidate.device for candidate in pool.devices]) for pool in pools]
    )


def _has_binding_conditions(pool: Pool) -> bool:
    return any(candidate.device.binding_conditions for candidate in pool.devices)


def _build(
    key: PoolID, slices: list[ResourceSlice], others: list[ResourceSlice], partitions: bool
) -> Pool:
    pool = Pool(key)
    for one in sorted(slices, key=lambda one: one.metadata.name):
        if partitions and one.spec.shared_counters:
            for counters in one.spec.shared_counters:
                if counters.name in pool.counter_sets:
                    return Pool(key, invalid=f"duplicate counter set name {counters.name}")
                pool.counter_sets[counters.name] = counters
            continue
        for device in one.spec.devices:
            candidate = CandidateDevice((*key, device.name), device, one, pool)
            pool.devices.append(candidate)
            pool.all_devices.append((candidate.id, device))
    seen = set()
    for candidate in pool.devices:
        if candidate.id in seen:
            return Pool(key, invalid=f"duplicate device name {candidate.device.name}")
        seen.add(candidate.id)
    if not partitions:
        return pool
    for one in others:
        pool.all_devices += [((*key, device.name), device) for device in one.spec.devices]
    for _, device in pool.all_devices:
        for consumption in device.consumes_counters:
            counter_set = pool.counter_sets.get(consumption.counter_set)
            if counter_set is None:
                text = f"counter set {consumption.counter_set} not found"
                return Pool(key, invalid=text)
            for name in consumption.counters:
                if name not in counter_set.counters:
                    text = f"counter {name} not found in counter set {counter_set.name}"
                    return Pool(key, invalid=text)
    return pool

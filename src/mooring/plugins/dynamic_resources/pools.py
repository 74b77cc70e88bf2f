"""Which devices a node can reach: resource slices, grouped into pools.

Nodes that reach the same slices of a pool share one Pool.
"""

# dynamic-resource-allocation: structured/internal/incubating/pools_incubating.go

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from weakref import WeakValueDictionary

import msgspec

from mooring.api import Node, NodeSelector, NodeTerms, ResourceSlice
from mooring.api.resource import CounterSet, Device
from mooring.errors import ObjectError
from mooring.framework.listers import Lister
from mooring.plugins.dynamic_resources.compatibility_groups import uses_groups
from mooring.plugins.dynamic_resources.tracker import DeviceID

#: Driver and name of a pool.
PoolID = tuple[str, str]

_BY_NODE = "node"
_BY_POOL = "pool"
#: The index, by pool, of slices that are treated as missing.
_IGNORED = "ignored"
#: The index keys of slices that do not belong to a single node, and of those with counters.
_SHARED = ""
_COUNTERS = "/"


class PoolError(Exception):
    """Malformed slices, with which no pod can be scheduled."""


#: For each device of some slices, whether a node reaches it; empty if no device selects its nodes.
Reach = tuple[bool | PoolError, ...]


#: The feature that a node declares if it can leave out operations of devices.
# kubernetes: component-helpers/nodedeclaredfeatures/features/draoptionalnodeoperations
OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


class CandidateDevice(msgspec.Struct, frozen=True):
    """A device that might be allocated."""

    id: DeviceID
    device: Device
    slice: ResourceSlice
    pool: Pool
    #: Whether the node reaches a device that selects its nodes itself; an error if that is unclear.
    reachable: bool | PoolError = True


class Pool(msgspec.Struct, eq=False, dict=True):
    """The devices of a pool that a node can reach, in the order in which they are tried."""

    id: PoolID
    #: Whether slices of the pool are still missing.
    is_incomplete: bool = False
    #: Why nothing can be allocated from the pool, or "".
    invalid: str = ""
    #: The slices with devices that the node can reach, in order, and those that it cannot.
    slices: tuple[ResourceSlice, ...] = ()
    others: tuple[ResourceSlice, ...] = ()
    counter_sets: dict[str, CounterSet] = {}
    #: For each device, whether the node reaches it; empty if no device selects its nodes itself.
    reach: Reach = ()
    #: Whether the node can leave out operations that slices of the pool skip.
    skips_operations: bool = False

    @property
    def name(self) -> str:
        """The full name: "driver/pool"."""
        return "/".join(self.id)

    @cached_property
    def has_binding_conditions(self) -> bool:
        """Whether a device has to be prepared before it can be used."""
        return any(device.binding_conditions for one in self.slices for device in one.spec.devices)

    @cached_property
    def devices(self) -> list[CandidateDevice]:
        """The devices, in the order in which they are tried."""
        reach = self.reach or (True,) * sum(len(one.spec.devices) for one in self.slices)
        devices = [(one, device) for one in self.slices for device in one.spec.devices]
        return [
            CandidateDevice((*self.id, device.name), device, one, self, reachable)
            for (one, device), reachable in zip(devices, reach, strict=True)
        ]

    @property
    def all_devices(self) -> Iterator[tuple[DeviceID, Device]]:
        """Every device of the pool, even if the node cannot reach it: all consume counters."""
        for one in (*self.slices, *self.others):
            for device in one.spec.devices:
                yield (*self.id, device.name), device


class NodePools(msgspec.Struct, eq=False, dict=True, weakref=True):
    """The pools that a group of nodes can reach, in the order in which they are tried."""

    pools: tuple[Pool, ...]

    @cached_property
    def devices(self) -> list[CandidateDevice]:
        """Every device that may be allocated, in order."""
        return [candidate for pool in self.pools for candidate in pool.devices]


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


def _pool_keys(one: ResourceSlice) -> tuple[PoolID]:
    return (pool_of(one),)


def pool_of(one: ResourceSlice) -> PoolID:
    """Return the pool that a slice is part of."""
    return one.spec.driver, one.spec.pool.name


class SlicePools:
    """The pools of each node, made from slices. A pool is cached until one of its slices changes.

    Owned by the scheduling loop, shared by all profiles.
    """

    def __init__(
        self,
        lister: Lister[ResourceSlice],
        *,
        partitions: bool,
        groups: bool = False,
        counters_everywhere: bool = False,
    ) -> None:
        """Index the slices.

        Without `groups`, slices with compatibility groups are ignored, which makes their pools
        incomplete. With `counters_everywhere`, all nodes reach the counters of every pool.
        """
        self._lister = lister
        self._partitions = partitions
        self._groups_known = groups
        self._counters_everywhere = counters_everywhere
        self._made: dict[PoolID, dict[tuple[object, ...], Pool | None]] = {}
        self._groups: WeakValueDictionary[tuple[int, ...], NodePools] = WeakValueDictionary()
        #: Pools with counters that changed since `_troubled` was computed.
        self._counted: dict[PoolID, None] = {}
        self._troubled: dict[PoolID, Pool] = {}
        lister.add_index(_BY_NODE, self._node_keys)
        lister.add_index(_BY_POOL, _pool_keys)
        lister.add_index(_IGNORED, self._ignored_keys)
        lister.subscribe(self._forget)

    def _node_keys(self, one: ResourceSlice) -> tuple[str, ...]:
        spec = one.spec
        if self._is_ignored(one):
            return ()
        if self._counters_everywhere and spec.shared_counters:
            return (_COUNTERS,)
        return (spec.node_name or _SHARED,)

    def _ignored_keys(self, one: ResourceSlice) -> tuple[PoolID, ...]:
        return (pool_of(one),) if self._is_ignored(one) else ()

    def _is_ignored(self, one: ResourceSlice) -> bool:
        return not self._groups_known and uses_groups(one)

    def _forget(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        for one in (old, new):
            if one is not None:
                self._made.pop(pool_of(one), None)
                self._counted[pool_of(one)] = None

    def slices_of(self, pool: PoolID) -> Iterable[ResourceSlice]:
        """Return all slices of a pool."""
        return self._lister.by_index(_BY_POOL, pool)

    @property
    def troubled(self) -> tuple[Pool, ...]:
        """The incomplete and invalid pools that all nodes must consider; none unless as in 1.36.

        In 1.36 every node reaches the counters of every pool, even if it reaches none of the
        pool's devices. Such a pool matters only if it is incomplete or invalid.
        """
        if not self._counters_everywhere:
            return ()
        for key in self._counted:
            self._troubled.pop(key, None)
            slices = _newest(one for one in self.slices_of(key) if one.spec.shared_counters)
            if slices and self._partitions:
                pool = self._pool(key, slices, None)
                if pool is not None and (pool.is_incomplete or pool.invalid):
                    self._troubled[key] = pool
        self._counted.clear()
        return tuple(self._troubled.values())

    def of(self, node: Node) -> NodePools:
        """Return the pools that a node can reach; raise PoolError if slices are malformed."""
        by_pool: dict[PoolID, list[ResourceSlice]] = {}
        for one in self._reached_from(node):
            by_pool.setdefault(pool_of(one), []).append(one)
        with_counters = (
            self._counters_everywhere
            and self._partitions
            and any(self._lister.by_index(_BY_NODE, _COUNTERS))
        )
        pools = [pool for pool in self.troubled if pool.id not in by_pool]
        for key, slices in by_pool.items():
            if with_counters:
                slices += [one for one in self.slices_of(key) if one.spec.shared_counters]
            pool = self._pool(key, _newest(slices), node)
            if pool is not None:
                pools.append(pool)
        # Pools with devices that have binding conditions come last.
        pools.sort(key=lambda pool: (pool.has_binding_conditions, pool.id))
        group = tuple(map(id, pools))
        found = self._groups.get(group)
        if found is None:
            found = self._groups[group] = NodePools(tuple(pools))
        return found

    def _reached_from(self, node: Node) -> list[ResourceSlice]:
        """Return the slices with devices that a node can reach."""
        reached = [
            one
            for one in self._lister.by_index(_BY_NODE, node.metadata.name)
            if self._partitions or not _is_partitioned(one)
        ]
        for one in self._lister.by_index(_BY_NODE, _SHARED):
            if not self._partitions and _is_partitioned(one):
                continue
            try:
                if _reaches(one, node):
                    reached.append(one)
            except PoolError as error:
                raise PoolError(
                    "gather pool information: failed to perform node selection for slice "
                    f"{one.metadata.name}: {error}"
                ) from None
        return reached

    def _pool(self, key: PoolID, slices: list[ResourceSlice], node: Node | None) -> Pool | None:
        """Return the pool of the slices that a node reaches; None if it is out of date."""
        with_devices = [one for one in slices if not one.spec.shared_counters]
        reach = () if node is None else _reach(_by_name(with_devices), node)
        skips = (
            node is not None
            and any(one.spec.skip_node_operations for one in slices)
            and OPTIONAL_NODE_OPERATIONS in node.status.declared_features
        )
        made = self._made.setdefault(key, {})
        # By text, because two errors are never equal.
        known = (*map(id, slices), *map(str, reach), skips)
        if known not in made:
            pool = self._make(key, slices, reach)
            if pool is not None:
                pool.skips_operations = skips
            made[known] = pool
        return made[known]

    def _make(self, key: PoolID, slices: list[ResourceSlice], reach: Reach) -> Pool | None:
        # Of slices that disagree about their pool, the first by name counts, on every node.
        about = min(slices, key=lambda one: one.metadata.name).spec.pool
        others: list[ResourceSlice] = []
        if len(slices) != about.resource_slice_count:
            # The other slices may exist, but be out of the node's reach.
            everything = list(self.slices_of(key))
            if any(one.spec.pool.generation > about.generation for one in everything):
                return None
            ignored = {one.metadata.name for one in self._lister.by_index(_IGNORED, key)}
            current = [
                one
                for one in everything
                if one.spec.pool.generation == about.generation and one.metadata.name not in ignored
            ]
            if len(current) != about.resource_slice_count:
                return Pool(key, is_incomplete=True)
            names = {one.metadata.name for one in slices}
            others = [one for one in current if one.metadata.name not in names]
        return _build(key, slices, others, reach, self._partitions)


def _newest(slices: Iterable[ResourceSlice]) -> list[ResourceSlice]:
    """Return the slices of the newest generation."""
    found = list(slices)
    newest = max((one.spec.pool.generation for one in found), default=0)
    return [one for one in found if one.spec.pool.generation == newest]


def _by_name(slices: Iterable[ResourceSlice]) -> list[ResourceSlice]:
    return sorted(slices, key=lambda one: one.metadata.name)


def _is_partitioned(one: ResourceSlice) -> bool:
    spec = one.spec
    return spec.per_device_node_selection is not None or bool(spec.shared_counters)


def _reaches(one: ResourceSlice, node: Node) -> bool:
    spec = one.spec
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
    return bool(spec.per_device_node_selection) and any(
        node_matches(node, device.node_name, device.all_nodes, device.node_selector)
        for device in spec.devices
    )


def _reach(slices: list[ResourceSlice], node: Node) -> Reach:
    """Return whether a node reaches each device; the errors are for the search to raise."""
    if not any(one.spec.per_device_node_selection for one in slices):
        return ()
    found: list[bool | PoolError] = []
    for one in slices:
        for device in one.spec.devices:
            if not one.spec.per_device_node_selection:
                found.append(True)
                continue
            try:
                found.append(
                    node_matches(node, device.node_name, device.all_nodes, device.node_selector)
                )
            except PoolError as error:
                found.append(error)
    return tuple(found)


def _build(
    key: PoolID,
    slices: list[ResourceSlice],
    others: list[ResourceSlice],
    reach: Reach,
    partitions: bool,
) -> Pool:
    counter_sets: dict[str, CounterSet] = {}
    with_devices: list[ResourceSlice] = []
    elsewhere: list[ResourceSlice] = []
    for one, into in (
        *((one, with_devices) for one in _by_name(slices)),
        *((one, elsewhere) for one in others),
    ):
        if not partitions or not one.spec.shared_counters:
            into.append(one)
            continue
        for counters in one.spec.shared_counters:
            if counters.name in counter_sets:
                return Pool(key, invalid=f"duplicate counter set name {counters.name}")
            counter_sets[counters.name] = counters
    seen: set[str] = set()
    for one in with_devices:
        for device in one.spec.devices:
            if device.name in seen:
                return Pool(key, invalid=f"duplicate device name {device.name}")
            seen.add(device.name)
    if not partitions:
        return Pool(key, slices=tuple(with_devices), reach=reach)
    missing = _missing_counter((*with_devices, *elsewhere), counter_sets)
    if missing:
        return Pool(key, invalid=missing)
    return Pool(
        key,
        slices=tuple(with_devices),
        others=tuple(elsewhere),
        counter_sets=counter_sets,
        reach=reach,
    )


def _missing_counter(
    slices: Iterable[ResourceSlice], counter_sets: Mapping[str, CounterSet]
) -> str:
    """Return which counter that a device consumes does not exist; "" if all exist."""
    consumptions = (
        consumption
        for one in slices
        for device in one.spec.devices
        for consumption in device.consumes_counters
    )
    for consumption in consumptions:
        counter_set = counter_sets.get(consumption.counter_set)
        if counter_set is None:
            return f"counter set {consumption.counter_set} not found"
        for name in consumption.counters:
            if name not in counter_set.counters:
                return f"counter {name} not found in counter set {counter_set.name}"
    return ""

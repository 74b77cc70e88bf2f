"""Filter for all nodes at once: extended resources, allocated claims, time that runs out."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from mooring.api import DeviceClass, Pod, ResourceClaim, ResourceSlice
from mooring.api.resource import DeviceAttribute, DeviceRequest
from mooring.framework.decision import NodeStatuses
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import DynamicResourcesArgs
from mooring.plugins.dynamic_resources import DynamicResources
from mooring.plugins.dynamic_resources.claim_filter import (
    CANNOT_ALLOCATE,
    CANNOT_FIT,
    NOT_AVAILABLE,
    SEARCH_TOO_LONG,
    STALE_EXTENDED_CLAIM,
    TOO_EXPENSIVE,
)
from mooring.plugins.dynamic_resources.dynamic_resources import DEALLOCATED
from tests.plugins.clusters import Cluster, make, refusals
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    GPU,
    allocated_on,
    asks_for,
    claim,
    device_class,
    device_slice,
    node,
    pod,
)

POD = pod("pod", "c")


class _Handle(Cluster):
    """A cluster that keeps what plugins spawn."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.client: Any = self
        self.spawned: list[str] = []

    async def patch(self, *args: Any, **kwargs: Any) -> None:
        """Accept a patch."""

    def spawn(self, work: Any, pod: Any) -> None:
        """Remember a coroutine."""
        self.spawned.append(work.__name__)
        work.close()


def _plugin(nodes: list[Any], *objects: Any) -> tuple[Any, _Handle]:
    handle = _Handle(nodes, objects=objects)
    plugin = DynamicResources(handle=handle)  # type: ignore[arg-type]
    plugin.start()
    return plugin, handle


def test_nodes_that_offer_different_resources_are_asked_for_what_they_lack() -> None:
    nodes = [
        node("both", {GPU: "1", "example.com/nic": "1"}),
        node("nic", {"example.com/nic": "1"}),
        node("gpu", {GPU: "1"}),
        node("devices"),
        node("none"),
    ]
    nic = f'device.attributes["{DRIVER}"].kind == "nic"'
    plugin, handle = _plugin(
        nodes,
        device_class(extendedResourceName=GPU),
        device_class(
            "nic",
            extendedResourceName="example.com/nic",
            selectors=[{"cel": {"expression": nic}}],
        ),
        device_slice("nic", "d0", attributes={"kind": {"string": "gpu"}}),
        device_slice("gpu", "d0", attributes={"kind": {"string": "gpu"}}),
        device_slice("devices", "d0", "d1", attributes={"kind": {"string": "nic"}}),
    )
    wanted = {GPU: "1", "example.com/nic": "1"}
    asking = pod("pod", containers=[{"name": "x", "resources": {"requests": wanted}}])
    state = CycleState()
    assert plugin.pre_filter(state, asking, handle.snapshot) is None
    answers = refusals(plugin, state, asking, handle.snapshot)
    assert answers == dict.fromkeys(("gpu", "none"), CANNOT_ALLOCATE)
    found = {}
    for name in ("both", "nic", "devices"):
        assert plugin.reserve(state, asking, name) is None
        (allocation,) = state.read("DynamicResources").allocations
        results = () if allocation is None else allocation.devices.results
        found[name] = [one.device for one in results]
        plugin.unreserve(state, asking, name)
        state.read("DynamicResources").allocations = [None]
    assert found == {"both": [], "nic": ["d0"], "devices": ["d0", "d1"]}


def test_a_resource_that_no_class_backs_must_be_listed_by_the_node() -> None:
    other = "example.com/other"
    plugin, handle = _plugin(
        [node("a"), node("b", {other: "0"})],
        device_class(extendedResourceName=GPU),
        device_slice("a", "d0"),
        device_slice("b", "d0"),
    )
    requests = {GPU: "1", other: "1"}
    asking = pod("pod", containers=[{"name": "x", "resources": {"requests": requests}}])
    state = CycleState()
    assert plugin.pre_filter(state, asking, handle.snapshot) is None
    assert refusals(plugin, state, asking, handle.snapshot) == {"a": CANNOT_FIT}


def test_a_special_claim_of_an_earlier_attempt_keeps_the_pod_from_all_nodes() -> None:
    owner = {"name": "pod", "uid": "default/pod", "controller": True}
    marked = {"resource.kubernetes.io/extended-resource-claim": "true"}
    stale = claim("stale", ownerReferences=[owner], annotations=marked)
    assert isinstance(stale.spec.devices.requests[0], DeviceRequest)
    plugin, handle = _plugin(
        [node("a"), node("b")],
        device_class(extendedResourceName=GPU),
        stale,
        device_slice("a", "d0"),
    )
    state, asking = CycleState(), asks_for(GPU)
    assert plugin.pre_filter(state, asking, handle.snapshot) is None
    answers = refusals(plugin, state, asking, handle.snapshot)
    assert answers == dict.fromkeys("ab", STALE_EXTENDED_CLAIM)


def test_an_allocated_claim_that_kept_the_pod_from_a_node_is_deallocated() -> None:
    plugin, handle = _plugin(
        [node("a"), node("b")], claim(status=allocated_on("b")), device_class()
    )
    state, nodes = CycleState(), handle.snapshot
    assert plugin.pre_filter(state, POD, nodes) is None
    some = nodes.select(np.array([0], dtype=np.intp))
    ((status, mask),) = plugin.filter_nodes(state, POD, some)
    assert (status, mask.tolist()) == (NOT_AVAILABLE, [True])
    statuses = NodeStatuses(nodes)
    statuses.refuse(np.array([0]), NOT_AVAILABLE.by("Other"))
    assert plugin.post_filter(state, POD, statuses) != DEALLOCATED
    statuses.refuse(np.array([0]), NOT_AVAILABLE.by("DynamicResources"))
    assert plugin.post_filter(state, POD, statuses) == DEALLOCATED
    assert handle.spawned == ["deallocate"]


def test_a_node_that_was_not_asked_has_no_allocation() -> None:
    plugin, handle = _plugin([node("a")], claim(), device_class(), device_slice("a", "d0"))
    state = CycleState()
    assert plugin.pre_filter(state, POD, handle.snapshot) is None
    refused = plugin.reserve(state, POD, "a")
    assert refused == Status.error("claim allocation not found for node")


def _divided_pool(amount: str) -> list[ResourceSlice]:
    """Build a pool of which each node reaches a part; all parts use up the same counters."""
    consumed = {"consumesCounters": [{"counterSet": "c", "counters": {"m": {"value": "1"}}}]}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 3}
    counters = {"sharedCounters": [{"name": "c", "counters": {"m": {"value": amount}}}]}
    parts: list[tuple[str, dict[str, Any]]] = [
        ("a", {"nodeName": "a", "devices": [{"name": "x", **consumed}]}),
        ("b", {"nodeName": "b", "devices": [{"name": "y", **consumed}]}),
        ("counters", {"allNodes": True, **counters}),
    ]
    return [
        make(ResourceSlice, name, spec={"driver": DRIVER, "pool": pool, **spec})
        for name, spec in parts
    ]


def test_nodes_can_be_asked_in_batches() -> None:
    plugin, handle = _plugin(
        [node("a"), node("b")], claim(), device_class(), *_divided_pool(amount="2")
    )
    state, nodes = CycleState(), handle.snapshot
    assert plugin.pre_filter(state, POD, nodes) is None
    for row in range(2):
        assert list(plugin.filter_nodes(state, POD, nodes.select(np.array([row])))) == []
    assert plugin.reserve(state, POD, "a") is None
    (allocation,) = state.read("DynamicResources").allocations
    assert [one.device for one in allocation.devices.results] == ["x"]


def test_a_device_out_of_reach_may_use_up_the_counters() -> None:
    plugin, handle = _plugin(
        [node("a"), node("b")], claim(), device_class(), *_divided_pool(amount="1")
    )
    for taken, refused in ((False, {}), (True, dict.fromkeys("ab", CANNOT_ALLOCATE))):
        if taken:
            handle.lister(ResourceClaim).add(claim("other", status=allocated_on("p", "y")))
        state = CycleState()
        assert plugin.pre_filter(state, POD, handle.snapshot) is None
        assert refusals(plugin, state, POD, handle.snapshot) == refused


def _hard(*nodes: str) -> list[Any]:
    """Build claims whose search is long: too few devices, and a selector that forbids pruning."""
    attributes = {"model": {"string": "m"}, "size": {"int": 1}}
    devices = [f"d{i}" for i in range(9)]
    slices = [
        device_slice(name, *devices[i:], attributes=attributes) for i, name in enumerate(nodes)
    ]
    requests: list[Any] = [
        {"name": f"r{i}", "exactly": {"deviceClassName": "gpu", "count": 1}} for i in range(10)
    ]
    fails = {"cel": {"expression": 'device.attributes["x"].missing'}}
    requests[-1]["exactly"]["selectors"] = [fails]
    same = {"requests": ["r0"], "matchAttribute": f"{DRIVER}/size"}
    spec = {"devices": {"requests": requests, "constraints": [same]}}
    asking = make(ResourceClaim, "c", "default", metadata={"uid": "c"}, spec=spec)
    return [asking, device_class(), *slices]


class _Ticking:
    """A clock on which every look takes a millisecond."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Return the time."""
        self.time += 0.001
        return self.time


def test_the_searches_of_an_attempt_end_in_time_and_at_the_first_error() -> None:
    plugin, handle = _plugin([node("a"), node("b"), node("c")], *_hard("a", "b", "c"))
    clock: Any = _Ticking()
    handle.clock = clock
    state, nodes = CycleState(), handle.snapshot
    assert plugin.pre_filter(state, POD, nodes) is None
    answers = plugin.filter_nodes(state, POD, nodes)
    seconds = []
    for name in "ab":
        begin = clock.time
        status, mask = next(answers)
        assert status == Status.error(f"node {name}: timed out trying to allocate devices")
        assert nodes.names[int(mask.argmax())] == name and mask.sum() == 1
        seconds.append(round(clock.time - begin))
    # filterTimeout is 10 seconds. The caller may stop at the first error.
    assert seconds == [10, 10]


def test_all_searches_of_an_attempt_have_a_limit_together() -> None:
    names = [f"n{i}" for i in range(6)]
    plugin, handle = _plugin([node(name) for name in names], *_hard(*names[:1]))
    slices = handle.lister(ResourceSlice)
    attributes = {"model": {"string": "m"}, "size": {"int": 1}}
    for i, name in enumerate(names):
        devices = [f"d{k}" for k in range(9)]
        slices.add(device_slice(name, *devices, attributes={**attributes, "size": {"int": i}}))
    clock: Any = _Ticking()
    handle.clock = clock
    state, nodes = CycleState(), handle.snapshot
    assert plugin.pre_filter(state, POD, nodes) is None
    answers = list(plugin.filter_nodes(state, POD, nodes))
    assert len(answers) == 6 and all(status.is_error for status, _ in answers)
    assert round(clock.time) == 30


# Selectors that cost too much.

FORTY_FIVE = str(list(range(45)))
SIZE = f'device.attributes["{DRIVER}"].size'


def _nest(inner: str) -> str:
    """Return an expression of 45^3 iterations, which kube-apiserver accepts."""
    return f"{FORTY_FIVE}.all(a, {FORTY_FIVE}.all(b, {FORTY_FIVE}.all(c, {inner})))"


def _selecting(name: str, *expressions: str) -> ResourceClaim:
    selectors = [{"cel": {"expression": one}} for one in expressions]
    exactly = {"deviceClassName": "gpu", "selectors": selectors}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return make(ResourceClaim, name, "default", metadata={"uid": name}, spec=spec)


def _sized(count: int) -> list[ResourceSlice]:
    """Return slices of nodes whose eight devices all have different sizes."""
    found = []
    for i in range(count):
        devices = [{"name": f"d{k}", "attributes": {"size": {"int": 8 * i + k}}} for k in range(8)]
        pool = {"name": f"n{i}", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": f"n{i}", "pool": pool, "devices": devices}
        found.append(make(ResourceSlice, f"slice-{i}", spec=spec))
    return found


def _hostile(*claims: ResourceClaim, **args: int) -> tuple[Any, _Handle]:
    handle = _Handle(
        [node(f"n{i}") for i in range(20)], objects=[device_class(), *_sized(20), *claims]
    )
    plugin = DynamicResources(DynamicResourcesArgs(**args), handle=handle)  # type: ignore[arg-type]
    plugin.start()
    return plugin, handle


def _attempt(plugin: Any, handle: _Handle, asking: Pod, state: CycleState) -> dict[str, Status]:
    assert plugin.pre_filter(state, asking, handle.snapshot) is None
    return refusals(plugin, state, asking, handle.snapshot)


TOO_MUCH = Status.unresolvable(TOO_EXPENSIVE.format("default/c")).after_backoff()
EVERYWHERE = [f"n{i}" for i in range(20)]


def test_a_claim_whose_selectors_cost_too_much_is_refused_everywhere() -> None:
    plugin, handle = _hostile(_selecting("c", _nest(f"a + b + {SIZE} >= 0")))
    for _ in range(2):
        state = CycleState()
        answers = _attempt(plugin, handle, POD, state)
        assert answers == dict.fromkeys(EVERYWHERE, TOO_MUCH)
        # The dry runs of preemption ask about single nodes.
        for name in EVERYWHERE:
            info = handle.snapshot.find(name)
            assert plugin.filter(state, POD, info) == TOO_MUCH


def test_a_single_node_is_refused_as_all_nodes_are() -> None:
    plugin, handle = _hostile(_selecting("c", _nest(f"a + b + {SIZE} >= 0")))
    state = CycleState()
    assert plugin.pre_filter(state, POD, handle.snapshot) is None
    assert plugin.filter(state, POD, handle.snapshot.find("n3")) == TOO_MUCH


def test_a_selector_of_a_class_counts_for_the_claim_that_names_it() -> None:
    plugin, handle = _hostile(_selecting("c", "true"))
    costly = {"cel": {"expression": _nest(f"a + b + {SIZE} >= 0")}}
    handle.lister(DeviceClass).add(device_class(selectors=[costly]))
    assert _attempt(plugin, handle, POD, CycleState()) == dict.fromkeys(EVERYWHERE, TOO_MUCH)


def test_parts_of_a_selector_that_read_no_device_are_paid_once() -> None:
    expression = f"{_nest('a + b + c >= 0')} && {SIZE} >= 0"
    plugin, handle = _hostile(_selecting("c", expression))
    state = CycleState()
    assert _attempt(plugin, handle, POD, state) == {}
    spent = 5_000_000 - state.read("DynamicResources").budget.left
    # Once the nest, and 160 devices.
    assert 800_000 < spent < 900_000


def test_an_expression_is_charged_once_per_attempt_and_again_in_the_next() -> None:
    claims = [_selecting(name, f"{SIZE} >= 0") for name in "cd"]
    plugin, handle = _hostile(*claims)
    left = []
    for asking in (POD, pod("pod", "c", "d"), POD):
        state = CycleState()
        assert _attempt(plugin, handle, asking, state) == {}
        assert plugin.filter(state, asking, handle.snapshot.find("n1")) is None
        left.append(state.read("DynamicResources").budget.left)
    assert left[0] == left[1] == left[2] < 5_000_000


def test_the_budget_is_an_argument() -> None:
    plugin, handle = _hostile(_selecting("c", f"{SIZE} >= 0"), cel_cost_budget=9_000)
    assert _attempt(plugin, handle, POD, CycleState()) == dict.fromkeys(EVERYWHERE, TOO_MUCH)
    plugin, handle = _hostile(_selecting("c", f"{SIZE} >= 0"), cel_cost_budget=90_000)
    assert _attempt(plugin, handle, POD, CycleState()) == {}


def test_pods_of_a_group_share_one_budget() -> None:
    claims = [
        _selecting(name, f"{_nest(f'a + b + c >= -{i}')}") for i, name in enumerate("cdefghi")
    ]
    plugin, handle = _hostile(*claims)
    group = CycleState()
    answers = []
    for name in "cdefghi":
        state = CycleState()
        state.pod_group_state = group
        answers.append(_attempt(plugin, handle, pod(f"pod-{name}", name), state))
    assert answers[:5] == [{}] * 5
    assert [{status.message for status in one.values()} for one in answers[5:]] == [
        {TOO_EXPENSIVE.format(f"default/{name}")} for name in "hi"
    ]
    alone = CycleState()
    assert _attempt(plugin, handle, pod("pod-i", "i"), alone) == {}


def test_many_long_selectors_are_refused_before_they_are_compiled() -> None:
    long = [f"{SIZE} >= {i} || '{'a' * 9000}' == ''" for i in range(40)]
    plugin, handle = _hostile(_selecting("c", *long))
    assert _attempt(plugin, handle, POD, CycleState()) == dict.fromkeys(EVERYWHERE, TOO_MUCH)


def test_a_pattern_with_a_large_program_is_refused() -> None:
    name = f'device.attributes["{DRIVER}"].name'
    plugin, handle = _hostile(_selecting("c", f"{name}.matches('{'(.?){1000}' * 20}')"))
    for one in _sized(20):
        devices = tuple(
            replace(device, attributes={"name": DeviceAttribute(string_value=f"{i}" * 30)})
            for i, device in enumerate(one.spec.devices)
        )
        handle.lister(ResourceSlice).add(replace(one, spec=replace(one.spec, devices=devices)))
    assert _attempt(plugin, handle, POD, CycleState()) == dict.fromkeys(EVERYWHERE, TOO_MUCH)


def test_a_search_ends_by_its_cost_if_the_clock_stands_still() -> None:
    plugin, handle = _plugin([node("a"), node("b")], *_hard("a", "b"))
    status = Status.unresolvable(SEARCH_TOO_LONG.format("default/c")).after_backoff()
    steps = []
    for _ in range(2):
        state = CycleState()
        assert plugin.pre_filter(state, POD, handle.snapshot) is None
        ((found, mask),) = plugin.filter_nodes(state, POD, handle.snapshot)
        assert found == status and mask.all()
        steps.append(state.read("DynamicResources").allocator.steps)
    # The second attempt knows that the search of the first one was ended.
    assert steps[0] > 256 and steps[1] == 0
    state = CycleState()
    assert plugin.pre_filter(state, POD, handle.snapshot) is None
    assert plugin.filter(state, POD, handle.snapshot.find("a")) == status


def test_a_short_search_costs_nothing() -> None:
    plugin, handle = _plugin([node("a")], *_hard("a")[1:], claim())
    state = CycleState()
    assert _attempt(plugin, handle, POD, state) == {}
    assert state.read("DynamicResources").budget.left == 5_000_000

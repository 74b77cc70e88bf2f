"""A scheduler in the shadow of another one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from mooring.api import Pod
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.config import LoadResult, default_config
from mooring.config.load import load_config_data
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.journal.entries import EVERY_NODE
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.shadow.comparison import PodComparison, Verdict
from mooring.shadow.shadow import (
    EXAMPLES,
    RowChanges,
    Shadow,
    ShadowReport,
    is_unschedulable,
)
from mooring.shadow.their_rules import beside
from mooring.testing.builders import make_node, make_pod
from tests.apiserver.api_server import ADMIN, ApiServer
from tests.explain.runs import make_scheduler
from tests.explain.test_live_examination import PODS, node, pod
from tests.support.virtual_loop import LoopClock, run_virtually

STRATEGIC = "application/strategic-merge-patch+json"


@contextlib.asynccontextmanager
async def shadowed(
    nodes: dict[str, str],
    *pods: dict[str, Any],
    rules: LoadResult | None = None,
    told: Callable[[PodComparison], None] | None = None,
    plugins: Sequence[type[Plugin]] = (),
    journal: Any = None,
) -> AsyncIterator[tuple[ApiServer, Shadow, RunningScheduler]]:
    """Run a shadow of an API server with nodes (name and cpu) and pods, on a virtual loop."""
    server = ApiServer()
    for name, cpu in nodes.items():
        await server.ask("POST", "/api/v1/nodes", node(name, cpu))
    for one in pods:
        await server.ask("POST", PODS, one)
    shadow, clock = Shadow(told, journal), LoopClock()
    client = Client(LocalTransport(server.api, ADMIN), clock=clock)
    registry = default_registry(plugins)
    running = RunningScheduler(
        default_config(registry=registry) if rules is None else rules,
        client=client,
        event_client=client,
        registry=registry,
        features=FeatureGates(),
        clock=clock,
        metrics=Metrics(),
        read_only=True,
        taps=(shadow,) if journal is None else (shadow, journal),
    )
    try:
        await running.sync()
        if journal is not None:
            journal.attach(running)
        shadow.begin(running.scheduler)
        await clock.sleep(2.0)
        yield server, shadow, running
    finally:
        await running.close()
        await client.close()


async def bind(server: ApiServer, running: RunningScheduler, name: str, chosen: str) -> None:
    """Bind a pod, and wait until the shadow has seen it."""
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": chosen}}
    await server.ask("POST", f"{PODS}/{name}/binding", binding)
    clock = running.scheduler.clock
    while (found := running.scheduler.cache.pod(_uid(running, name))) is None:
        await clock.sleep(0.01)
        running.scheduler.inbox.drain()
    assert found.pod.spec.node_name == chosen


async def compared(
    placements: list[tuple[str, str, str]], *, apart: float = 2.0, **options: Any
) -> tuple[ShadowReport, list[PodComparison]]:
    """Bind pods (name, cpu, node) on two nodes one after the other, beside a shadow."""
    told: list[PodComparison] = []
    nodes, there = {"big": "64", "small": "2"}, pod("there", nodeName="small")
    async with shadowed(nodes, there, told=told.append, **options) as (server, shadow, running):
        for name, cpu, chosen in placements:
            await running.scheduler.clock.sleep(apart)
            await server.ask("POST", PODS, pod(name, cpu))
            await bind(server, running, name, chosen)
            shadow.look()
        return shadow.report, told


def _uid(running: RunningScheduler, name: str) -> str:
    found: Pod | None = running.informers.lister(Pod).get(name, "default")
    return "" if found is None else found.metadata.uid


def test_agreement_and_differences_are_counted() -> None:
    placements = [("a", "1", "big"), ("b", "1", "small"), ("c", "4", "big"), ("d", "900", "big")]
    report, told = run_virtually(compared(placements))
    assert [found.verdict for found in told] == [
        Verdict.AGREED,
        Verdict.OTHER_NODE,
        Verdict.AGREED,
        Verdict.PENDING_HERE,
    ]
    assert report.decided == 4
    assert report.agreement == 0.5
    assert report.lost == told[1].lost > 0
    assert report.plugins == {
        (Verdict.OTHER_NODE, "NodeResourcesFit"): 1,
        (Verdict.PENDING_HERE, "NodeResourcesFit"): 1,
    }
    # The pod that was there before is not compared.
    assert all(found.pod != "default/there" for found in told)


def test_what_changed_just_before_cannot_be_decided() -> None:
    placements = [("a", "1", "big"), ("b", "1", "small")]
    report, told = run_virtually(compared(placements, apart=0.1))
    assert [found.verdict for found in told] == [Verdict.AGREED, Verdict.UNDECIDABLE]
    assert (report.decided, report.agreement) == (1, 1.0)


def test_a_report_without_pods_agrees() -> None:
    assert ShadowReport().agreement == 1.0


def test_few_examples_are_kept() -> None:
    report = ShadowReport()
    for i in range(10):
        report.add(PodComparison(f"p{i}", Verdict.REFUSED, "n", plugin="A"))
    assert report.plugins[Verdict.REFUSED, "A"] == 10
    assert [one.pod for one in report.examples[Verdict.REFUSED, "A"]] == [
        f"p{i}" for i in range(EXAMPLES)
    ]


def test_rows_settle_after_a_second() -> None:
    scheduler = make_scheduler([make_node("n1"), make_node("n2")])
    nodes, changes = scheduler.cache.nodes, RowChanges()
    changes.update(nodes, 10.0)
    assert changes.is_settled(0, 10.0)
    scheduler.cluster.add(make_pod(node="n1"))
    changes.update(scheduler.cache.nodes, 20.0)
    row = nodes.row("n1")
    assert not changes.is_settled(row, 20.9)
    assert changes.unsettled(nodes, 20.9) == ["n1"]
    assert changes.unsettled(nodes, 21.0) == []
    assert changes.is_settled(row, 21.0)
    assert changes.is_settled(1 - row, 20.0)
    assert changes.is_settled(-1, 20.0)
    scheduler.cluster.add(make_node("n3"))
    changes.update(scheduler.cache.nodes, 30.0)
    assert not changes.is_settled(row, 30.0)
    assert changes.unsettled(scheduler.cache.nodes, 30.0) == [EVERY_NODE]


def unschedulable(status: str = "False") -> dict[str, Any]:
    """Return a patch of a pod that a scheduler has found no node for."""
    condition = {"type": "PodScheduled", "status": status, "reason": "Unschedulable"}
    return {"status": {"conditions": [condition]}}


async def declare_unschedulable(server: ApiServer, running: RunningScheduler, name: str) -> None:
    """Let the other scheduler leave a pod pending, and wait until the shadow has seen it."""
    path = f"{PODS}/{name}/status"
    await server.ask("PATCH", path, unschedulable(), content_type=STRATEGIC)
    while not is_unschedulable(running.informers.lister(Pod).get(name, "default")):
        await running.scheduler.clock.sleep(0.01)
    running.scheduler.inbox.drain()


@pytest.mark.parametrize(("cpu", "counted"), [("1", 1), ("900", 0)])
def test_a_pod_that_is_pending_there_is_counted_once(cpu: str, counted: int) -> None:
    async def ask() -> ShadowReport:
        async with shadowed({"big": "64"}, pod("p", cpu)) as (server, shadow, running):
            await declare_unschedulable(server, running, "p")
            assert shadow.report.counts[Verdict.PENDING_THERE] == counted
            shadow.ask_pending(running.informers.lister(Pod).get("p", "default"), is_last=True)
            return shadow.report

    assert run_virtually(ask()).counts.total() == counted


def test_a_pending_pod_that_cannot_be_decided_yet_is_asked_again() -> None:
    async def ask() -> list[int]:
        async with shadowed({"big": "64"}, pod("p")) as (server, shadow, running):
            await server.ask("POST", PODS, pod("new", nodeName="big"))
            while not running.scheduler.cache.pods:
                await running.scheduler.clock.sleep(0.01)
                running.scheduler.inbox.drain()
            await declare_unschedulable(server, running, "p")
            waiting = running.informers.lister(Pod).get("p", "default")
            counts = [shadow.report.counts.total()]
            shadow.ask_pending(waiting, is_last=True)
            counts.append(shadow.report.counts[Verdict.UNDECIDABLE])
            return counts

    assert run_virtually(ask()) == [0, 1]


class Gate(Plugin):
    """A plugin that lets no pod into the queue."""

    def pre_enqueue(self, pod: Pod) -> Status:
        return Status.unresolvable("not yet")


def test_a_pod_that_our_rules_keep_out_of_the_queue() -> None:
    registry = default_registry([Gate])
    rules = default_config(registry=registry, enabled=[Gate.name])
    _, (found,) = run_virtually(compared([("a", "1", "big")], rules=rules, plugins=[Gate]))
    assert (found.verdict, found.plugin, found.reason) == (
        Verdict.PENDING_HERE,
        "Gate",
        "not yet",
    )


def changed(**plugins: Any) -> LoadResult:
    """Return the default configuration with other plugins, beside the default one."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }
    registry = default_registry()
    ours = load_config_data(document, registry=registry)
    return beside(ours, default_config(registry=registry))


def test_a_difference_is_attributed_to_the_plugin_that_we_do_not_have() -> None:
    rules = changed(score={"disabled": [{"name": "NodeResourcesFit"}]})

    async def ask() -> PodComparison:
        told: list[PodComparison] = []
        nodes = {"big": "64", "small": "2"}
        busy = pod("busy", "30", nodeName="big")
        async with shadowed(nodes, busy, rules=rules, told=told.append) as (server, _, running):
            await server.ask("POST", PODS, pod("p", "100m"))
            await bind(server, running, "p", "small")
        (found,) = told
        return found

    # Only the balance of resources counts here, which prefers the node that is half full.
    found = run_virtually(ask())
    assert (found.verdict, found.ours) == (Verdict.OTHER_NODE, "big")
    assert found.plugin == "NodeResourcesFit"


def test_a_filter_that_we_do_not_have_is_named_with_their_refusal() -> None:
    rules = changed(filter={"disabled": [{"name": "NodeUnschedulable"}]})

    async def ask() -> list[PodComparison]:
        told: list[PodComparison] = []
        nodes = {"big": "64", "small": "2"}
        async with shadowed(nodes, rules=rules, told=told.append) as (server, shadow, running):
            spec = {"spec": {"unschedulable": True}}
            await server.ask("PATCH", "/api/v1/nodes/big", spec, content_type=STRATEGIC)
            await running.scheduler.clock.sleep(0.1)
            running.scheduler.inbox.drain()
            shadow.look()
            await running.scheduler.clock.sleep(2.0)
            await server.ask("POST", PODS, pod("p", "1"))
            await server.ask("POST", PODS, pod("q", "9"))
            await bind(server, running, "p", "small")
            await declare_unschedulable(server, running, "q")
        return told

    placed, waiting = run_virtually(ask())
    assert (placed.verdict, placed.ours) == (Verdict.OTHER_NODE, "big")
    assert waiting.verdict is Verdict.PENDING_THERE
    for found in (placed, waiting):
        assert found.plugin == "NodeUnschedulable"
        assert found.reason == "refused there: node(s) were unschedulable"

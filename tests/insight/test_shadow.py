"""A scheduler in the shadow of another one."""

from __future__ import annotations

import pytest

from mooring.api import Pod
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.config import default_config
from mooring.framework.features import FeatureGates
from mooring.insight.comparison import PodComparison, Verdict
from mooring.insight.shadow import EXAMPLES, RowChanges, Shadow, ShadowReport
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.testing.builders import make_node, make_pod
from tests.apiserver.api_server import ADMIN, ApiServer
from tests.explain.runs import make_scheduler
from tests.explain.test_live_examination import PODS, node, pod
from tests.support.virtual_loop import LoopClock, run_virtually


async def compared(
    placements: list[tuple[str, str, str]], *, apart: float = 2.0
) -> tuple[ShadowReport, list[PodComparison]]:
    """Bind pods (name, cpu, node) on two nodes one after the other, beside a shadow."""
    server = ApiServer()
    for name, cpu in (("big", "64"), ("small", "2")):
        await server.ask("POST", "/api/v1/nodes", node(name, cpu))
    await server.ask("POST", PODS, pod("there", nodeName="small"))
    told: list[PodComparison] = []
    shadow, clock = Shadow(told.append), LoopClock()
    client = Client(LocalTransport(server.api, ADMIN), clock=clock)
    registry = default_registry()
    running = RunningScheduler(
        default_config(registry=registry),
        client=client,
        event_client=client,
        registry=registry,
        features=FeatureGates(),
        clock=clock,
        metrics=Metrics(),
        read_only=True,
        taps=(shadow,),
    )
    try:
        await running.sync()
        shadow.begin(running.scheduler)
        for name, cpu, chosen in placements:
            await clock.sleep(apart)
            await server.ask("POST", PODS, pod(name, cpu))
            binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": chosen}}
            await server.ask("POST", f"{PODS}/{name}/binding", binding)
            while (found := running.scheduler.cache.pod(_uid(running, name))) is None:
                await clock.sleep(0.01)
                running.scheduler.inbox.drain()
            assert found.pod.spec.node_name == chosen
            shadow.look()
        return shadow.report, told
    finally:
        await running.close()
        await client.close()


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
    nodes, changes = scheduler.cluster.cache.nodes, RowChanges()
    changes.update(nodes, 10.0)
    assert changes.is_settled(0, 10.0)
    scheduler.cluster.add(make_pod(node="n1"))
    changes.update(scheduler.cluster.cache.nodes, 20.0)
    row = nodes.row("n1")
    assert not changes.is_settled(row, 20.9)
    assert changes.is_settled(row, 21.0)
    assert changes.is_settled(1 - row, 20.0)
    assert changes.is_settled(-1, 20.0)
    scheduler.cluster.add(make_node("n3"))
    changes.update(scheduler.cluster.cache.nodes, 30.0)
    assert not changes.is_settled(row, 30.0)


@pytest.mark.parametrize(("cpu", "counted"), [("1", 1), ("900", 0)])
def test_a_pod_that_is_pending_there(cpu: str, counted: int) -> None:
    async def ask() -> ShadowReport:
        server = ApiServer()
        await server.ask("POST", "/api/v1/nodes", node("big", "64"))
        await server.ask("POST", PODS, pod("p", cpu))
        shadow, clock = Shadow(), LoopClock()
        client = Client(LocalTransport(server.api, ADMIN), clock=clock)
        registry = default_registry()
        running = RunningScheduler(
            default_config(registry=registry),
            client=client,
            event_client=client,
            registry=registry,
            features=FeatureGates(),
            clock=clock,
            metrics=Metrics(),
            read_only=True,
            taps=(shadow,),
        )
        try:
            await running.sync()
            shadow.begin(running.scheduler)
            shadow.ask_pending(running.informers.lister(Pod).get("p", "default"))
            return shadow.report
        finally:
            await running.close()
            await client.close()

    assert run_virtually(ask()).counts[Verdict.PENDING_THERE] == counted

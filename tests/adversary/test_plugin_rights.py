"""A scheduler with a plugin of the family that lacks one of the rules the chart adds for it.

The rules of the scheduler itself are taken away in tests/deploy, on a real API server.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mooring.cli.rights import cluster_rules, plugin_rules
from mooring.client.client import Client
from mooring.config.load import load_config_data
from mooring.framework.features import FeatureGates
from mooring.local.custom_definitions import SETS, definitions
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from tests.adversary.test_rights import MOST_REFUSALS, SCHEDULER, SECONDS, Counting
from tests.apiserver.api_server import PODS, ApiServer, pod
from tests.contrib.profiles import configuration
from tests.support.virtual_loop import LoopClock, run_virtually

Object = dict[str, Any]

RBAC = "/apis/rbac.authorization.k8s.io/v1"
#: Plugins that sort the queue, and arguments without which a plugin does not start.
SORTS = ("Coscheduling", "TopologicalSort", "QOSSort")
ARGUMENTS: dict[str, Object] = {
    "NetworkOverhead": {"namespaces": ["default"]},
    "TopologicalSort": {"namespaces": ["default"]},
    "TargetLoadPacking": {"metricProvider": {"type": "KubernetesMetricsServer"}},
    "LoadVariationRiskBalancing": {"metricProvider": {"type": "KubernetesMetricsServer"}},
    "LowRiskOverCommitment": {"metricProvider": {"type": "KubernetesMetricsServer"}},
    "Peaks": {
        "metricProvider": {"type": "KubernetesMetricsServer"},
        "NodePowerModel": {"n": {"k0": 100.0, "k1": 10.0, "k2": 0.1}},
    },
}
RULES = [
    pytest.param(name, index, id=f"{name}: {rule['resources'][0]}")
    for name, rules in plugin_rules().items()
    for index, rule in enumerate(rules)
]


async def schedule(name: str, granted: list[Object]) -> tuple[Object, Counting]:
    """Run a scheduler with a plugin and some rights for some minutes of virtual time."""
    server = ApiServer()
    for definition in definitions(SETS):
        await server.ask(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition
        )
    role = {"metadata": {"name": "limited"}, "rules": granted}
    await server.ask("POST", f"{RBAC}/clusterroles", role)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "limited"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": SCHEDULER.name}
    binding = {"metadata": {"name": "limited"}, "roleRef": reference, "subjects": [subject]}
    await server.ask("POST", f"{RBAC}/clusterrolebindings", binding)
    size = {"cpu": "8", "memory": "8Gi", "pods": "110"}
    await server.ask(
        "POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"allocatable": size}}
    )
    await server.ask("POST", PODS, pod("fits"))
    disabled = ["PrioritySort"] if name in SORTS else []
    if name in ("CapacityScheduling", "PreemptionToleration"):
        disabled.append("DefaultPreemption")
    arguments = {name: ARGUMENTS[name]} if name in ARGUMENTS else {}
    registry, gates = default_registry(), FeatureGates()
    data = configuration(name, disabled=disabled, args=arguments)
    transport, clock = Counting(server), LoopClock()
    client = Client(transport, clock=clock)
    running = RunningScheduler(
        load_config_data(data, registry=registry, feature_gates=gates),
        client=client,
        event_client=client,
        registry=registry,
        features=gates,
        clock=clock,
        metrics=Metrics(gates.enabled),
    )
    running.start()

    async def live() -> None:
        await running.sync()
        await running.scheduler.run()

    living = asyncio.create_task(live())
    await asyncio.sleep(SECONDS)
    assert not living.done(), living
    living.cancel()
    await asyncio.gather(living, return_exceptions=True)
    await running.close()
    return await server.ask("GET", f"{PODS}/fits"), transport


@pytest.mark.parametrize(("name", "missing"), RULES)
def test_a_rule_of_a_plugin_is_missing(
    name: str, missing: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    rules = plugin_rules()[name]
    gone = rules[missing]
    granted = [*cluster_rules(), *rules[:missing], *rules[missing + 1 :]]
    fits, transport = run_virtually(schedule(name, granted))
    told = "\n".join(str(record.__dict__.get("kv", "")) for record in caplog.records)
    (group,), (resource,) = gone["apiGroups"], gone["resources"]
    assert f'cannot list resource "{resource}" in API group "{group}"' in told
    assert "Traceback" not in caplog.text
    assert sum(transport.refused.values()) <= MOST_REFUSALS, transport.refused
    # Without measurements, nodes are scored without them; without the objects that a plugin
    # decides by, nothing is scheduled, because the decisions could be wrong.
    assert fits["spec"].get("nodeName", "") == ("n" if group == "metrics.k8s.io" else "")


@pytest.mark.parametrize("name", plugin_rules())
def test_the_rules_of_a_plugin_are_enough(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    fits, transport = run_virtually(schedule(name, [*cluster_rules(), *plugin_rules()[name]]))
    assert fits["spec"]["nodeName"] == "n"
    assert transport.refused == {}

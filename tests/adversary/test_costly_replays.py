"""Claims that exceed the budget of an attempt, in a replay of the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mooring.plugins.dynamic_resources.claim_filter import TOO_EXPENSIVE
from tests.apiserver.api_server import PODS
from tests.plugins.dynamic_resources.devices import DRIVER
from tests.replay.recordings import (
    JournaledCluster,
    journaled,
    node,
    pod,
    replayed,
    write_config,
)

Object = dict[str, Any]

RESOURCES = "/apis/resource.k8s.io/v1"
#: Enough for the first nodes, and not for all.
BUDGET = """\
  pluginConfig:
  - name: DynamicResources
    args: {celCostBudget: 30000}
"""
NODES = 8
FIFTY = str(list(range(50)))


def _made(kind: str, name: str, spec: Object) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _slice(name: str, first: int) -> Object:
    devices = [{"name": f"d{k}", "attributes": {"size": {"int": first + k}}} for k in range(8)]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    return _made("ResourceSlice", name, spec)


def _claim(name: str, loops: str) -> Object:
    expression = f'{loops}.all(a, device.attributes["{DRIVER}"].size + a >= 0)'
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return _made("ResourceClaim", name, spec)


def _user(name: str, claim: str) -> Object:
    found: Object = pod(name, "1")
    found["spec"]["resourceClaims"] = [{"name": "r", "resourceClaimName": claim}]
    return found


async def _play(cluster: JournaledCluster) -> None:
    async def make(path: str, obj: Object) -> None:
        made = await cluster.server.ask("POST", f"{RESOURCES}/{path}", obj)
        assert made["kind"] != "Status", made

    await make("deviceclasses", _made("DeviceClass", "gpu", {}))
    for i in range(NODES):
        await cluster.create(node(f"n{i}"))
        await make("resourceslices", _slice(f"n{i}", 8 * i))
    for name, loops in (("evil", FIFTY), ("other", f"{FIFTY}.map(a, a)"), ("good", "[1]")):
        await make("namespaces/default/resourceclaims", _claim(name, loops))
    for number, name in enumerate(("evil", "good", "other", "evil")):
        await cluster.create(_user(f"{name}-{number}", name))
        await cluster.schedule()
    # New devices are further evaluations: the answers of the others are known by now.
    await make("resourceslices", _slice("more", 1000))
    await cluster.clock.sleep(20.0)
    await cluster.schedule()
    found = await cluster.server.ask("GET", f"{PODS}/evil-0")
    assert TOO_EXPENSIVE.format("default/evil") in str(found["status"])


def test_attempts_that_exceed_the_budget_come_out_as_recorded(tmp_path: Path) -> None:
    journaled(tmp_path, _play, config=write_config(tmp_path, BUDGET))
    report = replayed(tmp_path)
    assert report.reproduced, report.deviations
    assert report.attempts >= 5
    assert report.scheduled == 1

"""Resource quotas, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from mooring.client.resources import raw_resource
from mooring.controllers.controlled_kinds import PODS, QUOTAS
from mooring.errors import ApiError
from tests.support.controllers import Workbench
from tests.support.waiting import PATIENCE


def pod(name: str, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "img", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "schedulerName": "nobody", **spec},
    }


async def quota(bench: Workbench, hard: dict[str, str], **spec: Any) -> None:
    made = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    await bench.create(QUOTAS, {**made, "spec": {"hard": hard, **spec}})


def status(bench: Workbench) -> dict[str, Any]:
    found = bench.get(QUOTAS, "q")
    return {} if found is None else found.get("status", {})


async def used(bench: Workbench, **amounts: str) -> None:
    wanted = {name.replace("__", "/").replace("_", "."): text for name, text in amounts.items()}
    await bench.until(lambda: status(bench).get("used") == wanted, f"{wanted} used")


async def refused(bench: Workbench, obj: dict[str, Any]) -> str:
    """Try to create a pod until it is refused, and return the reason.

    kube-apiserver checks quotas as it last saw them, which may be before the status that the test
    has seen. A dry run counts nothing, so it may be repeated.
    """
    path = f"{raw_resource(PODS).path(bench.namespace)}?dryRun=All"
    body = msgspec.json.encode(obj)
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await bench.client.request("POST", path, body)
            except ApiError as error:
                return str(error)


async def test_a_quota_binds_once_it_is_counted(workbench: Workbench) -> None:
    await workbench.create(PODS, pod("a"))
    await quota(workbench, {"pods": "2", "requests.cpu": "1"})
    await used(workbench, pods="1", requests_cpu="100m")
    assert status(workbench)["hard"] == {"pods": "2", "requests.cpu": "1"}
    message = await refused(workbench, pod("big", "950m"))
    assert "exceeded quota: q, requested: requests.cpu=950m" in message
    await workbench.create(PODS, pod("b", "200m"))
    await used(workbench, pods="2", requests_cpu="300m")
    assert "exceeded quota: q, requested: pods=1" in await refused(workbench, pod("c"))


async def test_what_goes_makes_room(workbench: Workbench) -> None:
    await quota(workbench, {"pods": "1"})
    await used(workbench, pods="0")
    await workbench.create(PODS, pod("a"))
    await used(workbench, pods="1")
    await workbench.delete(PODS, "a", gracePeriodSeconds=0)
    await used(workbench, pods="0")


async def test_a_scope_leaves_pods_out(workbench: Workbench) -> None:
    await workbench.create(PODS, pod("a"))
    await workbench.create(PODS, pod("b", activeDeadlineSeconds=60))
    await quota(workbench, {"pods": "5"}, scopes=["Terminating"])
    await used(workbench, pods="1")


async def test_objects_of_other_kinds_are_counted(workbench: Workbench) -> None:
    await quota(workbench, {"count/deployments.apps": "3", "count/nothings.example.com": "1"})
    await used(workbench, **{"count__deployments_apps": "0", "count__nothings_example_com": "0"})

"""Requests per second: create, get, list, patch and server-side apply."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.local.objects import PODS, create, encode, pod
from benchmarks.local.report import Figure
from benchmarks.local.servers import Server
from benchmarks.local.wire import Wire
from mooring.client.transport import Request

LISTED = 1000
#: A scheduler that does not run, so that only the API server is measured.
_NOBODY = "nobody"
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"


async def measure(server: Server, connections: int, count: int) -> list[Figure]:
    """Return the rates over a number of connections."""
    wire = Wire(server.kubeconfig)
    figures: list[Figure] = []
    suffix = f"{connections:2} conn."

    async def rate(name: str, requests: Iterator[Request], total: int) -> None:
        cpu = server.cpu_seconds()
        seconds = await wire.send_all(requests, connections)
        used = (server.cpu_seconds() - cpu) / total * 1e3
        figures.append(Figure(f"{name}, {suffix}", "requests/s", total / seconds, used))

    prefix = f"bench-{connections}"
    names = [f"{prefix}-{i}" for i in range(max(count, LISTED))]
    try:
        await rate(
            "create pod",
            (create(PODS, pod(name, schedulerName=_NOBODY)) for name in names[:count]),
            count,
        )
        # The list has the same length whatever the count.
        await wire.send_all(
            (create(PODS, pod(name, schedulerName=_NOBODY)) for name in names[count:]), connections
        )
        await rate("get pod", (Request("GET", f"{PODS}/{name}") for name in names[:count]), count)
        lists = max(4, count // 50)
        target = f"{PODS}?limit={LISTED}&labelSelector=app%3Dbench"
        await rate(f"list {LISTED} pods", (Request("GET", target) for _ in range(lists)), lists)
        await rate("patch pod", (_patch(name) for name in names[:count]), count)
        await rate("apply pod", (_apply(name) for name in names[:count]), count)
    finally:
        body = b'{"gracePeriodSeconds":0}'
        await wire.send(Request("DELETE", PODS, body, timeout=120.0))
        await wire.close()
    return figures


def _patch(name: str) -> Request:
    patch = {"metadata": {"annotations": {"bench.example/value": name}}}
    return Request("PATCH", f"{PODS}/{name}", encode(patch), _STRATEGIC)


def _apply(name: str) -> Request:
    labels = {"app": "bench", "applied": "yes"}
    applied = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
    }
    target = f"{PODS}/{name}?fieldManager=bench-apply&force=true"
    return Request("PATCH", target, encode(applied), _APPLY)

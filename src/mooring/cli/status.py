"""`mooring status`: show what a local cluster consists of."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from mooring.cli.cluster_state import ClusterRecord, ProfileRecord, find_cluster
from mooring.errors import MooringError

if TYPE_CHECKING:
    from mooring.client.client import Client

#: Seconds to wait for each of the cluster's responses; many pods come in many of them.
PATIENCE = 10.0
_UNKNOWN = "unknown"


def run(args: argparse.Namespace) -> int:
    """Show the local cluster that a command line names; return the exit status."""
    record = find_cluster(args.kubeconfig, "status")
    print("\n".join(_lines(record, asyncio.run(_count(record)))))
    return 0


class _Counts(msgspec.Struct):
    """How many objects a cluster has, or why that is unknown."""

    nodes: str = _UNKNOWN
    pods: str = _UNKNOWN
    #: How many pods are only simulated for lack of which flags.
    simulated: dict[str, int] = {}


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _Status(msgspec.Struct, frozen=True):
    phase: str = "Unknown"
    conditions: list[_Condition] | None = None


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class CountedObject(msgspec.Struct, frozen=True):
    """The part of a node or pod that is counted."""

    metadata: _Metadata = _Metadata()
    status: _Status = _Status()


async def _count(record: ClusterRecord) -> _Counts:
    from mooring.apiserver.api import SIMULATED
    from mooring.client.client import Client
    from mooring.client.kubeconfig import load_kubeconfig
    from mooring.client.transports import make_transport
    from mooring.observe.clock import SystemClock

    clock = SystemClock()
    counts = _Counts()
    client: Client | None = None
    try:
        # The cluster is on this machine: compressing is slower than sending.
        connection = replace(load_kubeconfig(record.kubeconfig), compression=False)
        client = Client(make_transport(connection, clock=clock))
        counts.nodes = await count_states(client, "/api/v1/nodes", readiness)
        counts.pods = await count_states(client, "/api/v1/pods", phase)
        async with asyncio.timeout(PATIENCE):
            body = await client.request("GET", SIMULATED)
        counts.simulated = msgspec.json.decode(body, type=_Simulated).pods
    except (MooringError, TimeoutError) as error:
        why = f"unknown: {str(error) or f'no answer within {PATIENCE:.0f} s'}"
        if counts.nodes == _UNKNOWN:
            counts.nodes = why
        else:
            counts.pods = why if counts.pods == _UNKNOWN else counts.pods
    finally:
        if client is not None:
            await client.close()
    return counts


class _Simulated(msgspec.Struct, frozen=True):
    pods: dict[str, int] = {}


async def count_states(client: Client, path: str, state: Callable[[CountedObject], str]) -> str:
    """Return how many objects of a list are in each state; raise TimeoutError if a page is late."""
    from mooring.client.pages import read_pages

    now = asyncio.get_running_loop().time
    # By uid, because a list whose pages expire yields objects again.
    states: dict[str, str] = {}
    async with asyncio.timeout(PATIENCE) as patience:
        async for counted in read_pages(client, path, CountedObject):
            states[counted.metadata.uid] = state(counted)
            patience.reschedule(now() + PATIENCE)
    counts = Counter(states.values())
    each = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{counts.total()}: {each}" if each else "0"


def readiness(node: CountedObject) -> str:
    """Return whether a node is Ready or NotReady."""
    conditions = node.status.conditions or ()
    is_ready = any(one.type == "Ready" and one.status == "True" for one in conditions)
    return "Ready" if is_ready else "NotReady"


def phase(pod: CountedObject) -> str:
    """Return the phase of a pod."""
    return pod.status.phase


def _lines(record: ClusterRecord, counts: _Counts) -> Iterator[str]:
    from mooring.apiserver.printing.printer import human_duration

    yield f"version     Mooring {record.version}, Kubernetes {record.kubernetes}"
    yield f"address     {record.address}"
    yield f"age         {human_duration(time.time() - record.started)}"
    yield f"process     {record.pid}"
    yield f"nodes       {counts.nodes}"
    yield f"pods        {counts.pods}"
    for place, (flags, pods) in enumerate(sorted(counts.simulated.items())):
        yield f"{'' if place else 'simulated':11} {pods} of image mooring; to run them: {flags}"
    profiles = ", ".join(one.name for one in record.profiles)
    yield f"profiles    {profiles or 'none: the cluster runs no scheduler'}"
    yield f"plugins     {_plugins(record.profiles)}"
    yield f"kubeconfig  {record.kubeconfig}"
    yield f"log         {record.log or 'the terminal of `mooring up`'}"


def _plugins(profiles: Sequence[ProfileRecord]) -> str:
    """Return the plugins that are not built in, with their profile if there are several."""
    several = len(profiles) > 1
    named = (
        f"{plugin} ({one.name})" if several else plugin
        for one in profiles
        for plugin in one.plugins
    )
    return ", ".join(["the built-in ones", *named])

"""A scheduler that lacks one right: it goes on, retries slowly and says which right is missing."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import mooring.apiserver
from mooring.apiserver.http import RequestUser
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client import transport as wire
from mooring.client.client import Client
from mooring.observe.metrics import Metrics
from mooring.scheduler.running_scheduler import RunningScheduler
from tests.apiserver.api_server import PODS, ApiServer, pod
from tests.local.clusters import plan
from tests.support.virtual_loop import LoopClock, run_virtually

Object = dict[str, Any]

SCHEDULER = RequestUser("limited")
ROLES = ("system:kube-scheduler", "system:volume-scheduler")
READS = frozenset({"get", "list", "watch"})
#: How long each scheduler runs, in virtual seconds.
SECONDS = 300.0
#: A kind is listed again after delays that grow from 0.8 s to 30 s, each time first as a stream;
#: the three pods are retried after 1 s to 10 s.
MOST_REFUSALS = 40


class Right(NamedTuple):
    """The right to read or to write one resource; with `verb`, only that verb."""

    group: str
    resource: str
    writes: bool
    verb: str = ""

    def covers(self, verb: str) -> bool:
        """Return whether a verb belongs to the right."""
        return verb == self.verb if self.verb else (verb not in READS) is self.writes

    def __str__(self) -> str:
        return f"{'write' if self.writes else 'read'} {self.resource}.{self.group}".rstrip(".")


def rules() -> list[Object]:
    """Return the rules of kube-scheduler's roles, one verb set for each resource."""
    objects = json.loads(Path(mooring.apiserver.__file__).with_name("roles.json").read_text())
    roles = [one for one in objects if one["kind"] == "ClusterRole"]
    found = [rule for one in roles if one["metadata"]["name"] in ROLES for rule in one["rules"]]
    return [
        {**rule, "apiGroups": [group], "resources": [resource]}
        for rule in found
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    ]


def rights() -> list[Right]:
    """Return every right in kube-scheduler's roles."""
    found = {}
    for rule in rules():
        (group,), (resource,) = rule["apiGroups"], rule["resources"]
        for verb in rule["verbs"]:
            found[Right(group, resource, verb not in READS)] = None
    return list(found)


def without(missing: Right) -> list[Object]:
    """Return the rules without one right."""
    left = []
    for rule in rules():
        verbs = rule["verbs"]
        if (rule["apiGroups"], rule["resources"]) == ([missing.group], [missing.resource]):
            verbs = [verb for verb in verbs if not missing.covers(verb)]
        if verbs:
            left.append({**rule, "verbs": verbs})
    return left


class Counting(LocalTransport):
    """A transport that counts refused requests (403)."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server.api, SCHEDULER)
        self.refused: Counter[str] = Counter()

    async def send(self, request: wire.Request) -> wire.Response:
        response = await super().send(request)
        self._count(request, response.status)
        return response

    @asynccontextmanager
    async def stream(
        self, request: wire.Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[wire.Stream]:
        async with super().stream(request, idle_timeout=idle_timeout) as stream:
            self._count(request, stream.status)
            yield stream

    def _count(self, request: wire.Request, status: int) -> None:
        if status == 403:
            self.refused[f"{request.method} {request.target.partition('?')[0]}"] += 1


class Outcome(NamedTuple):
    """The final state of a pod that fits and of one that does not, and the refused requests."""

    fits: Object
    huge: Object
    refused: Counter[str]

    def condition(self) -> tuple[str, str]:
        """Return reason and message why the pod that fits is not scheduled."""
        for one in self.fits["status"].get("conditions", ()):
            if one["type"] == "PodScheduled":
                return one.get("reason", ""), one.get("message", "")
        return "", ""


async def schedule(missing: Right | None) -> Outcome:
    """Run a scheduler that lacks a right for some minutes of virtual time."""
    server = ApiServer()
    await server.ask(
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {"metadata": {"name": "limited"}, "rules": without(missing) if missing else rules()},
    )
    binding = {
        "metadata": {"name": "limited"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "limited",
        },
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": SCHEDULER.name}
        ],
    }
    await server.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    node = {
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
    }
    await server.ask("POST", "/api/v1/nodes", node)
    await server.ask("POST", PODS, pod("fits"))
    requests = {"requests": {"cpu": "1000"}}
    containers = [{"name": "c", "image": "i", "resources": requests}]
    await server.ask("POST", PODS, pod("huge", containers=containers))

    transport, clock, work = Counting(server), LoopClock(), plan()
    client = Client(transport, clock=clock)
    running = RunningScheduler(
        work.config,
        client=client,
        event_client=client,
        registry=work.registry,
        features=work.gates,
        clock=clock,
        metrics=Metrics(work.gates.enabled),
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
    fits, huge = [await server.ask("GET", f"{PODS}/{name}") for name in ("fits", "huge")]
    return Outcome(fits, huge, transport.refused)


#: If these cannot be read, nothing is scheduled, as with kube-scheduler: decisions could be wrong.
NEEDED = {
    "nodes",
    "pods",
    "services",
    "replicationcontrollers",
    "replicasets",
    "statefulsets",
    "poddisruptionbudgets",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
    "csinodes",
}
#: Resources that a scheduler does not access, or only for pods that use them.
UNUSED = {
    "bindings",
    "leases",
    "leasecandidates",
    "tokenreviews",
    "subjectaccessreviews",
    "resourceclaims/status",
    "resourceclaims/binding",
    "pods/finalizers",
}


def test_all_rights_are_enough(caplog: pytest.LogCaptureFixture) -> None:
    outcome = run_virtually(schedule(None))
    assert outcome.fits["spec"]["nodeName"] == "n"
    assert "cannot" not in caplog.text


@pytest.mark.parametrize("missing", rights(), ids=str)
def test_a_right_is_missing(missing: Right, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    outcome = run_virtually(schedule(missing))
    node = outcome.fits["spec"].get("nodeName", "")
    told = "\n".join(str(record.__dict__.get("kv", "")) for record in caplog.records)
    group = f'resource "{missing.resource}" in API group "{missing.group}"'
    if missing.resource == "pods/binding":
        assert node == ""
        reason, message = outcome.condition()
        assert reason == "SchedulerError" and f"cannot create {group}" in message
    elif not missing.writes and missing.resource in NEEDED and missing.group != "extensions":
        assert node == ""
        assert f"cannot list {group}" in told
    else:
        assert node == "n"
        is_read = not missing.writes and missing.resource not in UNUSED
        if is_read and missing.group != "extensions":
            assert f"cannot list {group}" in told
    if missing.resource == "pods/status":
        assert f"cannot patch {group}" in told
        assert not outcome.huge["status"].get("conditions")
    if missing == Right("events.k8s.io", "events", True):
        assert f"cannot create {group}" in told
    assert sum(outcome.refused.values()) <= MOST_REFUSALS, outcome.refused


@pytest.mark.parametrize("resource", ["nodes", "pods", "services", "namespaces"])
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_kind_may_be_listed_or_watched_alone(
    resource: str, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    outcome = run_virtually(schedule(Right("", resource, writes=False, verb=verb)))
    told = "\n".join(str(record.__dict__.get("kv", "")) for record in caplog.records)
    # For a streamed list the right to watch is enough; without it, the list is used.
    assert outcome.fits["spec"]["nodeName"] == "n"
    assert (f'cannot watch resource "{resource}"' in told) is (verb == "watch")
    assert sum(outcome.refused.values()) <= MOST_REFUSALS, outcome.refused

"""Invariants: what must be true of a scheduler when nothing is in progress."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec.structs import replace

from mooring.api import (
    KubeObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from mooring.api.kinds import decode_as
from mooring.framework.decision import Outcome
from mooring.queue.queued_pod_info import Place
from mooring.scheduler.schedule_one import POD_SCHEDULED
from mooring.scheduler.scheduler import Scheduler
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.soak.bind_checks import FINISHED
from tests.soak.object_store import NODES, PODS, Json, ObjectStore
from tests.soak.provisioner import CLAIMS, CLASSES, VOLUMES
from tests.soak.scenarios import SCHEDULER

#: Plugins whose hints, as in kube-scheduler, miss events that may help: a pod refused because of
#: other pods' anti-affinity is not retried for a new node, nor for a node's new label. In
#: kube-scheduler the flush after 5 minutes retries such pods; here there is none.
# kube-scheduler: plugins/interpodaffinity/plugin.go (isSchedulableAfterNodeChange)
FORGETFUL = frozenset(("InterPodAffinity",))


#: The kinds that the judge gets besides pods.
KINDS: dict[type[KubeObject], str] = {
    Node: NODES,
    PersistentVolumeClaim: CLAIMS,
    PersistentVolume: VOLUMES,
    StorageClass: CLASSES,
}


async def reckon(
    scheduler: Scheduler, store: ObjectStore, *, leads: bool = True, elected: bool = False
) -> list[str]:
    """Compare a scheduler with the server's objects; return what is wrong.

    A scheduler that does not lead must know everything, but need not have done anything. If leaders
    are `elected`, nominations may stay: if a former leader made one, and the next leader learned of
    it only after its own attempt, it is left to the flush after 5 minutes, as in kube-scheduler.
    """
    pods = [pod for pod in store.list(PODS) if pod["status"]["phase"] not in FINISHED]
    return [
        *check_inside(scheduler),
        *_left_over(scheduler),
        *(() if elected else _nominations(scheduler)),
        *_cache(scheduler, pods, store.list(NODES)),
        *_queue(scheduler, pods),
        *([text async for text in _forgotten(scheduler, pods, store, elected)] if leads else ()),
    ]


def check_inside(scheduler: Scheduler) -> Iterator[str]:
    """Yield contradictions within a scheduler; there must be none between any two cycles."""
    for part in (scheduler.cache, scheduler.queue):
        try:
            part.validate()
        except AssertionError as error:
            yield f"{type(part).__name__}.validate: {error}"


def _left_over(scheduler: Scheduler) -> Iterator[str]:
    for uid in scheduler.cache.assumed:
        yield f"{uid} is still assumed"
    for pod in scheduler.queue.in_flight():
        yield f"{pod.key} is still in flight"
    if list(scheduler.on_the_way.waiting()):
        yield "pods still wait at Permit"


def _nominations(scheduler: Scheduler) -> Iterator[str]:
    for name in scheduler.nominator.nodes():
        infos = scheduler.nominator.nominated_on(name)
        pods = [info.pod.key for info in infos if not _is_excused(scheduler, info.pod)]
        if pods:
            yield f"{pods} are still nominated to {name}"


def _cache(scheduler: Scheduler, pods: list[Json], nodes: list[Json]) -> Iterator[str]:
    known = {
        info.uid: (info.pod.spec.node_name, info.pod.metadata.resource_version)
        for info in scheduler.cache.pods
    }
    truth = {
        pod["metadata"]["uid"]: (pod["spec"]["nodeName"], pod["metadata"]["resourceVersion"])
        for pod in pods
        if pod["spec"].get("nodeName")
    }
    yield from _differences("pods in the cache", known, truth)
    infos = scheduler.cache.nodes.infos()
    versions = {info.name: info.node.metadata.resource_version for info in infos}
    yield from _differences("nodes in the cache", versions, _versions(nodes))
    for info in infos:
        there = {uid for uid, (node_name, _) in truth.items() if node_name == info.name}
        yield from _differences(
            f"pods on {info.name}", dict.fromkeys(info.pods), dict.fromkeys(there)
        )


def _queue(scheduler: Scheduler, pods: list[Json]) -> Iterator[str]:
    queued = {
        pod.metadata.name: pod.metadata.resource_version
        for place in Place
        for pod in scheduler.queue.pods_in(place)
    }
    pending = [pod for pod in pods if _is_pending(scheduler, pod)]
    yield from _differences("pods in the queue", queued, _versions(pending))


def check_statuses(store: ObjectStore) -> Iterator[str]:
    """Yield the bound pods whose status says that they are pending."""
    for pod in store.list(PODS):
        if pod["status"]["phase"] in FINISHED or not pod["spec"].get("nodeName"):
            continue
        name, status = pod["metadata"]["name"], pod["status"]
        for condition in status.get("conditions", ()):
            if condition["type"] == POD_SCHEDULED and condition["status"] != "True":
                yield f"{name} is bound, and is said to be {condition['reason']}"
        if status.get("nominatedNodeName"):
            yield f"{name} is bound, and nominated to {status['nominatedNodeName']}"


def _versions(objects: list[Json]) -> dict[str, str]:
    return {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in objects}


def _differences(what: str, found: dict[str, Any], truth: dict[str, Any]) -> Iterator[str]:
    for name in sorted(found.keys() | truth.keys()):
        if name not in truth:
            yield f"{what}: {name} is there, and should not be"
        elif name not in found:
            yield f"{what}: {name} is missing"
        elif found[name] != truth[name]:
            yield f"{what}: {name} is {found[name]}, and should be {truth[name]}"


async def _forgotten(
    scheduler: Scheduler, pods: list[Json], store: ObjectStore, elected: bool
) -> AsyncIterator[str]:
    """Yield the pods that are pending although there is room for them, or could be made."""
    if not any(_is_pending(scheduler, pod) for pod in pods):
        return
    objects: list[KubeObject] = [
        decode_as(obj, kind) for kind, path in KINDS.items() for obj in store.list(path)
    ]
    waiting = []
    for pod in pods:
        # The judge runs as the default scheduler.
        spec = {**pod["spec"], "schedulerName": SCHEDULER}
        decoded = decode_as({**pod, "spec": spec}, Pod)
        excused = _is_excused(scheduler, decoded)
        if not (elected or excused):
            # Drop nominations: by now every nominated pod has been bound or has lost its claim.
            decoded = replace(decoded, status=replace(decoded.status, nominated_node_name=""))
        objects.append(decoded)
        if _is_pending(scheduler, pod) and not excused:
            waiting.append(decoded)
    # Whether preemption helps may depend on pods of other nodes, whose events the plugins that
    # refused the pod do not get. kube-scheduler leaves that to its flush too.
    preempts = not any(_looks_around(pod) for pod in pods)
    judge = MemoryScheduler(objects)
    for one in waiting:
        attempt = await judge.decide(one)
        judge.discard(attempt)
        decision = attempt.decision
        if decision.outcome is Outcome.SCHEDULED:
            yield f"{one.key} is pending, and would fit on {decision.node_name}"
        elif preempts and decision.post_filter is not None and decision.post_filter.nominated_node:
            where = decision.post_filter.nominated_node
            yield f"{one.key} is pending, and could preempt on {where}"


def _is_pending(scheduler: Scheduler, pod: Json) -> bool:
    """Return whether a pod waits for this scheduler."""
    spec = pod["spec"]
    return not spec.get("nodeName") and spec["schedulerName"] in scheduler.profiles


def _is_excused(scheduler: Scheduler, pod: Pod) -> bool:
    queued = scheduler.queue.get(pod.key)
    return queued is not None and not FORGETFUL.isdisjoint(queued.rejectors)


def _looks_around(pod: Json) -> bool:
    return bool(pod["spec"].get("affinity") or pod["spec"].get("topologySpreadConstraints"))

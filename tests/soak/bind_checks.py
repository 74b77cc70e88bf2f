"""Ledger: a check of every bind of a simulation against the state when the bind is applied."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from mooring.api.quantity import milli_value
from tests.soak.api_server import ApiServer
from tests.soak.object_store import NODES, PODS, Json, ObjectStore
from tests.soak.witness import Belief
from tests.support.virtual_loop import Process, current_process

FINISHED = ("Succeeded", "Failed")
#: The resources that are checked; amounts are in thousandths.
RESOURCES = ("cpu", "memory")
#: How long a kubelet takes to refuse a pod.
KUBELET_SECONDS = 1.0
NOTHING = Belief()


class Ledger:
    """A check of binds as they happen.

    A node has room for a pod if its last allocatable covers the requests of the pods bound to it,
    including terminating ones, and of this pod. Nodes never shrink in these simulations, so a
    scheduler with old data sees too little room and never too much. A pod is bound once: even an
    attempt to bind it again is an error, since the scheduler that bound it could have known.

    With several schedulers (`several`), each knows only the pods of the others that its watches
    have delivered when it decides, as in kube-scheduler. So others' pods count from then on, and
    its own always. A node may thus get too many pods; its kubelet then refuses the last one.
    """

    def __init__(self, server: ApiServer, *, several: bool = False) -> None:
        self._store = server.store
        self._several = several
        self._offers: dict[str, Json] = {}
        self._binders: dict[str, Process | None] = {}
        self.violations: list[str] = []
        self.binds: dict[str, str] = {}
        server.before_bind = self._bound
        server.bound_before = self._bound_again
        server.store.listen(self._note_offers)

    def _note_offers(self, collection: str) -> None:
        if collection == NODES:
            for change in self._store.since(collection, self._store.version - 1):
                node = change.object
                self._offers[node["metadata"]["name"]] = node["status"]["allocatable"]

    def _bound(self, pod: Json, node_name: str) -> None:
        meta = pod["metadata"]
        self.binds[meta["uid"]] = node_name
        self._binders[meta["uid"]] = current_process()
        if node_name not in self._offers:
            self.violations.append(f"{meta['name']} was bound to {node_name}, which never was")
            return
        others = list(pods_on(self._store, node_name))
        too_much = list(self._excess(pod, node_name, others))
        if too_much and self._several:
            asyncio.get_running_loop().call_later(KUBELET_SECONDS, self._refuse, meta)
            known = [other for other in others if self._is_known(other, meta["uid"])]
            too_much = list(self._excess(pod, node_name, known))
        self.violations += too_much

    def _excess(self, pod: Json, node_name: str, others: list[Json]) -> Iterator[str]:
        """Yield what a node has too little of for a pod beside others."""
        offer, name = self._offers[node_name], pod["metadata"]["name"]
        if len(others) + 1 > int(offer["pods"]):
            yield f"{node_name} had too many pods for {name}"
        for resource in RESOURCES:
            used = sum(request_of(other, resource) for other in others)
            wanted = request_of(pod, resource)
            free = milli_value(offer[resource]) - used
            if wanted > free:
                short = f"{node_name} had {free}m {resource} left"
                yield f"{short} for {name}, which asks for {wanted}m"

    def _is_known(self, other: Json, uid: str) -> bool:
        """Return whether the scheduler that binds a pod knew of another pod when it decided."""
        process, there = current_process(), other["metadata"]["uid"]
        return (
            process is None
            or self._binders.get(there) is process
            or (there in process.notes.get(uid, NOTHING).there)
        )

    def _refuse(self, meta: Json) -> None:
        pod = self._store.find(PODS, meta["name"], meta["namespace"])
        if pod is not None and pod["metadata"]["uid"] == meta["uid"]:
            status = {**pod["status"], "phase": "Failed", "reason": "OutOfcpu"}
            self._store.replace(PODS, {**pod, "status": status})

    def _bound_again(self, pod: Json, node_name: str) -> None:
        uid, process = pod["metadata"]["uid"], current_process()
        if self._several and process is not None:
            known = process.notes.get(uid, NOTHING).bound
            if not known and self._binders.get(uid) is not process:
                return
        self.violations.append(
            f"{pod['metadata']['name']} on {pod['spec']['nodeName']} was bound to {node_name} too"
        )


def pods_on(store: ObjectStore, node_name: str) -> Iterable[Json]:
    """Yield the pods that take room on a node."""
    for pod in store.list(PODS):
        if pod["spec"].get("nodeName") == node_name and pod["status"]["phase"] not in FINISHED:
            yield pod


def request_of(pod: Json, resource: str) -> int:
    """Return a pod's request, in thousandths."""
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return milli_value(requests.get(resource, 0))

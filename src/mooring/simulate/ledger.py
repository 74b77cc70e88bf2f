"""Ledger: every bind of a simulation, judged by the truth at the moment it is carried out."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api.quantity import milli_value
from mooring.simulate.api_server import ApiServer
from mooring.simulate.object_store import NODES, PODS, Json, ObjectStore

FINISHED = ("Succeeded", "Failed")
#: What is counted: requests and offers of these, in thousandths.
RESOURCES = ("cpu", "memory")


class Ledger:
    """Check binds as they come.

    A node has room for a pod where what it last offered covers the requests of the pods that are
    bound to it, leaving ones too, and of this one. Nodes never shrink in these simulations, so a
    scheduler that sees them late sees too little room and never too much. A pod is bound once:
    even an attempt to do it again is an error, since whoever bound it could have known.
    """

    def __init__(self, server: ApiServer) -> None:
        self._store = server.store
        self._offers: dict[str, Json] = {}
        self.violations: list[str] = []
        self.binds: dict[str, str] = {}
        server.before_bind = self._bound
        server.bound_before = self._bound_again
        server.store.listen(self._note_offers)

    def _note_offers(self, collection: str) -> None:
        if collection == NODES:
            for node in self._store.list(NODES):
                self._offers[node["metadata"]["name"]] = node["status"]["allocatable"]

    def _bound(self, pod: Json, node_name: str) -> None:
        meta = pod["metadata"]
        self.binds[meta["uid"]] = node_name
        offer = self._offers.get(node_name)
        if offer is None:
            self.violations.append(f"{meta['name']} was bound to {node_name}, which never was")
            return
        others = list(pods_on(self._store, node_name))
        if len(others) + 1 > int(offer["pods"]):
            self.violations.append(f"{node_name} had too many pods for {meta['name']}")
        for resource in RESOURCES:
            used = sum(request_of(other, resource) for other in others)
            wanted = request_of(pod, resource)
            free = milli_value(offer[resource]) - used
            if wanted > free:
                self.violations.append(
                    f"{node_name} had {free}m {resource} left for {meta['name']}, "
                    f"which asks for {wanted}m"
                )

    def _bound_again(self, pod: Json, node_name: str) -> None:
        self.violations.append(
            f"{pod['metadata']['name']} on {pod['spec']['nodeName']} was bound to {node_name} too"
        )


def pods_on(store: ObjectStore, node_name: str) -> Iterable[Json]:
    """Return the pods that take room on a node."""
    for pod in store.list(PODS):
        if pod["spec"].get("nodeName") == node_name and pod["status"]["phase"] not in FINISHED:
            yield pod


def request_of(pod: Json, resource: str) -> int:
    """Return what a pod asks for, in thousandths."""
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return milli_value(requests.get(resource, 0))

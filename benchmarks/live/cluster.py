"""A real API server: creating nodes and pods, watching pods get bound, and deleting them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from mooring.api import KubeObject, Pod, find_kind
from mooring.client.client import Client
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.resources import find_resource
from mooring.client.transports import make_transport
from mooring.errors import ApiError
from mooring.informers.factory import InformerFactory
from mooring.informers.store import EventHandler

_AT_ONCE = 64
#: Seconds until a new kind of object must be served.
_PATIENCE = 30.0
_DEFINITIONS = Path(__file__).resolve().parents[2] / "deploy" / "crds" / "scheduling.yaml"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RBAC = "rbac.authorization.k8s.io"
_GROUP = "scheduling.x-k8s.io"
_POD_GROUPS = f"/apis/{_GROUP}/v1alpha1/namespaces/default/podgroups"


class LiveCluster:
    """An administrator's view of the cluster that both schedulers work on."""

    def __init__(self, kubeconfig: Path) -> None:
        self._client = Client(make_transport(load_kubeconfig(str(kubeconfig))))
        self._informers = InformerFactory(self._client)
        #: When each pod was seen on a node, by name.
        self.bound: dict[str, float] = {}
        self._changed = asyncio.Event()
        self._informers.informer(Pod).add_handler(
            EventHandler(on_add=self._seen, on_update=lambda _, pod: self._seen(pod))
        )

    def _seen(self, pod: Pod) -> None:
        if pod.spec.node_name and pod.metadata.name not in self.bound:
            self.bound[pod.metadata.name] = time.monotonic()
            self._changed.set()

    async def start(self) -> None:
        """Start the watches."""
        self._informers.start()
        await self._informers.wait_synced()

    async def close(self) -> None:
        """Close all connections."""
        await self._informers.close()
        await self._client.close()

    async def create(self, objects: Iterable[KubeObject]) -> None:
        """Create objects concurrently, unless they exist."""
        pending = iter(objects)

        async def work() -> None:
            for obj in pending:
                try:
                    await self._client.create(obj)
                except ApiError as error:
                    if error.status != 409:
                        raise

        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))

    async def create_document(self, document: dict[str, Any]) -> None:
        """Create an object from a document, including fields that Mooring's types do not have."""
        known = find_kind(document["apiVersion"], document["kind"])
        assert known is not None, f"{document['kind']} is not in the table of kinds"
        path = find_resource(known.struct).path(document["metadata"].get("namespace", ""))
        await self._client.request("POST", path, msgspec.json.encode(document), timeout=300.0)

    async def post(self, path: str, document: dict[str, Any]) -> None:
        """Create an object of any kind, unless it exists."""
        try:
            await self._client.request("POST", path, msgspec.json.encode(document))
        except ApiError as error:
            if error.status != 409:
                raise

    async def serve_pod_groups(self) -> None:
        """Let the API server serve PodGroups, and let schedulers read them."""
        definitions = yaml.safe_load_all(_DEFINITIONS.read_text())
        for document in definitions:
            await self.post(_CRDS, document)
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterrole"
        name = {"name": "bench-pod-groups"}
        rule = {"apiGroups": [_GROUP], "resources": ["*"], "verbs": ["get", "list", "watch"]}
        await self.post(f"{roles}s", {"metadata": name, "rules": [rule]})
        user = {"apiGroup": _RBAC, "kind": "User", "name": "system:kube-scheduler"}
        role = {"apiGroup": _RBAC, "kind": "ClusterRole", **name}
        await self.post(f"{roles}bindings", {"metadata": name, "subjects": [user], "roleRef": role})
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                await self._client.request("GET", _POD_GROUPS)
                return
            except ApiError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)

    async def wait_bound(self, names: set[str], seconds: float) -> set[str]:
        """Wait until pods are bound; return those that are not after `seconds`."""
        deadline = time.monotonic() + seconds
        while left := names - self.bound.keys():
            self._changed.clear()
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._changed.wait()
            except TimeoutError:
                return left
        return set()

    def pods(self, names: Iterable[str]) -> list[Pod]:
        """Return pods by name as last seen."""
        store = self._informers.informer(Pod).store
        found = (store.get(name, "default") for name in names)
        return [pod for pod in found if pod is not None]

    async def delete_all(self, kind: str, path: str) -> None:
        """Delete every object of a kind without a grace period, and wait until all are gone."""
        body = b'{"gracePeriodSeconds":0,"propagationPolicy":"Background"}'
        while True:
            try:
                await self._client.request("DELETE", path, body, timeout=300.0)
            except ApiError as error:
                if error.status not in (0, 500, 504):
                    raise
            left: Any = await self._client.list(kind)
            if not getattr(left, "items", left):
                return

    async def wipe_pods(self) -> None:
        """Delete all pods and events."""
        await self.delete_all("pods.v1.", "/api/v1/namespaces/default/pods")
        await self._client.request(
            "DELETE", "/apis/events.k8s.io/v1/namespaces/default/events", b"{}", timeout=300.0
        )
        self.bound.clear()

"""A cluster as one test uses it: its own namespace, and all its objects deleted when it ends."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.api import Api, ApiFailure, Object
from tests.support.control_plane import ControlPlane, GivenCluster
from tests.support.waiting import PATIENCE

# Cluster-scoped kinds that tests and schedulers create; other kinds belong to the server.
CLUSTER_KINDS = {
    "Node": "",
    "PersistentVolume": "",
    "StorageClass": "",
    "CSINode": "",
    "CSIDriver": "",
    "VolumeAttachment": "",
    "RuntimeClass": "",
    "ResourceSlice": "",
    "DeviceClass": "",
    "CustomResourceDefinition": "",
    "PriorityClass": "metadata.name!=system-node-critical,metadata.name!=system-cluster-critical",
}
# Events about cluster objects, and the locks of leader election.
SHARED_KINDS = (
    ("Event", "default", ""),
    ("Lease", "kube-system", "!apiserver.kubernetes.io/identity"),
)


class Cluster:
    """The API server, with a namespace that only this test uses."""

    def __init__(self, plane: ControlPlane | GivenCluster, api: Api) -> None:
        self.plane = plane
        self.api = api
        self.namespace = f"test-{uuid.uuid4().hex[:10]}"
        self._made: list[tuple[str, str]] = []
        self.api.create(_manifest("Namespace", self.namespace))
        if not plane.owned:
            self._make_service_account()

    def create(self, manifest: Object) -> Object:
        """Create an object, in the test's namespace unless it names one."""
        resource = self.api.resource(manifest["kind"], manifest["apiVersion"])
        namespace = manifest["metadata"].get("namespace", self.namespace)
        made = self.api.create(manifest, namespace if resource.namespaced else None)
        if not resource.namespaced:
            self._made.append((manifest["kind"], made["metadata"]["name"]))
        return made

    def wait_for(self, kind: str, name: str, holds: Any, *, seconds: float = PATIENCE) -> Object:
        """Watch an object of this namespace, or a cluster-scoped one, until a condition holds."""
        return self.api.wait_for(kind, name, holds, self.namespace, seconds=seconds)

    def wipe(self) -> None:
        """Delete what is left after the test; on a given cluster, only what the test created."""
        if self.plane.owned:
            self._wipe_everything()
        for kind, name in reversed(self._made):
            self.api.delete(kind, name)
        self.api.delete("Namespace", self.namespace)

    def _make_service_account(self) -> None:
        # Pods are refused until the namespace has this account; a controller may create it first.
        try:
            self.api.create(_manifest("ServiceAccount", "default"), self.namespace)
        except ApiFailure as failure:
            if failure.status != 409:
                raise

    def _wipe_everything(self) -> None:
        # Custom resources are deleted with their definitions.
        for resource in self.api.resources():
            if resource.namespaced and "deletecollection" in resource.verbs:
                self.api.delete_all(resource, self.namespace)
        for kind, namespace, labels in SHARED_KINDS:
            self.api.delete_all(self.api.resource(kind), namespace, labelSelector=labels)
        for kind, fields in CLUSTER_KINDS.items():
            self.api.delete_all(self.api.resource(kind), fieldSelector=fields)


@contextlib.contextmanager
def turn_on(plane: ControlPlane | GivenCluster) -> Iterator[None]:
    """Lock a given cluster for this process: nodes are cluster-scoped, so tests would collide."""
    if plane.owned:
        yield
        return
    digest = hashlib.sha256(plane.url.encode()).hexdigest()[:12]
    path = Path(tempfile.gettempdir()) / f"mooring-cluster-{digest}.lock"
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _manifest(kind: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}

"""RealPods: the pods with containers that really run, and their logs."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.apiserver import refusals
from mooring.apiserver.http import ByteStream
from mooring.apiserver.subresources.pod_logs import PodLogOptions, no_previous
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.controller import ControllerContext
from mooring.controllers.work_queue import Key
from mooring.kubelet.container_log import ContainerLog
from mooring.kubelet.container_ports import Ports
from mooring.kubelet.image_contents import ImageContents
from mooring.kubelet.observed_status import observed
from mooring.kubelet.real_container import CREATING, RealContainer
from mooring.kubelet.real_pod import PodRuntime, RealPod, Tell
from mooring.kubelet.simulated_pods import IsLoaded, SimulatedPods

Object = dict[str, Any]

#: How many seconds processes have to end when the cluster stops.
_GRACE = 5.0


class ContainerSettings(msgspec.Struct, frozen=True):
    """Which containers really run, and where they find the API server."""

    #: The API server's URL.
    server: str
    images: ImageContents = msgspec.field(default_factory=ImageContents)
    #: Tells loaded pods, which start no process unless `run_loaded`; None if there are none.
    is_loaded: IsLoaded | None = None
    run_loaded: bool = False


class RealPods:
    """The pods with at least one known image, whose containers really run. A LogSource.

    `changed` is called with the key of a pod in which a process has ended.
    """

    def __init__(
        self,
        settings: ContainerSettings,
        context: ControllerContext,
        changed: Callable[[Key], None],
    ) -> None:
        self._context = context
        self._changed = changed
        self._images = settings.images
        #: Decides which pods run.
        self.simulated = SimulatedPods(settings.images, settings.is_loaded, settings.run_loaded)
        self._services = service_variables(settings.server)
        self._ports = Ports()
        self._folder: Path | None = None
        self._pods: dict[Key, RealPod] = {}

    def runs(self, pod: Pod) -> bool:
        """Return whether any container of a pod really runs."""
        real = self._pods.get((pod.metadata.namespace, pod.metadata.name))
        if real is not None and real.uid == pod.metadata.uid:
            return True
        return self.simulated.runs(pod)

    async def sync(
        self, pod: Pod, addresses: tuple[str, str], tell: Tell
    ) -> tuple[Object | None, float | None]:
        """Return a pod's status if it has changed, and the seconds until the next sync."""
        key = (pod.metadata.namespace, pod.metadata.name)
        real = self._pods.get(key)
        if real is None:
            made = await self._make(pod, key)
            if made is None:
                return None, None
            real = self._pods[key] = made
        again = await real.sync(pod, addresses, tell)
        when = self._context.timestamp()
        statuses = real.statuses(pod, when)
        status = observed(pod, addresses, when, statuses, sandbox=real.has_sandbox)
        news = _essence(status)
        if news == real.reported:
            return None, again
        real.reported = news
        return status, again

    async def _make(self, pod: Pod, key: Key) -> RealPod | None:
        """Return a new real pod; None if another pod has taken its name."""
        raw = await self._context.writer.get(PODS, *key)
        if raw["metadata"]["uid"] != pod.metadata.uid:
            return None
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="mooring-pods-"))
        around = PodRuntime(
            self._context.client,
            self._context.clock,
            self._images,
            self._services,
            self._ports,
            self._folder,
        )
        return RealPod(pod, raw, around, partial(self._changed, key))

    def stop(self, pod: Pod, seconds: float, tell: Tell) -> bool:
        """Stop a pod's processes, by SIGKILL if no `seconds` are left; return whether all ended."""
        real = self._pods.get((pod.metadata.namespace, pod.metadata.name))
        return real is None or real.stop(pod, seconds, tell)

    async def forget(self, key: Key, uid: str = "") -> None:
        """Stop the processes of the pod of this key, unless it has this uid."""
        real = self._pods.get(key)
        if real is not None and real.uid != uid:
            del self._pods[key]
            await real.close(0.0)

    def log(self, pod: Object, container: str, options: PodLogOptions) -> ByteStream | None:
        """Return a container's log; None if the container is simulated."""
        metadata, spec = pod["metadata"], pod["spec"]
        named = next((one for one in spec["containers"] if one["name"] == container), None)
        if named is None or self._images.find(named["image"]) is None:
            return None
        if not self.runs(decode_as(pod, Pod)):
            return None
        real = self._pods.get((metadata["namespace"], metadata["name"]))
        found = real.find(container) if real and real.uid == metadata["uid"] else None
        if found is None:
            raise _waits(metadata["name"], container, CREATING)
        log = _chosen(found, options, metadata["name"])
        return log.read(options)

    async def close(self) -> None:
        """Stop all processes, and delete their files."""
        await asyncio.gather(*(one.close(_GRACE) for one in self._pods.values()))
        self._pods.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def service_variables(server: str) -> dict[str, str]:
    """Return the variables that tell a container where the API server is."""
    parts = urlsplit(server)
    host, port = parts.hostname or "", str(parts.port or 443)
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return {
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }


def _chosen(container: RealContainer, options: PodLogOptions, pod: str) -> ContainerLog:
    # kubernetes: pkg/kubelet/kubelet_pods.go, validateContainerLogStatus
    name = container.spec.name
    if options.previous:
        waits = container.waiting is not None
        found = container.log if waits and container.ended else container.log_before
        if found is None:
            raise no_previous(pod, name)
        return found
    if container.log is None:
        raise _waits(pod, name, container.waiting[0] if container.waiting else CREATING)
    return container.log


def _waits(pod: str, container: str, reason: str) -> refusals.Refusal:
    return refusals.bad_request(
        f'container "{container}" in pod "{pod}" is waiting to start: {reason}'
    )


def _essence(status: Object) -> Object:
    """Return a status without the times of its conditions."""
    conditions = [
        {key: value for key, value in one.items() if key != "lastTransitionTime"}
        for one in status["conditions"]
    ]
    return {**status, "conditions": conditions, "startTime": ""}

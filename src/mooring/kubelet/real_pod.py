"""RealPod: a pod whose containers run as processes on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mooring.api import Pod
from mooring.api.timestamps import format_time
from mooring.client.client import Client
from mooring.controllers.component_events import NORMAL, WARNING
from mooring.kubelet.command_lines import (
    NoSuchProgramError,
    RefusedCommandError,
    command_line,
)
from mooring.kubelet.container_environment import environment
from mooring.kubelet.container_log import ContainerLog
from mooring.kubelet.container_ports import Ports
from mooring.kubelet.container_process import ContainerProcess
from mooring.kubelet.container_volumes import VolumeError, Volumes, inside
from mooring.kubelet.image_contents import Image, ImageContents
from mooring.kubelet.pod_sources import PodSources, SourceError
from mooring.kubelet.pod_status import running_container
from mooring.kubelet.real_container import RealContainer, pod_text
from mooring.observe.clock import Clock
from mooring.observe.files import file_name

Object = dict[str, Any]
#: Records an Event about a pod: type, reason and message.
Tell = Callable[[str, str, str], None]

CONFIG_ERROR = "CreateContainerConfigError"
# kubelet: syncFrequency, the interval at which volumes are updated.
REFRESH_SECONDS = 60.0
# kubelet: 500 ms, doubled up to two minutes, which is too long for a user at a terminal.
_FIRST_RETRY, _LAST_RETRY = 0.5, 2.0


class PodRuntime(msgspec.Struct, frozen=True):
    """What all real pods share."""

    client: Client
    clock: Clock
    images: ImageContents
    #: Variables that tell a container where the API server is.
    services: Mapping[str, str]
    ports: Ports
    folder: Path


class RealPod:
    """A pod whose containers with a known image run as processes; the others are simulated.

    `changed` is called when a process ends.
    """

    def __init__(
        self, pod: Pod, raw: Object, around: PodRuntime, changed: Callable[[], None]
    ) -> None:
        self.uid = pod.metadata.uid
        self._raw = raw
        self._around = around
        self._changed = changed
        self._folder = around.folder / file_name(self.uid)
        self._folder.mkdir(mode=0o700, parents=True)
        (self._folder / "logs").mkdir(mode=0o700)
        self._sources = PodSources(around.client, around.clock, raw)
        self._volumes = Volumes(self._folder / "volumes", self._sources)
        self._laid_out = -REFRESH_SECONDS
        self._has_volumes = False
        self._retry_at = 0.0
        self._retry_after = _FIRST_RETRY
        self._stopping = False
        self._containers: dict[str, RealContainer] = {}
        self._first = pod.status.start_time or ""
        for spec in pod.spec.containers:
            image = around.images.find(spec.image)
            if image is not None:
                container = self._containers[spec.name] = RealContainer(spec, image)
                container.remember(pod, around.clock.wall_time())
        #: The status that was reported last.
        self.reported: Object | None = None

    @property
    def has_sandbox(self) -> bool:
        """Return whether the volumes are set up, so that containers can start."""
        return self._has_volumes

    def find(self, name: str) -> RealContainer | None:
        """Return a container by its name; None for one that is simulated."""
        return self._containers.get(name)

    def statuses(self, pod: Pod, when: str) -> list[Object]:
        """Return the statuses of all containers."""
        self._first = self._first or when
        made = []
        for spec in pod.spec.containers:
            found = self._containers.get(spec.name)
            if found is not None:
                made.append(found.status(pod))
            elif self._has_volumes:
                made.append(running_container(pod, spec, self._first))
            else:
                made.append(RealContainer(spec, Image()).status(pod))
        return made

    async def sync(self, pod: Pod, addresses: tuple[str, str], tell: Tell) -> float:
        """Start the containers that are due; return the seconds until the next sync."""
        now = self._around.clock.wall_time()
        for container in self._containers.values():
            container.note_exit(pod, now)
        self._raw["status"] = _ips(addresses)
        begin, due = self._due(pod, now, tell)
        stale = begin or now - self._laid_out >= REFRESH_SECONDS
        if stale and not await self._lay_out(tell) and begin:
            self._retry(now)
            return self._retry_at - now
        for container in begin:
            await self._begin(pod, container, tell)
        if now < self._retry_at:
            due.append(self._retry_at)
        due.append(self._laid_out + REFRESH_SECONDS)
        return max(0.0, min(due) - now)

    def _due(self, pod: Pod, now: float, tell: Tell) -> tuple[list[RealContainer], list[float]]:
        """Return the containers to start now, and the times when others are due."""
        begin: list[RealContainer] = []
        due: list[float] = []
        for container in self._containers.values():
            if not container.restarts_by(pod.spec.restart_policy or "Always"):
                continue
            if now < self._retry_at:
                due.append(self._retry_at)
                continue
            told = container.waiting
            later = container.hold_back(pod, now)
            if later is None:
                begin.append(container)
                continue
            due.append(later)
            if container.waiting != told:
                name = container.spec.name
                text = f"Back-off restarting failed container {name} in pod {pod_text(pod)}"
                tell(WARNING, "BackOff", text)
        return begin, due

    async def _lay_out(self, tell: Tell) -> bool:
        self._laid_out = self._around.clock.wall_time()
        try:
            await self._volumes.lay_out(self._raw)
        except VolumeError as error:
            tell(WARNING, "FailedMount", str(error))
            return False
        self._has_volumes = True
        return True

    def _retry(self, now: float) -> None:
        self._retry_at = now + self._retry_after
        self._retry_after = min(2 * self._retry_after, _LAST_RETRY)

    async def _begin(self, pod: Pod, container: RealContainer, tell: Tell) -> None:
        around, spec = self._around, container.spec
        raw = next(one for one in self._raw["spec"]["containers"] if one["name"] == spec.name)
        now = around.clock.wall_time()
        image = f'Container image "{spec.image}" already present on machine'
        tell(NORMAL, "Pulled", f"{image} and can be accessed by the pod")
        try:
            variables = await environment(self._raw, raw, self._sources, around.services)
        except SourceError as error:
            container.waiting = (CONFIG_ERROR, str(error))
            tell(WARNING, "Failed", f"Error: {error}")
            self._retry(now)
            return
        self._retry_after = _FIRST_RETRY
        tell(NORMAL, "Created", "Container created")
        try:
            words = command_line(raw, container.image, variables)
            variables.setdefault("HOSTNAME", pod.metadata.name)
            await self._start(container, raw, words, variables)
        except (NoSuchProgramError, RefusedCommandError, OSError) as error:
            # Conflicting mounts raise OSError; a container runtime fails to start them too.
            container.fail(pod, str(error), now)
            tell(WARNING, "Failed", f"Error: {error}")
            self._changed()
            return
        tell(NORMAL, "Started", "Container started")

    async def _start(
        self, container: RealContainer, raw: Object, words: list[str], variables: dict[str, str]
    ) -> None:
        around, spec = self._around, container.spec
        name = file_name(spec.name)
        root = self._folder / "roots" / name
        self._volumes.mount(raw, root, variables)
        owner = f"{self.uid}/{spec.name}"
        around.ports.release(owner)
        run = container.restarts + (container.ended is not None)
        log = ContainerLog(self._folder / "logs" / f"{name}.{run}", around.clock)
        process = ContainerProcess(log, partial(self._ended, owner))
        words = around.ports.adapt(words, owner)
        try:
            working = f"/{inside(spec.working_dir or '')}"
            await process.start(words, variables, root, working, container.image)
        except BaseException:
            log.close()
            raise
        container.begin(process, log, format_time(around.clock.wall_time()))

    def _ended(self, owner: str) -> None:
        self._around.ports.release(owner)
        self._changed()

    def stop(self, pod: Pod, seconds: float, tell: Tell) -> bool:
        """Stop the processes, by SIGKILL if no `seconds` are left; return whether all ended."""
        now = self._around.clock.wall_time()
        running = []
        for container in self._containers.values():
            container.note_exit(pod, now)
            if container.process is not None:
                running.append(container)
        for container in running:
            assert container.process is not None
            if not self._stopping:
                tell(NORMAL, "Killing", f"Stopping container {container.spec.name}")
                container.process.terminate()
            if seconds <= 0:
                container.process.kill()
        self._stopping = True
        return not running

    async def close(self, grace: float) -> None:
        """Stop the processes, killing them after `grace` seconds, and delete the files."""
        for container in self._containers.values():
            if container.process is not None:
                container.process.terminate()
        for container in self._containers.values():
            if container.process is not None:
                await container.process.close(grace)
            container.discard()
        shutil.rmtree(self._folder, ignore_errors=True)


def _ips(addresses: tuple[str, str]) -> Object:
    host, own = addresses
    return {"hostIP": host, "hostIPs": [{"ip": host}], "podIP": own, "podIPs": [{"ip": own}]}

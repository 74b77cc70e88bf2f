"""PodRunner: the lifecycle of pods on fake nodes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from ipaddress import IPv4Address

from mooring.api import Node, Pod, parse_time
from mooring.client.client import STRATEGIC
from mooring.controllers.component_events import NORMAL, WARNING
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.controller import Controller, ControllerContext
from mooring.controllers.owners import controller_of
from mooring.controllers.work_queue import Key
from mooring.informers.store import EventHandler
from mooring.kubelet import commands, node_status, pod_status
from mooring.kubelet.real_pods import ContainerSettings, RealPods
from mooring.kubelet.simulated_pods import REASON

_FIRST_ADDRESS = IPv4Address("10.244.0.2")
#: With more pods than this, container Events are not recorded: nobody would read them.
TELL_UP_TO = 1000
# The exit code of a killed container: 128 + SIGKILL.
_KILLED = 137


class PodRunner(Controller):
    """The controller that starts, completes and stops the pods of ready fake nodes."""

    name = "kubelet"
    workers = 16

    def __init__(
        self, context: ControllerContext, containers: ContainerSettings | None = None
    ) -> None:
        super().__init__(context)
        #: The pods with containers that really run; None if all are simulated.
        self.real = RealPods(containers, context, self.queue.add) if containers else None
        self._pods = self.watch(Pod, self._bound)
        self._pods.add_index("node", lambda pod: (pod.spec.node_name,))
        self._nodes = self.watch(Node, self._pods_of)
        self._addresses: dict[str, str] = {}
        self._address_of: dict[str, str] = {}
        self._next = 0
        self._pods.add_handler(
            EventHandler(on_add=self._note_address, on_delete=self._free_address)
        )

    def _bound(self, pod: Pod) -> Iterable[Key]:
        if pod.spec.node_name:
            yield pod.metadata.namespace, pod.metadata.name

    def _pods_of(self, node: Node) -> Iterable[Key]:
        if node_status.is_fake(node):
            for pod in self._pods.by_index("node", node.metadata.name):
                yield pod.metadata.namespace, pod.metadata.name

    async def reconcile(self, key: Key) -> float | None:
        """Move a pod to the next state of its lifecycle."""
        pod: Pod | None = self._pods.get(key[1], key[0])
        if self.real is not None:
            await self.real.forget(key, pod.metadata.uid if pod is not None else "")
        if self.real is not None and (pod is None or pod.is_finished):
            self.real.simulated.forget(key)
        if pod is None or not pod.spec.node_name:
            return None
        node: Node | None = self._nodes.get(pod.spec.node_name)
        if node is None or not node_status.is_fake(node):
            return None
        if node_status.ready_condition(node) != "True" or not node_status.internal_ip(node):
            # A pod's status needs the host's address; the node's next change comes back here.
            return None
        if pod.is_terminating:
            return await self._end(pod)
        if pod.is_finished:
            return None
        if self.real is not None and (why := self.real.simulated.note(pod)):
            self.events.record(pod, WARNING, REASON, why, host=pod.spec.node_name)
        if self.real is not None and self.real.runs(pod):
            return await self._run_really(self.real, pod, node)
        if pod.status.phase != "Running":
            await self._run(pod, node)
            return None
        return await self._go_on(pod)

    async def _run_really(self, real: RealPods, pod: Pod, node: Node) -> float | None:
        tell = partial(self.events.record, pod, host=pod.spec.node_name)
        status, again = await real.sync(pod, self._addresses_of(pod, node), tell)
        if status is not None:
            await self._patch(pod, status)
        return again

    async def _run(self, pod: Pod, node: Node) -> None:
        host, address = self._addresses_of(pod, node)
        status = pod_status.running(pod, host, address, self.context.timestamp())
        await self._patch(pod, status)
        if len(self._pods) <= TELL_UP_TO:
            self._tell(pod)

    def _tell(self, pod: Pod) -> None:
        tell = partial(self.events.record, pod, NORMAL, host=pod.spec.node_name)
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            text = (
                f'Container image "{container.image}" already present on machine '
                "and can be accessed by the pod"
            )
            tell("Pulled", text)
            tell("Created", "Container created")
            tell("Started", "Container started")

    async def _go_on(self, pod: Pod) -> float | None:
        owner = controller_of(pod)
        if owner is not None and owner.kind == "Job":
            return await self._finish(pod)
        if pod.spec.readiness_gates:
            change = pod_status.ready(pod, self.context.timestamp())
            if change is not None:
                await self._patch(pod, change)
        return None

    async def _finish(self, pod: Pod) -> float | None:
        seconds = commands.task_seconds(pod)
        if seconds is None:
            return None
        started = parse_time(pod.status.start_time or self.context.timestamp())
        left = started + seconds - self.context.clock.wall_time()
        if left > 0:
            return left
        await self._patch(pod, pod_status.finished(pod, self.context.timestamp()))
        return None

    async def _end(self, pod: Pod) -> float | None:
        metadata = pod.metadata
        assert metadata.deletion_timestamp is not None
        grace = metadata.deletion_grace_period_seconds
        if not grace and metadata.finalizers and pod.is_finished:
            # The pod waits for the controllers that own its finalizers.
            return None
        ends = parse_time(metadata.deletion_timestamp)
        left = (
            ends - (grace or 0) + commands.stop_seconds(pod, grace) - self.context.clock.wall_time()
        )
        if self.real is not None and self.real.runs(pod):
            left = ends - self.context.clock.wall_time()
            tell = partial(self.events.record, pod, host=pod.spec.node_name)
            if self.real.stop(pod, left, tell):
                left = 0.0
            elif left <= 0:
                # The processes were killed; their end triggers the next reconciliation.
                return None
        if left > 0 and not pod.is_finished:
            return left
        if metadata.finalizers and not pod.is_finished:
            when = self.context.timestamp()
            await self._patch(pod, pod_status.finished(pod, when, code=_KILLED))
        await self.writer.delete(PODS, pod, grace=0)
        return None

    async def _patch(self, pod: Pod, status: dict[str, object]) -> None:
        metadata = pod.metadata
        patch = {"metadata": {"uid": metadata.uid}, "status": status}
        await self.writer.patch(PODS, metadata.namespace, metadata.name, patch, "status", STRATEGIC)

    # Addresses.

    def _note_address(self, pod: Pod) -> None:
        if pod.status.pod_ip:
            self._take_address(pod.status.pod_ip, pod)

    def _free_address(self, pod: Pod) -> None:
        address = self._address_of.pop(pod.metadata.uid, "")
        if self._addresses.get(address) == pod.metadata.uid:
            del self._addresses[address]

    def _take_address(self, address: str, pod: Pod) -> None:
        self._addresses[address] = pod.metadata.uid
        self._address_of[pod.metadata.uid] = address

    def _addresses_of(self, pod: Pod, node: Node) -> tuple[str, str]:
        host = node_status.internal_ip(node)
        return host, host if pod.spec.host_network else self._address(pod)

    def _address(self, pod: Pod) -> str:
        known = pod.status.pod_ip or self._address_of.get(pod.metadata.uid)
        if known:
            return known
        while (text := str(_FIRST_ADDRESS + self._next)) in self._addresses:
            self._next += 1
        # 10.244.0.0/14: addresses are reused after 262,144 pods.
        self._next = (self._next + 1) % (1 << 18)
        self._take_address(text, pod)
        return text

    async def close(self) -> None:
        """Stop."""
        await super().close()
        if self.real is not None:
            await self.real.close()

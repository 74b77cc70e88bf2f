"""DaemonSets: one pod on every node that the pod fits."""

# kubernetes: pkg/controller/daemon/{daemon_controller,update}.go

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import CustomResource, Node, Pod
from mooring.controllers import controlled_pods, daemon_pods, owners
from mooring.controllers.component_events import NORMAL, WARNING
from mooring.controllers.controlled_kinds import DAEMON_SETS, PODS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.deployment_sets import scaled
from mooring.controllers.expectations import Expectations, in_batches
from mooring.controllers.revisions import HASH_LABEL, Revisions, digest_of
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object

# daemon_controller.go: BurstReplicas
BURST = 250
_GENERATION = "deprecated.daemonset.template.generation"


class DaemonSetController(Controller):
    """The controller that keeps a pod of each DaemonSet on every node where it should run."""

    name = "daemonset-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._sets = self.watch(DAEMON_SETS, itself)
        self._pods = self.watch(Pod, self._owners, self._size)
        owners.index_by_controller(self._pods)
        self._nodes = self.watch(Node, self._everyone)
        self._expectations = Expectations(self._pods, context.clock)
        self._revisions = Revisions(self, "DaemonSet")
        self._seen: dict[str, object] = {}

    def _owners(self, pod: Pod) -> Iterable[Key]:
        return owners.keys_for(pod, "DaemonSet", self._sets)

    def _size(self, key: Key) -> int:
        return owners.count(self.context.store(Pod), self._sets.get(key[1], key[0]))

    def _everyone(self, node: Node) -> Iterable[Key]:
        # A heartbeat changes neither labels nor spec, so no DaemonSet is affected.
        state = (node.metadata.uid, node.metadata.labels, node.spec)
        if self._seen.get(node.metadata.name) == state:
            gone = self.context.store(Node).get(node.metadata.name) is None
            if not gone:
                return
            del self._seen[node.metadata.name]
        else:
            self._seen[node.metadata.name] = state
        for daemon_set in self._sets:
            yield daemon_set.metadata.namespace, daemon_set.metadata.name

    async def reconcile(self, key: Key) -> float | None:
        """Create and delete pods, advance a rolling update, and write the status."""
        owner: CustomResource | None = self._sets.get(key[1], key[0])
        if owner is None:
            return None
        mine: list[Pod] = await owners.claim(self.writer, owner, PODS, self._pods)
        if owner.metadata.deletion_timestamp is not None:
            return None
        revision = await self._revisions.current(owner)
        digest = digest_of(revision)
        by_node: dict[str, list[Pod]] = {}
        for pod in mine:
            by_node.setdefault(daemon_pods.target_of(pod), []).append(pod)
        placement = daemon_pods.DaemonPlacement(owner)
        judged = {node.metadata.name: placement.judge(node) for node in self._nodes}
        failure = None
        if self._expectations.fulfilled(owner.metadata.uid):
            failure = await self._manage(owner, judged, by_node, digest)
            if failure is None:
                await self._roll(owner, judged, by_node, digest)
        await self._write_status(owner, judged, by_node, digest)
        live = {pod.metadata.labels.get(HASH_LABEL, "") for pod in mine}
        names = {one.metadata.name for one in self._revisions.all(owner) if digest_of(one) in live}
        await self._revisions.clean_up(owner, names | {revision.metadata.name})
        if failure is not None:
            raise failure
        seconds = owner.get("spec.minReadySeconds", 0)
        return controlled_pods.until_available(mine, seconds, self.context.clock.wall_time())

    async def _manage(
        self,
        owner: CustomResource,
        judged: dict[str, tuple[bool, bool]],
        by_node: dict[str, list[Pod]],
        digest: str,
    ) -> Exception | None:
        missing = []
        going = []
        for node, (should_run, may_go_on) in judged.items():
            there = by_node.get(node, [])
            failed = [pod for pod in there if pod.is_finished and not pod.is_terminating]
            alive = [pod for pod in there if controlled_pods.is_active(pod)]
            if should_run and not there:
                missing.append(node)
            elif not may_go_on:
                going += alive + failed
            else:
                oldest = sorted(alive, key=lambda pod: pod.metadata.creation_timestamp or "")
                going += failed + oldest[1:]
        for node, there in by_node.items():
            if node not in judged:
                # The node is gone, and nothing else deletes a pod that was never bound.
                going += [
                    pod
                    for pod in there
                    if controlled_pods.is_active(pod) and not pod.spec.node_name
                ]
        failure = await self._delete(owner, going[:BURST])
        if failure is not None:
            return failure
        calls = [lambda node=node: self._create(owner, node, digest) for node in missing[:BURST]]
        return await in_batches(calls)  # type: ignore[arg-type]

    async def _roll(
        self,
        owner: CustomResource,
        judged: dict[str, tuple[bool, bool]],
        by_node: dict[str, list[Pod]],
        digest: str,
    ) -> None:
        """Delete as many old pods as may be unavailable; the next reconciliation replaces them."""
        if owner.get("spec.updateStrategy.type", "RollingUpdate") != "RollingUpdate":
            return
        wanted = [node for node, (should_run, _) in judged.items() if should_run]
        rolling = owner.get("spec.updateStrategy.rollingUpdate") or {}
        room = scaled(rolling.get("maxUnavailable", 1), len(wanted), up=True)
        # maxSurge is not supported: two pods of one DaemonSet on a node would need a scheduler
        # that allows both. With maxSurge alone, nodes are updated one at a time.
        room = max(1, room)
        sick, candidates = [], []
        for node in wanted:
            there = [pod for pod in by_node.get(node, ()) if controlled_pods.is_active(pod)]
            if not there:
                room -= 1
                continue
            pod = there[0]
            old = pod.metadata.labels.get(HASH_LABEL) != digest
            if not self._is_available(owner, pod):
                room -= 1
                sick += [pod] if old else []
            elif old:
                candidates.append(pod)
        await self._delete(owner, sick + candidates[: max(0, room)])

    def _is_available(self, owner: CustomResource, pod: Pod) -> bool:
        seconds = owner.get("spec.minReadySeconds", 0)
        return controlled_pods.is_available(pod, seconds, self.context.clock.wall_time())

    async def _create(self, owner: CustomResource, node: str, digest: str) -> None:
        template = daemon_pods.tolerant(owner.raw["spec"]["template"])
        generation = owner.metadata.annotations.get(_GENERATION, "")
        template = daemon_pods.place(template, node, generation, digest)
        prefix = f"{owner.metadata.name}-"
        name = controlled_pods.generate_name(prefix, self.context.random)
        pod = controlled_pods.pod_of(template, owner, name, generateName=prefix)
        try:
            creating = self.writer.create(PODS, pod)
            await self._expectations.create(owner.metadata.uid, name, creating)
        except Exception as error:
            self.events.record(owner, WARNING, "FailedCreate", f"Error creating: {error}")
            raise
        self.events.record(owner, NORMAL, "SuccessfulCreate", f"Created pod: {name}")

    async def _delete(self, owner: CustomResource, going: list[Pod]) -> Exception | None:
        async def delete(pod: Pod) -> None:
            deleting = self.writer.delete(PODS, pod)
            await self._expectations.delete(owner.metadata.uid, pod.metadata.uid, deleting)
            text = f"Deleted pod: {pod.metadata.name}"
            self.events.record(owner, NORMAL, "SuccessfulDelete", text)

        return await in_batches([lambda pod=pod: delete(pod) for pod in going])  # type: ignore[misc]

    async def _write_status(
        self,
        owner: CustomResource,
        judged: dict[str, tuple[bool, bool]],
        by_node: dict[str, list[Pod]],
        digest: str,
    ) -> None:
        counts = dict.fromkeys(("desired", "current", "wrong", "ready", "updated", "available"), 0)
        for node, (should_run, _) in judged.items():
            there = [pod for pod in by_node.get(node, ()) if controlled_pods.is_active(pod)]
            counts["desired"] += should_run
            if not there:
                continue
            if not should_run:
                counts["wrong"] += 1
                continue
            pod = min(there, key=lambda pod: pod.metadata.creation_timestamp or "")
            counts["current"] += 1
            counts["ready"] += controlled_pods.is_ready(pod)
            counts["available"] += self._is_available(owner, pod)
            counts["updated"] += pod.metadata.labels.get(HASH_LABEL) == digest
        always: Object = {
            "currentNumberScheduled": counts["current"],
            "numberMisscheduled": counts["wrong"],
            "desiredNumberScheduled": counts["desired"],
            "numberReady": counts["ready"],
        }
        others: Object = {
            "observedGeneration": owner.metadata.generation,
            "updatedNumberScheduled": counts["updated"],
            "numberAvailable": counts["available"],
            "numberUnavailable": counts["desired"] - counts["available"],
            "collisionCount": owner.get("status.collisionCount", 0),
            "conditions": owner.get("status.conditions"),
        }
        status = always | {key: value for key, value in others.items() if value}
        if status != (owner.raw.get("status") or {}):
            await self.writer.replace(DAEMON_SETS, {**owner.raw, "status": status}, "status")

"""Deployments: one ReplicaSet per template, and the rollout from one to the next."""

# kubernetes: pkg/controller/deployment/{deployment_controller,sync,rolling,recreate}.go

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mooring.api import CustomResource, Pod
from mooring.api.kinds import decode_raw
from mooring.controllers import deployment_sets as sets_of
from mooring.controllers import deployment_status as status_of
from mooring.controllers import owners, status_conditions
from mooring.controllers.component_events import NORMAL, WARNING
from mooring.controllers.controlled_kinds import DEPLOYMENTS, REPLICA_SETS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.deployment_sets import REVISION, replicas
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import BACKGROUND, Object
from mooring.errors import ApiError


class _Rollout(msgspec.Struct):
    """The state of one reconciliation of a Deployment."""

    deployment: CustomResource
    new: CustomResource | None
    old: list[CustomResource]
    status: Object
    revision: str = ""
    scaled: bool = False

    @property
    def all(self) -> list[CustomResource]:
        return self.old if self.new is None else [*self.old, self.new]


class DeploymentController(Controller):
    """The controller that brings the pods of each Deployment to its template and size."""

    name = "deployment-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._deployments = self.watch(DEPLOYMENTS, itself)
        self._sets = self.watch(REPLICA_SETS, self._owners)
        owners.index_by_controller(self._sets)
        # Recreate waits until the last old pod is gone.
        self._pods = self.watch(Pod, self._owners_of_pod)
        owners.index_by_controller(self._pods)

    def _owners(self, replica_set: CustomResource) -> Iterable[Key]:
        return owners.keys_for(replica_set, "Deployment", self._deployments)

    def _owners_of_pod(self, pod: Pod) -> Iterable[Key]:
        key = owners.controller_key(pod, "ReplicaSet")
        replica_set = None if key is None else self._sets.get(key[1], key[0])
        owner = None if replica_set is None else owners.controller_key(replica_set, "Deployment")
        if owner is not None:
            deployment = self._deployments.get(owner[1], owner[0])
            if deployment is not None and not sets_of.is_rolling(deployment):
                yield owner

    async def reconcile(self, key: Key) -> float | None:
        """Advance a rollout by one step, and write the status."""
        deployment: CustomResource | None = self._deployments.get(key[1], key[0])
        if deployment is None:
            return None
        mine = await owners.claim(self.writer, deployment, REPLICA_SETS, self._sets)
        new = sets_of.find_new(deployment, mine)
        old = [one for one in sets_of.by_age(mine) if one is not new]
        status = dict(deployment.raw.get("status") or {})
        rollout = _Rollout(deployment, new, old, status)
        if deployment.metadata.deletion_timestamp is not None:
            return await self._write_status(rollout, progress=False)
        status_of.note_pause(deployment, status, self.context.timestamp())
        await self._sync_revision(rollout)
        paused = deployment.get("spec.paused", False)
        if paused or sets_of.is_scaling(deployment, rollout.all):
            await self._scale_all(rollout)
            if paused:
                await self._clean_up(rollout)
            return await self._write_status(rollout, progress=False)
        if sets_of.is_rolling(deployment):
            await self._roll(rollout)
        else:
            await self._recreate(rollout)
        return await self._write_status(rollout, progress=True)

    # The new ReplicaSet.

    async def _sync_revision(self, rollout: _Rollout) -> None:
        """Update the annotations of the new ReplicaSet, if it exists."""
        new, deployment = rollout.new, rollout.deployment
        if new is None:
            return
        newest = max(map(sets_of.revision, rollout.old), default=0) + 1
        known = new.metadata.annotations
        wanted = sets_of.new_annotations(deployment, known, newest)
        seconds = deployment.get("spec.minReadySeconds", 0)
        if wanted != known or new.get("spec.minReadySeconds", 0) != seconds:
            patch = {
                "metadata": {
                    "annotations": wanted,
                    "resourceVersion": new.metadata.resource_version,
                },
                "spec": {"minReadySeconds": seconds},
            }
            rollout.new = await self._patch(new, patch)
        rollout.revision = wanted[REVISION]
        if status_of.has_deadline(deployment) and not status_conditions.find(
            rollout.status, status_of.PROGRESSING
        ):
            text = f'Found new replica set "{new.metadata.name}"'
            self._progress(rollout, status_of.FOUND_SET, text)

    async def _create_new(self, rollout: _Rollout) -> CustomResource:
        deployment = rollout.deployment
        newest = max(map(sets_of.revision, rollout.old), default=0) + 1
        size = sets_of.new_size(deployment, rollout.old, None)
        collisions = rollout.status.get("collisionCount")
        made = sets_of.new_set(deployment, newest, size, collisions)
        new = await self._create(rollout, made)
        if size:
            text = f"Scaled up replica set {new.metadata.name} from 0 to {size}"
            self.events.record(deployment, NORMAL, "ScalingReplicaSet", text)
        if status_of.has_deadline(deployment):
            text = f'Created new replica set "{new.metadata.name}"'
            self._progress(rollout, status_of.NEW_SET, text)
        rollout.revision = str(newest)
        return new

    async def _create(self, rollout: _Rollout, made: Object) -> CustomResource:
        deployment = rollout.deployment
        try:
            return decode_raw(await self.writer.create(REPLICA_SETS, made))
        except ApiError as error:
            name, namespace = made["metadata"]["name"], made["metadata"]["namespace"]
            if error.is_already_exists:
                there = decode_raw(await self.writer.get(REPLICA_SETS, namespace, name))
                owner = owners.controller_of(there)
                if owner is None or owner.uid != deployment.metadata.uid:
                    # The name belongs to another template with the same hash: with the higher
                    # collisionCount, the next reconciliation chooses another name.
                    rollout.status["collisionCount"] = rollout.status.get("collisionCount", 0) + 1
                    changed = {**deployment.raw, "status": rollout.status}
                    await self.writer.replace(DEPLOYMENTS, changed, "status")
                raise
            text = f'Failed to create new replica set "{name}": {error}'
            self.events.record(deployment, WARNING, status_of.SET_FAILED, text)
            raise

    def _progress(self, rollout: _Rollout, reason: str, text: str) -> None:
        when = self.context.timestamp()
        made = status_of.condition(status_of.PROGRESSING, "True", reason, text, when)
        status_conditions.put(rollout.status, made)

    # Strategies.

    async def _roll(self, rollout: _Rollout) -> None:
        if rollout.new is None:
            rollout.new = await self._create_new(rollout)
        deployment, new = rollout.deployment, rollout.new
        wanted = replicas(deployment)
        size = wanted
        if replicas(new) < wanted:
            size = sets_of.new_size(deployment, rollout.all, new)
        rollout.new = await self._scale(rollout, new, size)
        if not rollout.scaled:
            await self._shrink_old(rollout)
        if not rollout.scaled and status_of.is_complete(deployment, rollout.status):
            await self._clean_up(rollout)

    async def _shrink_old(self, rollout: _Rollout) -> None:
        """Scale down old ReplicaSets: unavailable pods first, then as many as may be removed."""
        # rolling.go, reconcileOldReplicaSets
        new = rollout.new
        assert new is not None
        least = replicas(rollout.deployment) - sets_of.fenceposts(rollout.deployment)[1]
        pending = replicas(new) - new.get("status.availableReplicas", 0)
        room = sets_of.count(rollout.all, "spec.replicas") - least - pending
        for place, one in enumerate(rollout.old):
            sick = replicas(one) - one.get("status.availableReplicas", 0)
            going = min(room, sick)
            if going > 0:
                rollout.old[place] = await self._scale(rollout, one, replicas(one) - going)
                room -= going
        spare = sets_of.count(rollout.all, "status.availableReplicas") - least
        for place, one in enumerate(rollout.old):
            going = min(spare, room, replicas(one))
            if going > 0:
                rollout.old[place] = await self._scale(rollout, one, replicas(one) - going)
                spare -= going
                room -= going

    async def _recreate(self, rollout: _Rollout) -> None:
        for place, one in enumerate(rollout.old):
            rollout.old[place] = await self._scale(rollout, one, 0)
        if rollout.scaled or self._old_pods_run(rollout):
            return
        if rollout.new is None:
            rollout.new = await self._create_new(rollout)
        rollout.new = await self._scale(rollout, rollout.new, replicas(rollout.deployment))
        if status_of.is_complete(rollout.deployment, rollout.status):
            await self._clean_up(rollout)

    def _old_pods_run(self, rollout: _Rollout) -> bool:
        return any(
            not pod.is_finished for one in rollout.old for pod in owners.owned(self._pods, one)
        )

    async def _scale_all(self, rollout: _Rollout) -> None:
        """Bring a Deployment to its size without advancing the rollout."""
        # sync.go, scale
        deployment = rollout.deployment
        running = sets_of.active(rollout.all)
        if len(running) <= 1:
            latest = running[0] if running else rollout.all[-1] if rollout.all else None
            if latest is not None:
                await self._scale(rollout, latest, replicas(deployment))
        elif sets_of.is_saturated(deployment, rollout.new):
            for one in sets_of.active(rollout.old):
                await self._scale(rollout, one, 0)
        elif sets_of.is_rolling(deployment):
            for one, size in sets_of.proportional_sizes(deployment, rollout.all):
                await self._scale(rollout, one, size, always=True)

    async def _scale(
        self, rollout: _Rollout, one: CustomResource, size: int, *, always: bool = False
    ) -> CustomResource:
        before = replicas(one)
        noted = sets_of.size_annotations(rollout.deployment)
        known = one.metadata.annotations
        stale = any(known.get(key) != text for key, text in noted.items())
        if before == size and not (always and stale):
            return one
        patch = {
            "metadata": {
                "annotations": noted,
                "resourceVersion": one.metadata.resource_version,
            },
            "spec": {"replicas": size},
        }
        changed = await self._patch(one, patch)
        if before != size:
            rollout.scaled = True
            way = "up" if size > before else "down"
            text = f"Scaled {way} replica set {one.metadata.name} from {before} to {size}"
            self.events.record(rollout.deployment, NORMAL, "ScalingReplicaSet", text)
        return changed

    async def _patch(self, one: CustomResource, patch: Object) -> CustomResource:
        metadata = one.metadata
        return decode_raw(
            await self.writer.patch(REPLICA_SETS, metadata.namespace, metadata.name, patch)
        )

    async def _clean_up(self, rollout: _Rollout) -> None:
        """Delete ReplicaSets beyond the revision history limit, the oldest revisions first."""
        limit = rollout.deployment.get("spec.revisionHistoryLimit")
        kept = [one for one in rollout.old if one.metadata.deletion_timestamp is None]
        if limit is None or len(kept) <= limit:
            return
        for one in sorted(kept, key=sets_of.revision)[: len(kept) - limit]:
            observed = one.get("status.observedGeneration", 0)
            settled = one.metadata.generation <= observed
            if settled and not replicas(one) and not one.get("status.replicas", 0):
                await self.writer.delete(REPLICA_SETS, one, policy=BACKGROUND)

    # The status.

    async def _write_status(self, rollout: _Rollout, *, progress: bool) -> float | None:
        deployment, context = rollout.deployment, self.context
        raw = deployment.raw
        if rollout.revision and deployment.metadata.annotations.get(REVISION) != rollout.revision:
            metadata = deployment.metadata
            patch = {"metadata": {"annotations": {REVISION: rollout.revision}}}
            raw = await self.writer.patch(DEPLOYMENTS, metadata.namespace, metadata.name, patch)
        old = rollout.status
        when = context.timestamp()
        status = status_of.calculate(deployment, old, rollout.all, rollout.new, when)
        now = context.clock.wall_time()
        if progress:
            status_of.note_progress(deployment, old, status, rollout.all, rollout.new, now, when)
        status = {name: value for name, value in status.items() if value}
        if status != (deployment.raw.get("status") or {}):
            await self.writer.replace(DEPLOYMENTS, {**raw, "status": status}, "status")
        return status_of.until_deadline(deployment, status, now)

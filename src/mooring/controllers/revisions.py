"""ControllerRevisions: the templates that a StatefulSet or a DaemonSet has had."""

# kubernetes: pkg/controller/history/controller_history.go

from __future__ import annotations

from typing import Any

from mooring.api import CustomResource
from mooring.api.kinds import decode_raw
from mooring.controllers import owners
from mooring.controllers.controlled_kinds import CONTROLLER_REVISIONS
from mooring.controllers.controller import Controller
from mooring.controllers.template_hash import template_hash
from mooring.controllers.writer import Object
from mooring.errors import ApiError
from mooring.informers.store import Store

HASH_LABEL = "controller-revision-hash"


class Revisions:
    """The revisions of one controller's objects, oldest first."""

    def __init__(self, controller: Controller, kind: str) -> None:
        def owner(revision: CustomResource) -> Any:
            key = owners.controller_key(revision, kind)
            return () if key is None else (key,)

        self._writer = controller.writer
        self._store: Store[Any] = controller.watch(CONTROLLER_REVISIONS, owner)
        owners.index_by_controller(self._store)

    def all(self, owner: CustomResource) -> list[CustomResource]:
        """Return the revisions of an object, sorted by number."""
        found = owners.owned(self._store, owner)
        return sorted(found, key=lambda one: (number(one), one.metadata.name))

    async def current(self, owner: CustomResource) -> CustomResource:
        """Return the revision of an object's template; create it if the template is new.

        If an earlier revision has the same template, it becomes the newest.
        """
        known = self.all(owner)
        data = {"spec": {"template": {**owner.raw["spec"]["template"], "$patch": "replace"}}}
        newest = number(known[-1]) if known else 0
        for one in known:
            if one.get("data") == data:
                if one is not known[-1]:
                    return await self._renumber(one, newest + 1)
                return one
        digest = template_hash(data, owner.get("status.collisionCount"))
        made = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{owner.metadata.name}-{digest}",
                "namespace": owner.metadata.namespace,
                "labels": {
                    **(owner.get("spec.template.metadata.labels") or {}),
                    HASH_LABEL: digest,
                },
                "ownerReferences": [owners.reference_to(owner)],
            },
            "data": data,
            "revision": newest + 1,
        }
        return await self._create(made)

    async def _create(self, made: Object) -> CustomResource:
        try:
            return decode_raw(await self._writer.create(CONTROLLER_REVISIONS, made))
        except ApiError as error:
            if not error.is_already_exists:
                raise
            # The revision exists; the informer has not shown it yet.
            metadata = made["metadata"]
            found = await self._writer.get(
                CONTROLLER_REVISIONS, metadata["namespace"], metadata["name"]
            )
            return decode_raw(found)

    async def _renumber(self, one: CustomResource, wanted: int) -> CustomResource:
        metadata = one.metadata
        patch = {"metadata": {"resourceVersion": metadata.resource_version}, "revision": wanted}
        return decode_raw(
            await self._writer.patch(CONTROLLER_REVISIONS, metadata.namespace, metadata.name, patch)
        )

    async def clean_up(self, owner: CustomResource, live: set[str]) -> None:
        """Delete the oldest revisions beyond the history limit, but none of those in use."""
        spare = [one for one in self.all(owner) if one.metadata.name not in live]
        limit = owner.get("spec.revisionHistoryLimit", 10)
        for one in spare[: max(0, len(spare) - limit)]:
            await self._writer.delete(CONTROLLER_REVISIONS, one)


def number(revision: CustomResource) -> int:
    """Return the number of a revision."""
    found: int = revision.get("revision", 0)
    return found


def digest_of(revision: CustomResource) -> str:
    """Return the hash of a revision, which DaemonSet pods carry instead of its name."""
    return revision.metadata.labels.get(HASH_LABEL, "")


def template_of(revision: CustomResource) -> Object:
    """Return the template that a revision holds."""
    found = revision.raw["data"]["spec"]["template"]
    return {key: value for key, value in found.items() if key != "$patch"}

"""DefaultBinder: bind a pod through the API server."""

# kube-scheduler: plugins/defaultbinder/default_binder.go

from __future__ import annotations

import logging

from mooring.api import Pod
from mooring.errors import ApiError
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.observe.logs import vlog

log = logging.getLogger(__name__)


class DefaultBinder(Plugin):
    """Bind pods by the pods/binding subresource."""

    name = "DefaultBinder"

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Bind a pod; a refusal by the server is an error, and the pod is retried."""
        vlog(log, 3, "Attempting to bind pod to node", pod=pod, node=node_name)
        try:
            await self.handle.client.bind(pod, node_name)
        except ApiError as error:
            # An answer that leaves it open is settled by reading: nothing is written twice.
            unsettled = error.maybe_applied or error.is_conflict
            if unsettled and await self._is_bound(pod, node_name):
                return None
            return Status.error(error.message or str(error))
        return None

    async def _is_bound(self, pod: Pod, node_name: str) -> bool:
        meta = pod.metadata
        try:
            found = await self.handle.client.get(Pod, meta.name, meta.namespace)
        except ApiError:
            return False
        return found.metadata.uid == meta.uid and found.spec.node_name == node_name

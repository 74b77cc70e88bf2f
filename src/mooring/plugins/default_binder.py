"""DefaultBinder: bind a pod through the API server."""

# kube-scheduler: plugins/defaultbinder/default_binder.go

from __future__ import annotations

from mooring.api import Pod
from mooring.errors import ApiError
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status


class DefaultBinder(Plugin):
    """Bind pods by the pods/binding subresource."""

    name = "DefaultBinder"

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Bind a pod; a refusal by the server is an error, and the pod is retried."""
        try:
            await self.handle.client.bind(pod, node_name)
        except ApiError as error:
            return Status.error(error.message or str(error))
        return None

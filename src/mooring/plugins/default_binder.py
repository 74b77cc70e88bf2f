"""DefaultBinder: bind a pod through the API server."""

# kube-scheduler: plugins/defaultbinder/default_binder.go

from __future__ import annotations

import logging

from mooring.api import Pod
from mooring.errors import ApiError, NoAnswerError
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.observe.logs import kv, log_error, vlog
from mooring.plugins.gates import gates_of

log = logging.getLogger(__name__)

#: Seconds between attempts to read whether a pod was bound; doubled each time up to LONGEST_WAIT.
FIRST_WAIT = 0.5
LONGEST_WAIT = 15.0
#: Seconds for which refused reads are retried: a server that has just started may not know the
#: scheduler's rights yet.
REFUSAL_SECONDS = 60.0

#: Seconds before each further attempt. # client-go: util/retry/util.go (DefaultBackoff)
RETRY_WAITS = (0.01, 0.05, 0.25)

_TWO_SCHEDULERS = (
    "Two schedulers serve one schedulerName: another process bound a pod that this one was about "
    "to bind. Stop one of them, or give one another schedulerName and another lease"
)


class DefaultBinder(Plugin):
    """The plugin that binds pods through the pods/binding subresource."""

    name = "DefaultBinder"
    _has_warned = False

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Bind a pod; a refusal by the server is an error, and the pod is retried."""
        vlog(log, 3, "Attempting to bind pod to node", pod=pod, node=node_name)
        waits = RETRY_WAITS if gates_of(self.handle).release.retries_binds else ()
        for wait in (*waits, None):
            try:
                await self.handle.client.bind(pod, node_name)
                return None
            except ApiError as error:
                if error.maybe_applied or error.is_conflict:
                    # kube-scheduler sends it again at once; here a pod is never bound twice.
                    patience = REFUSAL_SECONDS if error.maybe_applied else 0.0
                    found = await self._read_node(pod, patience)
                    if found == node_name:
                        return None
                    if found:
                        self._warn_of_other(pod, found)
                        return _failed(error)
                if wait is None or not _is_retriable(error):
                    return _failed(error)
                vlog(log, 2, "Cannot bind a pod, trying again", pod=pod, err=error)
                await self.handle.clock.sleep(wait)
        return None

    def _warn_of_other(self, pod: Pod, node_name: str) -> None:
        """Log once that another scheduler binds the pods of this profile."""
        if not self._has_warned:
            self._has_warned = True
            name = pod.spec.scheduler_name
            log.warning(_TWO_SCHEDULERS, extra=kv(schedulerName=name, pod=pod, node=node_name))

    async def _read_node(self, pod: Pod, patience: float) -> str:
        """Return the node that a pod is bound to, or ""; read until the server responds.

        Meanwhile the pod stays assumed, because it may be on the node. If the server keeps refusing
        the read for `patience` seconds, return "". The seconds count from the first refusal in a
        row, not from the first attempt, because a server may refuse when it has just started,
        however long it was down.
        """
        meta = pod.metadata
        wait = FIRST_WAIT
        refused_since: float | None = None
        while True:
            try:
                found = await self.handle.client.get(Pod, meta.name, meta.namespace)
            except ApiError as error:
                if error.is_not_found:
                    return ""
                unknown = error.status == 0 or error.status >= 500 or error.is_too_many_requests
                now = self.handle.clock.now()
                if unknown:
                    refused_since = None
                elif refused_since is None:
                    refused_since = now
                if refused_since is not None and now - refused_since >= patience:
                    log_error(log, error, "Cannot read whether a pod was bound", pod=pod)
                    return ""
                vlog(
                    log, 2, "Cannot read whether a pod was bound, trying again", pod=pod, err=error
                )
                await self.handle.clock.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
                continue
            return found.spec.node_name if found.metadata.uid == meta.uid else ""


def _failed(error: ApiError) -> Status:
    return Status.error(error.message or str(error))


def _is_retriable(error: ApiError) -> bool:
    # kube-scheduler: util/utils.go (Retriable)
    was_refused = isinstance(error, NoAnswerError) and not error.sent
    return was_refused or error.status in (500, 503)

"""The incoming pod's requests, as each resource plugin counts them."""

from __future__ import annotations

from mooring.api import Pod, RequestOptions, pod_requests
from mooring.api.pod_resource_requests import CPU, MEMORY, NON_ZERO_DEFAULTS
from mooring.framework.handle import Handle
from mooring.plugins.gates import gates_of


class PodRequests:
    """The requests of pods; for most pods, its PodInfo already has them."""

    def __init__(self, handle: Handle) -> None:
        gates = gates_of(handle)
        self._handle = handle
        no_pod_level = not gates.enabled("PodLevelResources")
        # A pending pod has not been resized, so its status does not count.
        self._for_filter = RequestOptions(
            use_status_resources=False, skip_pod_level_resources=no_pod_level
        )
        # Pod-level requests do not count either, as in kube-scheduler.
        self._for_fit_score = RequestOptions(
            use_status_resources=False,
            skip_pod_level_resources=True,
            non_missing=NON_ZERO_DEFAULTS,
        )
        self._for_balance = RequestOptions(
            use_status_resources=gates.enabled("InPlacePodVerticalScaling"),
            in_place_pod_level_resources=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
            by_container=gates.release.resizes_by_container,
            skip_pod_level_resources=no_pod_level,
        )

    def for_filter(self, pod: Pod) -> dict[str, int]:
        """Return what must be free on a node."""
        if _has_status(pod):
            return pod_requests(pod, self._for_filter)
        return self._handle.pod_info(pod).requests

    def for_fit_score(self, pod: Pod) -> dict[str, int]:
        """Return the requests, with defaults for containers that request no cpu or memory."""
        if _has_status(pod) or pod.spec.resources is not None:
            return pod_requests(pod, self._for_fit_score)
        info = self._handle.pod_info(pod)
        return {**info.requests, CPU: info.non_zero_cpu, MEMORY: info.non_zero_memory}

    def for_balance(self, pod: Pod) -> dict[str, int]:
        """Return the requests as written."""
        if pod.status.node_allocatable_resource_claim_statuses:
            return pod_requests(pod, self._for_balance)
        return self._handle.pod_info(pod).requests


def _has_status(pod: Pod) -> bool:
    status = pod.status
    return bool(
        status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or status.node_allocatable_resource_claim_statuses
    )

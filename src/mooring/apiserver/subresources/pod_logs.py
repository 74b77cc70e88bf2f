"""The log subresource: the log of a container."""

from __future__ import annotations

from typing import Protocol

import msgspec

from mooring.api import parse_time
from mooring.api.go_format import go_text
from mooring.apiserver import refusals
from mooring.apiserver.http import ApiRequest, ApiResponse, ByteStream, text
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import Object, ServerState
from mooring.errors import ObjectError

SIMULATED = "This container is simulated: it runs nothing and writes no log.\n"


class PodLogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a log that a request selects."""

    follow: bool = False
    #: Whether the log is that of the container's previous run.
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since_seconds: int | None = None
    since_time: float | None = None
    limit_bytes: int | None = None


class LogSource(Protocol):
    """A provider of the logs of containers that really run."""

    def log(self, pod: Object, container: str, options: PodLogOptions) -> ByteStream | None:
        """Return a container's log as chunks, None if the container is simulated.

        Raise a Refusal if it has not written a log yet.
        """
        ...


def read(
    cluster: ServerState,
    request: ApiRequest,
    info: RequestInfo,
    served: Served,
    source: LogSource | None,
) -> ApiResponse:
    """Return a response with a container's log."""
    pod = cluster.find(served, info.namespace, info.name).object
    container = _container(pod, request.parameter("container"))
    if not pod["spec"].get("nodeName"):
        raise refusals.bad_request(f"pod {info.name} does not have a host assigned")
    node = pod["spec"]["nodeName"]
    if cluster.store.get("/nodes", node) is None:
        raise refusals.not_found("pods", "", node)
    options = _options(request)
    found = source.log(pod, container, options) if source else None
    if found is not None:
        return ApiResponse(200, content_type="text/plain", stream=found)
    if options.previous:
        raise no_previous(info.name, container)
    return text(SIMULATED)


def no_previous(pod: str, container: str) -> refusals.Refusal:
    """Return the refusal (400) of a previous log if the container has no previous run."""
    # kubernetes: pkg/kubelet/kubelet_pods.go, validateContainerLogStatus
    return refusals.bad_request(
        f'previous terminated container "{container}" in pod "{pod}" not found'
    )


def _options(request: ApiRequest) -> PodLogOptions:
    since = request.parameter("sinceTime")
    try:
        since_time = parse_time(since) if since else None
    except ObjectError as error:
        raise refusals.bad_request(str(error)) from None
    return PodLogOptions(
        follow=request.flag("follow"),
        previous=request.flag("previous"),
        timestamps=request.flag("timestamps"),
        tail=_number(request, "tailLines"),
        since_seconds=_number(request, "sinceSeconds"),
        since_time=since_time,
        limit_bytes=_number(request, "limitBytes"),
    )


def _number(request: ApiRequest, name: str) -> int | None:
    given = request.parameter(name)
    return int(given) if given.isascii() and given.isdigit() else None


def _container(pod: Object, name: str) -> str:
    # kube-apiserver: pkg/registry/core/pod/strategy.go, LogLocation
    spec = pod["spec"]
    names = [one["name"] for one in spec.get("containers") or ()]
    first = [one["name"] for one in spec.get("initContainers") or ()]
    pod_name = pod["metadata"]["name"]
    if not name:
        if len(names) == 1:
            return str(names[0])
        listed = go_text([*first, *names])
        raise refusals.bad_request(
            f"a container name must be specified for pod {pod_name}, choose one of: {listed}"
        )
    late = [one["name"] for one in spec.get("ephemeralContainers") or ()]
    if name not in (*names, *first, *late):
        raise refusals.bad_request(f"container {name} is not valid for pod {pod_name}")
    return name

"""The log of a container, from whoever runs it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from mooring.local import refusals
from mooring.local.cluster import Cluster, Object
from mooring.local.exchange import Request, Response, text
from mooring.local.paths import RequestInfo
from mooring.local.resources import Served

SIMULATED = "This container is simulated: it runs nothing and writes no log.\n"


class LogSource(Protocol):
    """Know the logs of the containers that really run."""

    def log(
        self, pod: Object, container: str, follow: bool, tail: int | None
    ) -> AsyncIterator[bytes] | None:
        """Return a container's log as chunks, None where the container is simulated."""
        ...


def read(
    cluster: Cluster,
    request: Request,
    info: RequestInfo,
    served: Served,
    source: LogSource | None,
) -> Response:
    """Answer with a container's log."""
    pod = cluster.find(served, info.namespace, info.name).object
    container = _container(pod, request.parameter("container"))
    if not pod["spec"].get("nodeName"):
        raise refusals.bad_request(f"pod {info.name} does not have a host assigned")
    node = pod["spec"]["nodeName"]
    if cluster.store.get("/nodes", node) is None:
        raise refusals.not_found("pods", "", node)
    tail = request.parameter("tailLines")
    lines = int(tail) if tail.isdigit() else None
    found = source.log(pod, container, request.flag("follow"), lines) if source else None
    if found is None:
        return text(SIMULATED)
    return Response(200, content_type="text/plain", stream=found)


def _container(pod: Object, name: str) -> str:
    # kube-apiserver: pkg/registry/core/pod/strategy.go, LogLocation
    spec = pod["spec"]
    names = [one["name"] for one in spec.get("containers") or ()]
    first = [one["name"] for one in spec.get("initContainers") or ()]
    pod_name = pod["metadata"]["name"]
    if not name:
        if len(names) == 1:
            return str(names[0])
        listed = f"[{' '.join(names)}]"
        more = f" or one of the init containers: [{' '.join(first)}]" if first else ""
        raise refusals.bad_request(
            f"a container name must be specified for pod {pod_name}, choose one of: {listed}{more}"
        )
    if name not in (*names, *first):
        raise refusals.bad_request(f"container {name} is not valid for pod {pod_name}")
    return name

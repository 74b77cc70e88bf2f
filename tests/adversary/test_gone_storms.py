"""410 storms: an API server that forgets every version as soon as it has named it.

What is asked is counted: the requests that the schedulers send for one kind. client-go sends up to
50 a second in some of these storms, which is the limit of its client, and unlimited watches.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from mooring.client.transport import Request, Response
from tests.adversary.simulated_cluster import AttackedCluster, attack
from tests.soak.api_server import failure
from tests.soak.faults import StreamEnd
from tests.soak.object_store import NODES, PODS
from tests.soak.target import Target
from tests.soak.watch_stream import error_line

Refuse = Callable[[Request], Response | None]

GONE = failure(410, "Expired", "too old resource version")
#: The same within a watch.
GONE_EVENT = Response(200, {}, error_line(410, "Expired", "too old resource version"))
STORM_SECONDS = 600.0
#: After a storm, the longest backoff may have just begun.
CALM_SECONDS = 150.0
#: How many requests for one kind there may be in the storm, by the longest backoff of client-go: 30
#: to 60 seconds, after which up to nine requests are sent.
MOST_REQUESTS = 150
MOST_LINES_PER_KIND = 60
NODES_NUMBER, CPU = 5, 4


def query_of(request: Request) -> dict[str, str]:
    """Return the query of a request that reads a collection; empty for other requests."""
    target = Target.of(request.target)
    return {} if request.method != "GET" or target.name else target.query


def every_watch(answer: Response) -> Refuse:
    """Refuse all watches."""
    return lambda request: answer if query_of(request).get("watch") else None


def every_resumed_watch(answer: Response) -> Refuse:
    """Refuse the watches that begin at a version."""
    return lambda request: (
        answer
        if query_of(request).get("watch") and not query_of(request).get("sendInitialEvents")
        else None
    )


def every_read(request: Request) -> Response | None:
    """Refuse all lists and watches."""
    return GONE if request.method == "GET" else None


def every_continuation(request: Request) -> Response | None:
    """Refuse to stream, and refuse all pages but the first."""
    query = query_of(request)
    if query.get("sendInitialEvents"):
        return failure(422, "Invalid", "sendInitialEvents is forbidden")
    return GONE if query.get("continue") else None


STORMS = {
    "watches as a status": every_watch(GONE),
    "watches as an event": every_watch(GONE_EVENT),
    "resumed watches as a status": every_resumed_watch(GONE),
    "resumed watches as an event": every_resumed_watch(GONE_EVENT),
    "all reads": every_read,
    "continuations": every_continuation,
}


@pytest.mark.parametrize("synced", [False, True], ids=["from the start", "later"])
@pytest.mark.parametrize("refuse", STORMS.values(), ids=STORMS)
def test_requests_are_few_in_a_storm_and_pods_are_bound_after_it(
    refuse: Refuse, synced: bool
) -> None:
    requests: Counter[str] = Counter()

    async def storm(cluster: AttackedCluster) -> None:
        server = cluster.server
        cluster.add_nodes(NODES_NUMBER, CPU)
        cluster.add_pods(NODES_NUMBER)
        if not synced:
            server.refuse = refuse
        if refuse is every_continuation:
            # A server may make pages, and name the next one, even if no limit is wanted.
            server.faults.page_size = 2
        cluster.start()
        await asyncio.sleep(10.0)
        server.refuse = refuse
        for stream in list(server.streams):
            stream.cut()
        server.take_requests()
        cluster.add_pods(NODES_NUMBER, "later")
        await asyncio.sleep(STORM_SECONDS)
        requests.update(server.take_requests())
        server.be_honest()
        await asyncio.sleep(CALM_SECONDS)
        assert cluster.bound == 2 * NODES_NUMBER

    log = attack(storm)
    for collection in (NODES, PODS):
        assert 5 < requests[collection] <= MOST_REQUESTS, collection
    assert requests.total() <= MOST_REQUESTS * len(requests)
    assert len(log.lines) <= MOST_LINES_PER_KIND * len(requests)


@pytest.mark.parametrize("end", [StreamEnd.CLOSED, StreamEnd.CUT, StreamEnd.GONE, StreamEnd.ERROR])
def test_watches_that_end_at_once_are_resumed_at_a_bounded_rate(end: StreamEnd) -> None:
    """client-go resumes watches that end after an event immediately, without any limit."""
    requests: Counter[str] = Counter()

    async def storm(cluster: AttackedCluster) -> None:
        server = cluster.server
        cluster.add_nodes(NODES_NUMBER, CPU)
        cluster.start()
        await asyncio.sleep(10.0)
        server.ends_at_once = end
        for stream in list(server.streams):
            stream.cut()
        server.take_requests()
        cluster.add_pods(NODES_NUMBER)
        await asyncio.sleep(100.0)
        requests.update(server.take_requests())
        server.be_honest()
        await asyncio.sleep(CALM_SECONDS)
        assert cluster.bound == NODES_NUMBER

    log = attack(storm)
    for collection in (NODES, PODS):
        assert 5 < requests[collection] <= 110, collection
    assert len(log.lines) <= MOST_LINES_PER_KIND * len(requests)

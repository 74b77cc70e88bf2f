"""Questions to the scheduler that leads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.errors import MooringError, NoAnswerError
from mooring.leader.leader_lookup import LeaseName, NoLeader
from mooring.leader.scheduler_questions import (
    IDLE_SECONDS,
    Answerer,
    NotKnown,
    SchedulerAddress,
    UnansweredError,
    ask_about_pod,
    ask_about_queue,
    follow_decisions,
    leases_of,
    opened_scheduler,
)
from mooring.leader.server_events import ServerEvent
from mooring.serve.explain_paths import GROUP, NO_RECORDS
from tests.client.fakes import FakeStream, FakeTransport, answer, failure
from tests.leader.test_leader_lookup import ADDRESS, NOW, lease
from tests.local.clusters import running

CONNECTION = Connection(server="https://api.invalid")
NO_PATH = answer(404, b"404 page not found")
NO_LEASE = answer(404, failure(404, "NotFound"))


def ours(code: int, reason: str, message: str, kind: str = "explanations", **headers: str) -> Any:
    details = {"group": GROUP, "kind": kind}
    return answer(code, failure(code, reason, message, details=details), **headers)


async def opened(
    *answers: Any, address: SchedulerAddress | None = None, name: str = ""
) -> tuple[Answerer | NoLeader, list[str]]:
    transport = FakeTransport(*answers)
    async with opened_scheduler(
        CONNECTION,
        Client(transport),
        address or SchedulerAddress(),
        scheduler_names=(name,),
        now=NOW,
        user_agent="test",
    ) as found:
        return found, [request.target for request in transport.asked]


async def test_the_api_server_of_a_local_cluster_answers_itself(tmp_path: Path) -> None:
    found, asked = await opened(ours(404, "NotFound", "there is no path"))
    assert isinstance(found, Answerer)
    assert found.who == "the scheduler of the local cluster https://server:6443"
    assert asked == ["/explain/v1"]
    async with (
        running(tmp_path) as cluster,
        opened_scheduler(
            CONNECTION,
            cluster.client,
            SchedulerAddress(),
            scheduler_names=("",),
            now=NOW,
            user_agent="test",
        ) as local,
    ):
        assert isinstance(local, Answerer)
        found_pod = await ask_about_pod(local, "default", "nope", None)
        assert found_pod == NotKnown("pod default/nope is not known to the scheduler")


@pytest.mark.parametrize("refused", [NO_PATH, answer(403, failure(403, "Forbidden", "no path"))])
async def test_other_api_servers_are_asked_for_the_lease(refused: Any) -> None:
    found, asked = await opened(refused, NO_LEASE, NO_LEASE, name="gpu")
    assert found == NoLeader(
        "there is no Lease kube-system/gpu; there is no Lease kube-system/kube-scheduler"
    )
    assert asked[1:] == [
        f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}"
        for name in ("gpu", "kube-scheduler")
    ]
    found, asked = await opened(
        refused, NO_LEASE, address=SchedulerAddress(lease=LeaseName("a", "b")), name="gpu"
    )
    assert found == NoLeader("there is no Lease a/b")


async def test_a_scheduler_that_is_named_needs_a_certificate() -> None:
    url = SchedulerAddress(url="https://127.0.0.1:1/")
    with pytest.raises(MooringError) as raised:
        await opened(NO_LEASE, address=url)
    assert str(raised.value) == (
        "the certificate of https://127.0.0.1:1 cannot be verified: there is no Lease "
        "kube-system/kube-scheduler; name its SHA-256 with --certificate-sha256"
    )
    found, _ = await opened(answer(200, lease()), address=url)
    assert isinstance(found, Answerer)
    assert found.leader is not None and found.leader.address == ADDRESS
    assert found.who == f"the scheduler {ADDRESS.holder} (Lease kube-system/kube-scheduler)"
    given = SchedulerAddress(url="https://127.0.0.1:1", certificate_sha256="0" * 64)
    found, asked = await opened(address=given)
    assert isinstance(found, Answerer)
    assert (found.who, asked) == ("the scheduler https://127.0.0.1:1", [])


async def asked_pod(response: Any, attempt: int | None = None) -> Any:
    transport = FakeTransport(response)
    found = await ask_about_pod(
        Answerer(Client(transport), "S"), "shop", "a/b", attempt, advice="do this"
    )
    suffix = "" if attempt is None else f"?attempt={attempt}"
    assert transport.asked[0].target == f"/explain/v1/namespaces/shop/pods/a%2Fb{suffix}"
    return found


async def test_answers_about_a_pod() -> None:
    assert await asked_pod(answer(200, {"name": "web"}), attempt=3) == {"name": "web"}
    assert await asked_pod(ours(404, "NotFound", "no pod", "pods")) == NotKnown("no pod")
    off = ours(404, "NotFound", "kept off", NO_RECORDS)
    assert await asked_pod(off) == NoLeader("kept off")


@pytest.mark.parametrize(
    ("response", "line"),
    [
        pytest.param(
            NoAnswerError("connection refused", sent=False),
            "S cannot be asked: connection refused; do this",
            id="not reached",
        ),
        pytest.param(
            answer(401, failure(401, "Unauthorized", "Unauthorized")),
            "S does not accept the credentials of the kubeconfig; do this",
            id="not known",
        ),
        pytest.param(
            ours(403, "Forbidden", "forbidden: User x"),
            "S: forbidden: User x; get pods or get /explain/* is needed; do this",
            id="no rights",
        ),
        pytest.param(
            ours(503, "ServiceUnavailable", "this replica does not lead: the leader is o"),
            "S: this replica does not lead: the leader is o",
            id="a standby",
        ),
        pytest.param(
            ours(404, "NotFound", "no profile serves it", "profiles"),
            "S: no profile serves it",
            id="no profile",
        ),
        pytest.param(
            NO_PATH, "S answers 404 to a question about a pod: is it a Mooring?", id="another"
        ),
    ],
)
async def test_failures_are_one_line(response: Any, line: str) -> None:
    with pytest.raises(MooringError) as raised:
        await asked_pod(response)
    assert str(raised.value) == line


def test_the_leases_of_several_schedulers() -> None:
    default = LeaseName("kube-system", "kube-scheduler")
    gpu = LeaseName("kube-system", "gpu")
    assert leases_of(SchedulerAddress(), ["default-scheduler", "gpu"]) == [default, gpu]
    assert leases_of(SchedulerAddress(), ["gpu"]) == [gpu, default]
    named = SchedulerAddress(lease=LeaseName("a", "b"))
    assert leases_of(named, ["default-scheduler", "gpu"]) == [LeaseName("a", "b")]


async def test_a_question_that_must_be_asked_later() -> None:
    transport = FakeTransport(ours(429, "TooManyRequests", "too many questions", Retry_After="7"))
    with pytest.raises(UnansweredError, match="S: too many questions") as raised:
        await ask_about_pod(Answerer(Client(transport), "S"), "shop", "web", None, retries=0)
    assert (raised.value.status, raised.value.retry_after) == (429, 7.0)
    assert len(transport.asked) == 1


async def test_the_places_in_the_queue() -> None:
    place = {"namespace": "shop", "name": "web", "uid": "u", "place": "active", "position": 3}
    page = {"version": 1, "items": [place], "continue": "", "total": 1}
    transport = FakeTransport(answer(200, page))
    found = await ask_about_queue(Answerer(Client(transport), "S"))
    assert [(one.key, one.position) for one in found.items] == [("shop/web", 3)]
    assert transport.asked[0].target == "/explain/v1/queue?limit=5000"


@pytest.mark.parametrize(
    ("response", "line"),
    [
        pytest.param(
            ours(403, "Forbidden", "forbidden"),
            "S: forbidden; get /explain/\\* is needed",
            id="no right to the path",
        ),
        pytest.param(answer(200, b"[]"), "S: the queue cannot be read: ", id="not a queue"),
    ],
)
async def test_a_queue_that_the_leader_does_not_report(response: Any, line: str) -> None:
    with pytest.raises(UnansweredError, match=line):
        await ask_about_queue(Answerer(Client(FakeTransport(response)), "S"))


async def test_decisions_are_followed_from_a_sequence_number_on() -> None:
    stream = FakeStream(
        [b":\n\n", b"id: 8\nevent: decision\ndata: {}\n\n", NoAnswerError("lost", sent=True)]
    )
    transport = FakeTransport(stream)
    batches = follow_decisions(Answerer(Client(transport), "S"), 7)
    assert [await anext(batches), await anext(batches)] == [[], [ServerEvent("decision", b"{}")]]
    with pytest.raises(UnansweredError, match="S cannot be asked: lost"):
        await anext(batches)
    (request,) = transport.asked
    assert (request.target, request.accept) == (
        "/explain/v1/decisions?since=7",
        "text/event-stream",
    )
    # A stream sends a comment every 15 s, so one that is silent for longer is broken.
    assert IDLE_SECONDS == 45.0


async def test_decisions_that_may_not_be_read() -> None:
    refused = ours(403, "Forbidden", "forbidden: User x")
    transport = FakeTransport(FakeStream([refused.body], status=403))
    with pytest.raises(UnansweredError) as raised:
        async for _ in follow_decisions(Answerer(Client(transport), "S"), 0):
            raise AssertionError("there is nothing to read")
    assert str(raised.value) == "S: forbidden: User x; get /explain/* is needed"
    assert raised.value.status == 403

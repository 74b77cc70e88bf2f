"""The leading Mooring is found by its Lease."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mooring.api.timestamps import format_micro_time
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.credentials import bearer
from mooring.errors import MooringError, NoAnswerError
from mooring.explain.lease_annotations import ExplainAddress, annotated
from mooring.leader.leader_lookup import (
    CLOCK_TOLERANCE,
    Leader,
    LeaseName,
    NoLeader,
    find_leader,
    leader_client,
    lease_names,
    pinned_client,
    pod_of,
)
from mooring.serve.certificates import fingerprint_of
from tests.client.fakes import FakeTransport, answer, failure, serving
from tests.support.certificates import Authority
from tests.support.fake_kubectl import FakeKubectl

NOW = 1_000_000.0
LEASE = LeaseName("kube-system", "kube-scheduler")
ADDRESS = ExplainAddress("sched-0_uuid", 10259, "0f" * 32)


def lease(holder: str = "sched-0_uuid", age: float = 1.0, annotations: Any = None) -> Any:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "kube-scheduler",
            "namespace": "kube-system",
            "annotations": annotated({}, ADDRESS) if annotations is None else annotations,
        },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "renewTime": format_micro_time(NOW - age),
        },
    }


async def found(*answers: Any) -> Leader | NoLeader:
    names = [LeaseName("kube-system", f"lease-{i}") for i, _ in enumerate(answers)]
    return await find_leader(Client(FakeTransport(*answers)), names, NOW)


async def test_the_holder_is_the_leader() -> None:
    leader = await found(answer(404, failure(404, "NotFound")), answer(200, lease()))
    assert leader == Leader(LeaseName("kube-system", "lease-1"), ADDRESS)
    assert str(leader) == "sched-0_uuid (Lease kube-system/lease-1)"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        pytest.param(
            answer(404, failure(404, "NotFound")),
            "there is no Lease kube-system/lease-0",
            id="no lease",
        ),
        pytest.param(
            answer(403, failure(403, "Forbidden")),
            "the Lease kube-system/lease-0 may not be read",
            id="no right to read it",
        ),
        pytest.param(
            answer(200, lease(holder="")),
            "nobody holds the Lease kube-system/lease-0",
            id="released",
        ),
        pytest.param(
            answer(200, lease(annotations={})),
            "sched-0_uuid, which holds the Lease kube-system/lease-0, answers no questions",
            id="another scheduler",
        ),
        pytest.param(
            answer(200, lease(holder="other_uuid")),
            "other_uuid, which holds the Lease kube-system/lease-0, answers no questions",
            id="another holder, who has left the annotations",
        ),
        pytest.param(
            answer(200, lease(age=15 + CLOCK_TOLERANCE + 1)),
            "sched-0_uuid no longer renews the Lease kube-system/lease-0",
            id="abandoned",
        ),
    ],
)
async def test_nobody_leads_who_answers(response: Any, reason: str) -> None:
    missing = await found(response)
    assert isinstance(missing, NoLeader)
    assert missing.reason == reason
    assert missing.is_forbidden is (response.status == 403)


def test_the_leases_of_a_scheduler_name() -> None:
    assert lease_names("default-scheduler") == lease_names("") == [LEASE]
    assert lease_names("gpu") == [LeaseName("kube-system", "gpu"), LEASE]


@asynccontextmanager
async def scheduler(folder: Path, got: list[str]) -> AsyncIterator[tuple[str, str]]:
    """Serve with a certificate that no authority of the client signed; yield URL and SHA-256."""

    async def handle(request: web.Request) -> web.Response:
        got.append(request.headers.get("Authorization", ""))
        return web.json_response({})

    pair = Authority(folder / "pki").server("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    async with serving(handle, ssl_context=context) as url:
        yield url, fingerprint_of(pair.certificate.read_bytes())


CONNECTION = Connection(
    server="https://api.invalid", credentials=lambda clock: bearer("secret"), context="here"
)


async def test_credentials_go_to_the_pinned_server_alone(tmp_path: Path) -> None:
    got: list[str] = []
    async with scheduler(tmp_path, got) as (url, sha256):
        async with pinned_client(CONNECTION, url, "0" * 64, "test") as client:
            with pytest.raises(NoAnswerError, match="certificate has the SHA-256"):
                await client.request("GET", "/explain/v1/queue")
        assert got == []
        async with pinned_client(CONNECTION, url, sha256, "test") as client:
            assert await client.request("GET", "/explain/v1/queue") == b"{}"
            with pytest.raises(NoAnswerError, match="only reads"):
                await client.request("POST", "/explain/v1/queue")
    assert got == ["Bearer secret"]


async def test_the_leader_is_reached_through_kubectl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl, got = FakeKubectl(tmp_path / "bin", monkeypatch), []
    async with scheduler(tmp_path, got) as (url, sha256):
        kubectl.forward_to(int(url.rpartition(":")[2]))
        leader = Leader(LEASE, ExplainAddress("sched-0_uuid", 10259, sha256))
        api = Client(FakeTransport(answer(200, pod("sched-0"))))
        async with leader_client(CONNECTION, api, leader, "test", kubeconfig="/k") as client:
            assert await client.request("GET", "/explain/v1/queue") == b"{}"
    assert got == ["Bearer secret"]
    assert kubectl.calls == [
        "--kubeconfig=/k --context=here port-forward --namespace=kube-system --address=127.0.0.1 "
        "pod/sched-0 :10259"
    ]


def pod(name: str, host_network: bool = False) -> Any:
    spec = {"hostNetwork": host_network, "containers": []}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


NO_POD = answer(404, failure(404, "NotFound"))


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        pytest.param([answer(200, pod("sched-0"))], "sched-0", id="its own"),
        pytest.param(
            [
                NO_POD,
                answer(
                    200,
                    {
                        "kind": "PodList",
                        "items": [
                            pod("a-scheduler-without-the-network"),
                            pod("etcd-sched-0", True),
                            pod("kube-scheduler-sched-0", True),
                        ],
                    },
                ),
            ],
            "kube-scheduler-sched-0",
            id="a static pod",
        ),
        pytest.param([NO_POD, answer(200, {"items": []})], "sched-0", id="none"),
        pytest.param([NO_POD, answer(403, failure(403, "Forbidden"))], "sched-0", id="no list"),
        pytest.param([answer(403, failure(403, "Forbidden"))], "sched-0", id="no rights"),
    ],
)
async def test_the_pod_through_which_the_leader_is_reached(answers: list[Any], name: str) -> None:
    transport = FakeTransport(*answers)
    assert await pod_of(Client(transport), Leader(LEASE, ADDRESS)) == name
    assert transport.asked[-1].target in (
        "/api/v1/namespaces/kube-system/pods/sched-0",
        "/api/v1/namespaces/kube-system/pods?fieldSelector=spec.nodeName%3Dsched-0",
    )


@pytest.mark.parametrize(
    ("connection", "url", "message"),
    [
        (CONNECTION, "http://127.0.0.1:1", "--scheduler must be an https:// URL, got "),
        (
            Connection(server="https://a", headers=(("Impersonate-User", "jane"),)),
            "https://127.0.0.1:1",
            "the kubeconfig impersonates a user",
        ),
    ],
)
async def test_what_cannot_be_sent_safely(connection: Connection, url: str, message: str) -> None:
    with pytest.raises(MooringError) as raised:
        async with pinned_client(connection, url, "0" * 64, "test"):
            pass
    assert str(raised.value).startswith(message)

"""Rights that are missing: each is logged once, with the rule that grants it."""

from __future__ import annotations

import pytest

from mooring.api import Pod
from mooring.client.client import Client
from mooring.client.missing_rights import MissingRight, MissingRights, right_of
from mooring.client.transport import Response
from mooring.errors import ApiError
from tests.client.fakes import FakeTransport, answer, failure


@pytest.mark.parametrize(
    ("method", "target", "verb", "group", "resource", "namespace"),
    [
        ("GET", "/api/v1/pods", "list", "", "pods", ""),
        ("GET", "/api/v1/pods?limit=500&watch=true", "watch", "", "pods", ""),
        ("GET", "/api/v1/namespaces/a/pods/p", "get", "", "pods", ""),
        ("GET", "/api/v1/namespaces/a", "get", "", "namespaces", ""),
        ("POST", "/api/v1/namespaces/a/pods/p/binding", "create", "", "pods/binding", ""),
        ("PATCH", "/api/v1/namespaces/a/pods/p/status", "patch", "", "pods/status", ""),
        ("DELETE", "/api/v1/namespaces/a/pods/p", "delete", "", "pods", ""),
        ("GET", "/apis/apps/v1/replicasets", "list", "apps", "replicasets", ""),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mine",
            "update",
            "coordination.k8s.io",
            "leases",
            "kube-system",
        ),
    ],
    ids=lambda value: value,
)
def test_a_request_needs_a_right(
    method: str, target: str, verb: str, group: str, resource: str, namespace: str
) -> None:
    assert right_of(method, target) == MissingRight(verb, group, resource, namespace)


@pytest.mark.parametrize("target", ["/version", "/api", "/apis/apps/v1", "/healthz"])
def test_other_paths_need_none(target: str) -> None:
    assert right_of("GET", target) is None


def forbidden(message: str) -> Response:
    return answer(403, failure(403, "Forbidden", message))


LIST = (
    'pods is forbidden: User "me" cannot list resource "pods" in API group "" at the cluster scope'
)


@pytest.mark.parametrize("quiet", [True, False], ids=["mooring run", "in place of kube-scheduler"])
async def test_each_right_is_logged_once_with_its_rule(
    quiet: bool, caplog: pytest.LogCaptureFixture
) -> None:
    rights = MissingRights(quiet=quiet)
    repeated = []
    for _ in range(3):
        client = Client(FakeTransport(forbidden(LIST)), rights=rights)
        with pytest.raises(ApiError) as refused:
            await client.list(Pod)
        repeated.append(refused.value.repeated)
    assert repeated == [False, quiet, quiet]
    [record] = caplog.records
    assert record.message.startswith("A right is missing; ")
    assert record.kv == {
        "verb": "list",
        "resource": "pods",
        "role": "ClusterRole",
        "rule": '{apiGroups: [""], resources: [pods], verbs: [list]}',
    }


async def test_what_admission_refuses_is_no_missing_right(caplog: pytest.LogCaptureFixture) -> None:
    client = Client(
        FakeTransport(forbidden('pods "p" is forbidden: exceeded quota')), rights=MissingRights()
    )
    with pytest.raises(ApiError):
        await client.request("POST", "/api/v1/namespaces/a/pods", b"{}")
    assert caplog.records == []

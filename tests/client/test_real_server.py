"""Writes that only a real kube-apiserver can check."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from mooring.api import ResourceClaim
from mooring.client.client import Client
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.protobuf import PROTOBUF, append, field
from mooring.client.transports import make_transport
from mooring.errors import ApiError
from tests.support.cluster import Cluster

#: With spaces, which the server keeps within the parameters.
CLAIM = b"""{
  "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"},
  "spec": {"devices": {
    "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}],
    "config": [{"opaque": {"driver": "gpu.test", "parameters": {"b": 2, "a": 1}}}]
  }}
}"""


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    made = Client(make_transport(load_kubeconfig(cluster.plane.admin_kubeconfig)))
    yield made
    await made.close()


async def test_a_claim_gets_its_finalizer_whatever_its_parameters_look_like(
    cluster: Cluster, client: Client
) -> None:
    namespace = cluster.namespace
    path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
    await client.request("POST", path, CLAIM)
    before = await client.request("GET", f"{path}/c", accept=PROTOBUF)
    found = await client.get(ResourceClaim, "c", namespace)
    patch = {"metadata": {"finalizers": ["example.com/kept"]}}
    with pytest.raises(ApiError, match="immutable"):
        await client.patch(ResourceClaim, "c", namespace, patch)

    written = await client.add_finalizer(found, "example.com/kept")
    assert written.metadata.finalizers == ("example.com/kept",)
    assert written.spec == found.spec
    with pytest.raises(ApiError) as stale:
        await client.add_finalizer(found, "example.com/again")
    assert stale.value.is_conflict
    # The finalizer cannot be removed by a patch either.
    version = field(6, written.metadata.resource_version.encode())
    await client.request("PUT", f"{path}/c", append(before, field(1, version)), PROTOBUF)

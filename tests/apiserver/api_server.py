"""An API server without a socket, for the tests of the local cluster."""

from __future__ import annotations

import datetime
import json
import random
from typing import Any
from urllib.parse import parse_qs

from mooring.apiserver import bootstrap
from mooring.apiserver.api import Api
from mooring.apiserver.auth.authorization import CLUSTER_BINDINGS, CLUSTER_ROLES
from mooring.apiserver.auth.certificate_authority import new_key
from mooring.apiserver.auth.tokens import TokenSigner
from mooring.apiserver.http import ApiRequest, ApiResponse, RequestUser
from mooring.apiserver.resource_store import ResourceStore
from mooring.apiserver.resource_table import Catalogue, Served
from mooring.apiserver.server_state import ServerState
from mooring.controlplane.type_table import types

GROUP_VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
#: The feature gates of pod groups.
GROUP_GATES = frozenset(
    {
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "PodGroupPreemptionPolicy",
        "CompositePodGroup",
    }
)
ADMIN = RequestUser("admin", ("system:masters",))


class ApiServer:
    """An API server without a socket; requests are the administrator's unless a user is given."""

    def __init__(
        self, store: ResourceStore | None = None, features: frozenset[str] = frozenset()
    ) -> None:
        self.store = ResourceStore() if store is None else store
        self.now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        enabled = GROUP_VERSIONS if features else ()
        self.cluster = ServerState(
            self.store,
            Catalogue(types(), enabled, features),
            lambda: self.now,
            random.Random(1),
            features,
        )
        self.api = Api(self.cluster, TokenSigner(new_key()))
        bootstrap.fill(self.cluster)
        account = {"metadata": {"name": "default", "namespace": "default"}}
        bootstrap.ensure(self.cluster, "", "v1", "serviceaccounts", account)

    def served(self, path: str) -> Served:
        """Return a resource by its group, version and name: `/v1/pods`, `apps/v1/deployments`."""
        group, version, name = path.split("/")
        found = self.cluster.catalogue.get(group, version, name)
        assert found is not None
        return found

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: RequestUser | None = ADMIN,
        content_type: str = "application/json",
        **headers: str,
    ) -> ApiResponse:
        """Return the response to a request."""
        path, _, query = path.partition("?")
        data = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = ApiRequest(
            method,
            path,
            parse_qs(query, keep_blank_values=True),
            {"content-type": content_type, "user-agent": "test/1", **named},
            data,
            certificate=user,
        )
        return await self.api.handle(request)

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Return the object in the response to a request."""
        response = await self.send(method, path, body, **more)
        return json.loads(response.body)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """Return a pod manifest."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "img"}], **spec},
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    """Return a config map manifest."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


async def make(server: ApiServer, path: str, kind: str, version: str, **parts: Any) -> None:
    """Create an object."""
    made = {"apiVersion": version, "kind": kind, **parts}
    response = await server.send("POST", path, made)
    assert response.code == 201, response.body


async def refusal(server: ApiServer, made: dict[str, Any]) -> str:
    """Return the message with which a pod is refused (403)."""
    response = await server.send("POST", PODS, made)
    assert response.code == 403
    return str(json.loads(response.body)["message"])


RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def grant(server: ApiServer, user: str, verbs: list[str], resources: list[str]) -> None:
    """Give a user, and the service account of that name, rights in the namespace default."""
    where = f"{RBAC}/namespaces/default"
    rules = [{"apiGroups": [""], "resources": resources, "verbs": verbs}]
    version = "rbac.authorization.k8s.io/v1"
    role = {"apiVersion": version, "kind": "Role", "metadata": {"name": user}, "rules": rules}
    assert (await server.send("POST", f"{where}/roles", role)).code == 201
    binding = {
        "apiVersion": version,
        "kind": "RoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [
            {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": user, "namespace": "default"},
        ],
    }
    assert (await server.send("POST", f"{where}/rolebindings", binding)).code == 201


def grant_cluster(server: ApiServer, user: str, *rules: dict[str, Any]) -> None:
    """Give a user rights in the whole cluster, without a request."""
    role = {"metadata": {"name": user}, "rules": list(rules)}
    server.store.put(CLUSTER_ROLES, user, role)
    binding = {
        "metadata": {"name": user},
        "roleRef": {"kind": "ClusterRole", "name": user},
        "subjects": [{"kind": "User", "name": user}],
    }
    server.store.put(CLUSTER_BINDINGS, user, binding)

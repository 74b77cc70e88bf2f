"""An administrator's client that shares no code with the one under test."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, Self

import msgspec
import requests

from tests.support.kubeconfigs import Access
from tests.support.waiting import PATIENCE

Object = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class ApiFailure(Exception):
    """The API server refused a request."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:600]}")
        self.status = status


class Resource(msgspec.Struct, frozen=True):
    """A kind of object, and its path."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """Return the path of one object, of all objects in a namespace, or of all."""
        parts = ["apis" if "/" in self.api_version else "api", self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, self.plural, *([name] if name else [])])


class Api:
    """A client of an API server for objects as JSON; kinds are named as in manifests."""

    def __init__(self, access: Access) -> None:
        self._server = access.server
        self._resources: dict[tuple[str, str], Resource] = {}
        self._session = requests.Session()
        self._session.trust_env = False
        if access.certificate_authority:
            self._session.verify = str(access.certificate_authority)
        if access.client_certificate:
            certificate, key = access.client_certificate
            self._session.cert = (str(certificate), str(key))
        if access.token:
            self._session.headers["Authorization"] = f"Bearer {access.token}"
        if access.impersonate:
            self._session.headers["Impersonate-User"] = access.impersonate

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def request(self, verb: str, path: str, body: Object | None = None, **more: Any) -> Object:
        """Send a request, and return the response or raise ApiFailure."""
        content_type = more.pop("content_type", "application/json")
        accept = more.pop("accept", "application/json")
        response = self._session.request(
            verb,
            f"{self._server}/{path}",
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": content_type, "Accept": accept},
            timeout=30,
            **more,
        )
        if not response.ok:
            raise ApiFailure(response.status_code, response.text)
        answer: Object = response.json()
        return answer

    def is_ready(self) -> bool:
        """Return whether the API server reports that it is ready."""
        try:
            return self._session.get(f"{self._server}/readyz", timeout=3).ok
        except requests.RequestException:
            return False

    def resources(self) -> list[Resource]:
        """Return the resources that the server serves now, preferred versions first."""
        groups = [
            group
            for path in ("api", "apis")
            for group in self.request("GET", path, accept=DISCOVERY)["items"]
        ]
        return [
            Resource(
                "/".join(filter(None, [group["metadata"].get("name"), version["version"]])),
                resource["responseKind"]["kind"],
                resource["resource"],
                resource["scope"] == "Namespaced",
                frozenset(resource["verbs"]),
            )
            for group in groups
            for version in group["versions"]
            for resource in version.get("resources", [])
        ]

    def resource(self, kind: str, api_version: str = "") -> Resource:
        """Return a kind's resource, by default of the first group that has it, v1 first."""
        if (api_version, kind) not in self._resources:
            found = self.resources()
            for resource in reversed(found):
                self._resources[resource.api_version, resource.kind] = resource
                self._resources["", resource.kind] = resource
        if (api_version, kind) not in self._resources:
            raise LookupError(f"the API server does not serve {api_version} {kind}")
        return self._resources[api_version, kind]

    def create(self, manifest: Object, namespace: str | None = None) -> Object:
        """Create an object from a manifest with apiVersion and kind."""
        resource = self.resource(manifest["kind"], manifest["apiVersion"])
        return self.request("POST", resource.path(namespace), manifest)

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object:
        """Return one object."""
        return self.request("GET", self.resource(kind).path(namespace, name))

    def find(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return one object, or None if there is none of that name."""
        try:
            return self.get(kind, name, namespace)
        except ApiFailure as failure:
            if failure.status != 404:
                raise
            return None

    def list(self, kind: str, namespace: str | None = None, **parameters: str) -> list[Object]:
        """Return all objects of a kind, or only those of a namespace."""
        path = self.resource(kind).path(namespace)
        items: list[Object] = self.request("GET", path, params=parameters)["items"]
        return items

    def patch(
        self,
        kind: str,
        name: str,
        patch: Object,
        namespace: str | None = None,
        *,
        subresource: str = "",
        content_type: str = MERGE_PATCH,
    ) -> Object:
        """Patch an object or one of its subresources."""
        path = self.resource(kind).path(namespace, name)
        path = f"{path}/{subresource}" if subresource else path
        return self.request("PATCH", path, patch, content_type=content_type)

    def delete(self, kind: str, name: str, namespace: str | None = None, **options: Any) -> None:
        """Delete an object that may be gone already; options are those of DeleteOptions."""
        path = self.resource(kind).path(namespace, name)
        try:
            self.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", **options})
        except ApiFailure as failure:
            if failure.status != 404:
                raise

    def delete_all(self, resource: Resource, namespace: str | None = None, **query: str) -> None:
        """Delete all objects of a kind without a grace period, and remove their finalizers."""
        path = resource.path(namespace)
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        for item in self.request("DELETE", path, options, params=query).get("items") or ():
            if item["metadata"].get("finalizers"):
                name = item["metadata"]["name"]
                path = resource.path(item["metadata"].get("namespace"), name)
                body = {"metadata": {"finalizers": None}}
                try:
                    self.request("PATCH", path, body, content_type=MERGE_PATCH)
                except ApiFailure as failure:
                    # The finalizer's owner may have removed it first, and the object is gone.
                    if failure.status != 404:
                        raise

    def wait_for(
        self,
        kind: str,
        name: str,
        holds: Callable[[Object], bool],
        namespace: str | None = None,
        *,
        seconds: float = PATIENCE,
    ) -> Object:
        """Watch an object until a condition holds; on timeout, fail with its last state."""
        deadline = time.monotonic() + seconds
        path = self.resource(kind).path(namespace)
        parameters = {"fieldSelector": f"metadata.name={name}"}
        seen: Object = {}
        while (left := deadline - time.monotonic()) > 0:
            found = self.request("GET", path, params=parameters)
            watch = {**parameters, "resourceVersion": found["metadata"]["resourceVersion"]}
            for seen in itertools.chain(found["items"], self._changes(path, watch, left)):
                if holds(seen):
                    return seen
        raise AssertionError(f"{kind} {name} did not get there within {seconds} s: {seen}")

    def _changes(self, path: str, parameters: dict[str, str], seconds: float) -> Iterator[Object]:
        query = {**parameters, "watch": "true", "timeoutSeconds": str(max(1, round(seconds)))}
        url = f"{self._server}/{path}"
        try:
            with self._session.get(url, params=query, stream=True, timeout=seconds + 5) as response:
                for line in response.iter_lines(chunk_size=None):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    yield event["object"]
        except requests.RequestException:
            return

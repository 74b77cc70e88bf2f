"""A client of a real API server, for comparisons that do not change it."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import requests
import urllib3

from tests.support.control_plane import ControlPlane, GivenCluster

Object = dict[str, Any]

# Values printed in Go's syntax, which are not compared.
GO_VALUE = re.compile(r"(Invalid|Duplicate) value: [{\[].*?[}\]](?=: |$)", re.DOTALL)


class Answer(msgspec.Struct):
    """A response of the server."""

    code: int
    body: Any

    @property
    def problems(self) -> set[tuple[str, str, str]]:
        """The refused fields: reason, path, message."""
        causes = (self.body.get("details") or {}).get("causes") or ()
        return {problem(one["reason"], one["field"], one["message"]) for one in causes}


def problem(reason: str, field: str, message: str) -> tuple[str, str, str]:
    """Return a problem with the first line of its message, without values in Go's syntax."""
    return (reason, field, GO_VALUE.sub(r"\1 value: <value>", message.split("\n")[0]))


class RealServer:
    """An administrator's session with a real API server."""

    def __init__(self, plane: ControlPlane | GivenCluster) -> None:
        access = plane.access
        self._url = access.server
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = str(access.certificate_authority)
        if access.client_certificate:
            self._session.cert = tuple(map(str, access.client_certificate))
        if access.token:
            self._session.headers["Authorization"] = f"Bearer {access.token}"
        self._session.headers["User-Agent"] = "mooring-test/1"
        self._resources: dict[str, Any] = {}

    def close(self) -> None:
        """End the session."""
        self._session.close()
        urllib3.connection_from_url(self._url).close()

    def ask(self, verb: str, path: str, body: Any = None, **more: Any) -> Answer:
        """Return the response to a request."""
        content_type = more.pop("content_type", "application/json")
        accept = more.pop("accept", "application/json")
        response = self._session.request(
            verb,
            f"{self._url}{path}",
            data=body if isinstance(body, bytes | str) or body is None else json.dumps(body),
            params=more,
            headers={"Content-Type": content_type, "Accept": accept},
            timeout=30,
        )
        raw = not accept.startswith("application/json")
        return Answer(response.status_code, response.content if raw else response.json())

    def place(self, manifest: Object, namespace: str = "default") -> tuple[str, bool]:
        """Return the path of a manifest's resource, and whether it is namespaced."""
        version = manifest["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._resources:
            self._resources[version] = self.ask("GET", root).body["resources"]
        for one in self._resources[version]:
            if one["kind"] == manifest["kind"] and "/" not in one["name"]:
                inside = f"/namespaces/{namespace}" if one["namespaced"] else ""
                return f"{root}{inside}/{one['name']}", one["namespaced"]
        raise LookupError(f"{version} {manifest['kind']}")

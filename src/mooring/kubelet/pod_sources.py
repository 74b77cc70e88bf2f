"""The sources of a pod's volumes and variables: ConfigMaps, Secrets and tokens."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from mooring.api import parse_time
from mooring.client.client import Client
from mooring.client.resources import Resource, raw_resource
from mooring.errors import ApiError
from mooring.observe.clock import Clock

Object = dict[str, Any]

_CONFIG_MAPS = raw_resource("configmaps.v1")
_SECRETS = raw_resource("secrets.v1")
_ACCOUNTS = raw_resource("serviceaccounts.v1")
# kubelet: pkg/kubelet/token/token_manager.go: renewed after 80 % of its lifetime, or a day
_SHARE = 0.8
_DAY = 24 * 3600.0


class SourceError(Exception):
    """A missing source of a pod, reported in the kubelet's words."""


class PodSources:
    """A reader of one pod's sources; it caches tokens until they are due for renewal."""

    def __init__(self, client: Client, clock: Clock, pod: Object) -> None:
        self._client = client
        self._clock = clock
        self._pod = pod
        self._namespace: str = pod["metadata"]["namespace"]
        self._tokens: dict[tuple[str, int], tuple[float, str]] = {}

    async def config_map(self, name: str, optional: bool) -> dict[str, bytes]:
        """Return the data of a ConfigMap; empty if it is missing and optional."""
        found = await self._get(_CONFIG_MAPS, "configmap", name, optional)
        data = {key: text.encode() for key, text in (found.get("data") or {}).items()}
        return data | _decoded(found.get("binaryData"))

    async def secret(self, name: str, optional: bool) -> dict[str, bytes]:
        """Return the data of a Secret; empty if it is missing and optional."""
        return _decoded((await self._get(_SECRETS, "secret", name, optional)).get("data"))

    async def token(self, audience: str, seconds: int) -> str:
        """Return a token of the pod's service account, renewed before it expires."""
        key = (audience, seconds)
        now = self._clock.now()
        due, token = self._tokens.get(key, (0.0, ""))
        if now < due:
            return token
        metadata = self._pod["metadata"]
        # A pod that a file brought as another server had it may name no account.
        account = self._pod["spec"].get("serviceAccountName") or "default"
        pod = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        spec: Object = {"expirationSeconds": seconds, "boundObjectRef": pod}
        if audience:
            spec["audiences"] = [audience]
        body = msgspec.json.encode(
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        )
        path = _ACCOUNTS.path(self._namespace, account, "token")
        try:
            answer = msgspec.json.decode(await self._client.request("POST", path, body))
        except ApiError as error:
            if token:
                # The old token is still valid for a fifth of its lifetime.
                return token
            raise SourceError(f"failed to fetch token: {error}") from None
        lasts = parse_time(answer["status"]["expirationTimestamp"])
        lasts -= self._clock.wall_time()
        token = str(answer["status"]["token"])
        self._tokens[key] = (now + min(lasts * _SHARE, _DAY), token)
        return token

    async def _get(self, resource: Resource, kind: str, name: str, optional: bool) -> Object:
        path = resource.path(self._namespace, name)
        try:
            found: Object = msgspec.json.decode(await self._client.request("GET", path))
        except ApiError as error:
            if error.is_not_found and optional:
                return {}
            text = f'{kind} "{name}" not found' if error.is_not_found else str(error)
            raise SourceError(text) from None
        return found


def _decoded(data: dict[str, str] | None) -> dict[str, bytes]:
    return {key: base64.b64decode(text) for key, text in (data or {}).items()}

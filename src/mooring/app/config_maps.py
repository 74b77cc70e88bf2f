"""Reading a ConfigMap before there is a configuration: it may contain a Policy."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from mooring.app.options import Options
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.kubeconfig import connection_from_flags
from mooring.client.transports import make_transport
from mooring.config.load import ReadConfigMap
from mooring.config.positions import parse
from mooring.errors import ApiError
from mooring.observe.files import locate

_SECONDS = 30.0


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


def config_map_reader(options: Options, *, drop_in: bool = False) -> ReadConfigMap:
    """Return a function that reads ConfigMaps over the connection of the command line."""

    def read(namespace: str, name: str) -> Mapping[str, Any]:
        connection = connection_from_flags(_kubeconfig(options), options.master, drop_in=drop_in)
        return asyncio.run(_read(connection, namespace, name))

    return read


def _kubeconfig(options: Options) -> str:
    """Return the kubeconfig: with --config the file's, whatever its version."""
    if not options.config:
        return str(options.flags["kubeconfig"])
    data = parse(locate(options.config).read_text(encoding="utf-8-sig")).data
    section = data.get("clientConnection") if isinstance(data, dict) else None
    found = section.get("kubeconfig") if isinstance(section, dict) else None
    return found if isinstance(found, str) else ""


async def _read(connection: Connection, namespace: str, name: str) -> Mapping[str, Any]:
    client = Client(make_transport(connection, user_agent="kube-scheduler"))
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps/{quote(name, safe='')}"
    try:
        body = await client.request("GET", path, timeout=_SECONDS)
        return msgspec.json.decode(body, type=_ConfigMap).data
    except msgspec.MsgspecError as error:
        raise ApiError(500, f"the server's answer cannot be read: {error}") from None
    finally:
        await client.close()

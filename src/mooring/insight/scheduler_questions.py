"""Questions to the scheduler that leads: through the API server of a local cluster, or its port."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import msgspec

from mooring.client.client import Client
from mooring.client.connection import Connection, server_url
from mooring.client.tls_settings import TlsSettings
from mooring.errors import ApiError, MooringError, NoAnswerError
from mooring.insight.leader import (
    LeaseName,
    NoLeader,
    find_leader,
    leader_client,
    lease_names,
    pinned_client,
)
from mooring.serve.explain_paths import GROUP, NO_RECORDS, ROOT

#: How often a question is asked again if the scheduler answers too many already.
RETRIES = 3
#: The largest explanation that is read, in bytes: one of 5,000 nodes has about a million.
MOST_BYTES = 2**28

_WITHOUT = "--now asks without the scheduler"


class SchedulerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says about the scheduler to ask."""

    #: The URL of its port; empty to find it by its Lease.
    url: str = ""
    #: The SHA-256 of its certificate; empty to read it from its Lease.
    certificate_sha256: str = ""
    #: Its Lease; None for those of the pod's schedulerName.
    lease: LeaseName | None = None
    #: The kubeconfig that kubectl is called with; empty for that of the environment.
    kubeconfig: str = ""


class Answerer(msgspec.Struct, frozen=True):
    """A client of a scheduler that answers questions, and who that is."""

    client: Client
    who: str


class NotKnown(msgspec.Struct, frozen=True):
    """The reason why the scheduler cannot explain a pod: it does not know it, or the attempt."""

    reason: str


@contextlib.asynccontextmanager
async def opened_scheduler(
    connection: Connection,
    client: Client,
    address: SchedulerAddress,
    *,
    scheduler_name: str,
    now: float,
    user_agent: str,
) -> AsyncIterator[Answerer | NoLeader]:
    """Open the way to the scheduler that leads; yield why not if no Mooring leads.

    `client` is that of the API server of `connection`. Raise MooringError if a Mooring leads and
    cannot be asked.
    """
    if not address.url and await _is_local(client):
        yield Answerer(client, f"the scheduler of the local cluster {client.server}")
        return
    names = lease_names(scheduler_name) if address.lease is None else [address.lease]
    if address.url:
        server = server_url(address.url, TlsSettings(insecure=True))
        pin, who = address.certificate_sha256, server
        if not pin:
            found = await find_leader(client, names, now)
            if isinstance(found, NoLeader):
                raise MooringError(
                    f"the certificate of {server} cannot be verified: {found.reason}; name its "
                    "SHA-256 with --certificate-sha256"
                )
            pin, who = found.address.certificate_sha256, str(found)
        async with pinned_client(connection, server, pin, user_agent) as opened:
            yield Answerer(opened, f"the scheduler {who}")
        return
    found = await find_leader(client, names, now)
    if isinstance(found, NoLeader):
        yield found
        return
    async with leader_client(
        connection, client, found, user_agent, kubeconfig=address.kubeconfig
    ) as opened:
        yield Answerer(opened, f"the leader {found}")


async def _is_local(client: Client) -> bool:
    """Return whether an API server is one of Mooring, which answers about its scheduler."""
    try:
        await client.request("GET", f"{ROOT}/v1", retries=0)
    except NoAnswerError:
        raise
    except ApiError as error:
        return error.details.get("group") == GROUP
    return False


async def ask_about_pod(
    scheduler: Answerer, namespace: str, name: str, attempt: int | None
) -> dict[str, Any] | NotKnown | NoLeader:
    """Return the explanation of a pod, or why the scheduler has none.

    Raise MooringError with one line if it does not answer.
    """
    target = f"{ROOT}/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"
    if attempt is not None:
        target += f"?attempt={attempt}"
    try:
        body = await scheduler.client.request("GET", target, retries=RETRIES, max_bytes=MOST_BYTES)
    except ApiError as error:
        if error.is_not_found and _kind(error) == NO_RECORDS:
            return NoLeader(error.message)
        if error.is_not_found and _kind(error) == "pods":
            return NotKnown(error.message)
        raise MooringError(_line(scheduler.who, error)) from None
    found: dict[str, Any] = msgspec.json.decode(body)
    return found


def _kind(error: ApiError) -> str:
    return str(error.details.get("kind", "")) if error.details.get("group") == GROUP else ""


def _line(who: str, error: ApiError) -> str:
    """Return what went wrong, and what to do."""
    if isinstance(error, NoAnswerError):
        return f"{who} cannot be asked: {error.message}; {_WITHOUT}"
    if error.is_unauthorized:
        return f"{who} does not accept the credentials of the kubeconfig; {_WITHOUT}"
    if error.details.get("group") != GROUP:
        return f"{who} answers {error.status} to a question about a pod: is it a Mooring?"
    if error.is_forbidden:
        return f"{who}: {error.message}; get pods or get {ROOT}/* is needed; {_WITHOUT}"
    return f"{who}: {error.message}"

"""Questions to the scheduler that leads: through the API server of a local cluster, or its port."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from mooring.client.client import Client
from mooring.client.connection import Connection, server_url
from mooring.client.tls_settings import TlsSettings
from mooring.errors import ApiError, MooringError, NoAnswerError
from mooring.explain.explainer import LONGEST_PAGE, QueuePage
from mooring.explain.scheduler_rules import SchedulerRules
from mooring.leader.leader_lookup import (
    Leader,
    LeaseName,
    NoLeader,
    find_leader,
    leader_client,
    lease_names,
    pinned_client,
)
from mooring.leader.server_events import ServerEvent, read_events
from mooring.serve.decision_stream import CONTENT_TYPE, QUIET_SECONDS
from mooring.serve.explain_paths import GROUP, NO_RECORDS, ROOT

#: How often a question is asked again if the scheduler answers too many already.
RETRIES = 3
#: The largest explanation that is read, in bytes: one of 5,000 nodes has about a million.
MOST_BYTES = 2**28
#: Seconds without data after which a stream of decisions counts as broken; a quiet stream sends
#: comments.
IDLE_SECONDS = 3 * QUIET_SECONDS


class SchedulerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says about the scheduler to ask."""

    #: The URL of its port; empty to find it by its Lease.
    url: str = ""
    #: The SHA-256 of its certificate; empty to read it from its Lease.
    certificate_sha256: str = ""
    #: Its Lease; None for the usual Leases of the profiles' schedulers.
    lease: LeaseName | None = None
    #: The kubeconfig that kubectl is called with; empty for that of the environment.
    kubeconfig: str = ""


class Answerer(msgspec.Struct, frozen=True):
    """A client of a scheduler that answers questions, and who that is."""

    client: Client
    who: str
    #: The holder of the Lease by which it was found; None if no Lease was read.
    leader: Leader | None = None


class UnansweredError(MooringError):
    """The scheduler did not answer a question; the message is one line.

    `status` is the status of the response, 0 if there was none. `retry_after` is in seconds.
    """

    def __init__(self, message: str, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class NotKnown(msgspec.Struct, frozen=True):
    """The reason why the scheduler cannot explain a pod: it does not know it, or the attempt."""

    reason: str


@contextlib.asynccontextmanager
async def opened_scheduler(
    connection: Connection,
    client: Client,
    address: SchedulerAddress,
    *,
    scheduler_names: Sequence[str],
    now: float,
    user_agent: str,
) -> AsyncIterator[Answerer | NoLeader]:
    """Open the way to the scheduler that leads; yield why not if no Mooring leads.

    `client` is a client of the API server of `connection`. `scheduler_names` are the profiles whose
    scheduler is looked for, the likeliest first. Raise MooringError if a Mooring leads but cannot
    be asked.
    """
    if not address.url and await _is_local(client):
        yield Answerer(client, f"the scheduler of the local cluster {client.server}")
        return
    names = leases_of(address, scheduler_names)
    if address.url:
        server = server_url(address.url, TlsSettings(insecure=True))
        pin, who = address.certificate_sha256, server
        leader: Leader | None = None
        if not pin:
            found = await find_leader(client, names, now)
            if isinstance(found, NoLeader):
                raise MooringError(
                    f"the certificate of {server} cannot be verified: {found.reason}; name its "
                    "SHA-256 with --certificate-sha256"
                )
            leader = found
            pin, who = found.address.certificate_sha256, str(found)
        async with pinned_client(connection, server, pin, user_agent) as opened:
            yield Answerer(opened, f"the scheduler {who}", leader)
        return
    found = await find_leader(client, names, now)
    if isinstance(found, NoLeader):
        yield found
        return
    async with leader_client(
        connection, client, found, user_agent, kubeconfig=address.kubeconfig
    ) as opened:
        yield Answerer(opened, f"the leader {found}", found)


def leases_of(address: SchedulerAddress, scheduler_names: Sequence[str]) -> list[LeaseName]:
    """Return the Leases that the scheduler of these profiles may hold, the likeliest first."""
    if address.lease is not None:
        return [address.lease]
    return list(dict.fromkeys(lease for name in scheduler_names for lease in lease_names(name)))


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
    scheduler: Answerer,
    namespace: str,
    name: str,
    attempt: int | None,
    *,
    retries: int = RETRIES,
    advice: str = "",
) -> dict[str, Any] | NotKnown | NoLeader:
    """Return the explanation of a pod, or why the scheduler has none.

    Raise UnansweredError if it does not answer; `advice` becomes part of the error's message.
    """
    target = f"{ROOT}/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"
    if attempt is not None:
        target += f"?attempt={attempt}"
    try:
        body = await scheduler.client.request("GET", target, retries=retries, max_bytes=MOST_BYTES)
    except ApiError as error:
        if error.is_not_found and _kind(error) == NO_RECORDS:
            return NoLeader(error.message)
        if error.is_not_found and _kind(error) == "pods":
            return NotKnown(error.message)
        raise _unanswered(scheduler.who, error, "a pod", "get pods or ", advice) from None
    found: dict[str, Any] = msgspec.json.decode(body)
    return found


async def ask_about_queue(scheduler: Answerer) -> QueuePage:
    """Return at most `LONGEST_PAGE` of the waiting pods, with their places in the queue.

    Raise UnansweredError if the scheduler does not answer.
    """
    target = f"{ROOT}/v1/queue?limit={LONGEST_PAGE}"
    try:
        body = await scheduler.client.request("GET", target, retries=0, max_bytes=MOST_BYTES)
        return msgspec.json.decode(body, type=QueuePage)
    except ApiError as error:
        raise _unanswered(scheduler.who, error, "its queue") from None
    except msgspec.MsgspecError as error:
        raise UnansweredError(f"{scheduler.who}: the queue cannot be read: {error}") from None


async def ask_about_rules(scheduler: Answerer) -> SchedulerRules:
    """Return the rules by which the scheduler decides.

    Raise UnansweredError if it does not answer, or an older version that has no such answer.
    """
    try:
        body = await scheduler.client.request("GET", f"{ROOT}/v1/rules", retries=0)
        return msgspec.json.decode(body, type=SchedulerRules)
    except ApiError as error:
        raise _unanswered(scheduler.who, error, "its rules") from None
    except msgspec.MsgspecError as error:
        raise UnansweredError(f"{scheduler.who}: the rules cannot be read: {error}") from None


async def follow_decisions(scheduler: Answerer, since: int) -> AsyncIterator[list[ServerEvent]]:
    """Yield the events about decisions after a sequence number as they arrive, in batches.

    The first batch, which may be empty like any other, shows that the scheduler accepts the
    request. Raise UnansweredError if the scheduler does not answer or the connection breaks.
    """
    target = f"{ROOT}/v1/decisions?since={since}"
    try:
        async with scheduler.client.stream(
            target, accept=CONTENT_TYPE, idle_timeout=IDLE_SECONDS
        ) as stream:
            async for batch in read_events(stream.chunks()):
                yield batch
    except ApiError as error:
        raise _unanswered(scheduler.who, error, "its decisions") from None


def _kind(error: ApiError) -> str:
    return str(error.details.get("kind", "")) if error.details.get("group") == GROUP else ""


def _unanswered(
    who: str, error: ApiError, what: str, right: str = "", advice: str = ""
) -> UnansweredError:
    """Return an error that says what went wrong and what to do.

    `what` names the subject of the question, `right` a further right that would be enough.
    """
    more = f"; {advice}" if advice else ""
    if isinstance(error, NoAnswerError):
        line = f"{who} cannot be asked: {error.message}{more}"
    elif error.is_unauthorized:
        line = f"{who} does not accept the credentials of the kubeconfig{more}"
    elif error.details.get("group") != GROUP:
        line = f"{who} answers {error.status} to a question about {what}: is it a Mooring?"
    elif error.is_forbidden:
        line = f"{who}: {error.message}; {right}get {ROOT}/* is needed{more}"
    else:
        line = f"{who}: {error.message}"
    return UnansweredError(line, error.status, error.retry_after)

"""Looks for the leading Mooring by its Lease, and verifies it by its certificate."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable

import msgspec

from mooring.api import Pod
from mooring.api.events import Lease
from mooring.api.lease_numbers import lease_seconds
from mooring.api.names import subdomain_problems
from mooring.api.timestamps import parse_time
from mooring.client.client import Client
from mooring.client.connection import Connection, is_secure
from mooring.client.resources import ListOptions
from mooring.client.tls_settings import TlsSettings
from mooring.config.defaults import RESOURCE_NAME, RESOURCE_NAMESPACE, SCHEDULER_NAME
from mooring.errors import ApiError, MooringError, ObjectError
from mooring.explain.lease_annotations import ExplainAddress, read_address
from mooring.leader.port_forward import forwarded_port
from mooring.scheduler.following import reading_client

#: A Lease counts as abandoned this many seconds after it has expired, because clocks may differ.
CLOCK_TOLERANCE = 60.0

_IMPERSONATED = (
    "the kubeconfig impersonates a user, which a scheduler's port does not know; `mooring explain "
    "--now` asks without the scheduler"
)


class LeaseName(msgspec.Struct, frozen=True):
    """The name of a Lease."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Leader(msgspec.Struct, frozen=True):
    """A Mooring that holds a Lease."""

    lease: LeaseName
    address: ExplainAddress

    def __str__(self) -> str:
        return f"{self.address.holder} (Lease {self.lease})"


class NoLeader(msgspec.Struct, frozen=True):
    """The reason why no leading Mooring was found, as part of a sentence."""

    reason: str
    #: Whether a right to read a Lease is missing.
    is_forbidden: bool = False


def lease_names(scheduler_name: str) -> list[LeaseName]:
    """Return the Leases that the scheduler of a profile may hold, the likeliest first.

    `mooring manifests --name NAME` gives this name to the profile and to the Lease. In place of
    kube-scheduler, a Mooring holds the Lease of kube-scheduler whatever its profiles.
    """
    default = LeaseName(RESOURCE_NAMESPACE, RESOURCE_NAME)
    if scheduler_name in ("", SCHEDULER_NAME):
        return [default]
    return [LeaseName(RESOURCE_NAMESPACE, scheduler_name), default]


async def find_leader(client: Client, names: Iterable[LeaseName], now: float) -> Leader | NoLeader:
    """Return the Mooring that holds the first of these Leases that one holds, or why none does."""
    missing: list[NoLeader] = []
    for name in names:
        found = await _look(client, name, now)
        if isinstance(found, Leader):
            return found
        missing.append(found)
    reason = "; ".join(one.reason for one in missing)
    return NoLeader(reason, any(one.is_forbidden for one in missing))


async def _look(client: Client, name: LeaseName, now: float) -> Leader | NoLeader:
    try:
        lease = await client.get(Lease, name.name, name.namespace)
    except ApiError as error:
        if error.is_not_found:
            return NoLeader(f"there is no Lease {name}")
        if error.is_forbidden:
            return NoLeader(f"the Lease {name} may not be read", is_forbidden=True)
        raise
    holder = lease.spec.holder_identity
    if not holder:
        return NoLeader(f"nobody holds the Lease {name}")
    address = read_address(lease)
    if address is None:
        return NoLeader(f"{holder}, which holds the Lease {name}, answers no questions")
    if _is_abandoned(lease, now):
        return NoLeader(f"{holder} no longer renews the Lease {name}")
    return Leader(name, address)


def _is_abandoned(lease: Lease, now: float) -> bool:
    spec = lease.spec
    try:
        renewed = parse_time(spec.renew_time or "")
    except ObjectError:
        return True
    return renewed + lease_seconds(spec) + CLOCK_TOLERANCE < now


@contextlib.asynccontextmanager
async def pinned_client(
    connection: Connection, server: str, certificate_sha256: str, user_agent: str
) -> AsyncIterator[Client]:
    """Open a client of a scheduler's port with the credentials of a kubeconfig.

    Nothing is sent unless the server shows the certificate with this SHA-256.
    """
    if connection.headers:
        raise MooringError(_IMPERSONATED)
    if not is_secure(server):
        raise MooringError(f"--scheduler must be an https:// URL, got {server!r}")
    pinned = Connection(
        server=server,
        tls=TlsSettings(key_pair=connection.tls.key_pair, pin=certificate_sha256),
        credentials=connection.credentials,
    )
    async with reading_client(pinned, user_agent) as client:
        yield client


@contextlib.asynccontextmanager
async def leader_client(
    connection: Connection,
    client: Client,
    leader: Leader,
    user_agent: str,
    *,
    kubeconfig: str = "",
) -> AsyncIterator[Client]:
    """Open a client of the leader's port, through `kubectl port-forward`.

    `client` is that of the API server of `connection`.
    """
    address = leader.address
    async with (
        forwarded_port(
            leader.lease.namespace,
            await pod_of(client, leader),
            address.port,
            kubeconfig=kubeconfig,
            context=connection.context,
        ) as port,
        pinned_client(
            connection, f"https://127.0.0.1:{port}", address.certificate_sha256, user_agent
        ) as opened,
    ):
        yield opened


async def pod_of(client: Client, leader: Leader) -> str:
    """Return the name of a pod through which the leader's port is reached.

    It is the leader's own pod. If the leader uses its node's network, as a static pod does, any pod
    that uses this network will do, because the certificate proves who answers.
    """
    host, namespace = leader.address.host, leader.lease.namespace
    if subdomain_problems(host):
        # Not a host of this cluster: anyone who may write the Lease can claim any holder.
        raise MooringError(f"the holder of the Lease {leader.lease} has no name of a pod: {host!r}")
    try:
        await client.get(Pod, host, namespace)
    except ApiError as error:
        if not error.is_not_found:
            # kubectl will report whether it may forward the port.
            return host
        options = ListOptions(field_selector=f"spec.nodeName={host}")
        with contextlib.suppress(ApiError):
            found = (await client.list(Pod, namespace, options)).items
            names = [pod.metadata.name for pod in found if pod.spec.host_network]
            return min(names, key=lambda name: ("scheduler" not in name, name), default=host)
    return host

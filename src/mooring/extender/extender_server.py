"""The extender: a process that answers kube-scheduler's webhooks with plugins.

One event loop does everything: requests are answered between two changes of the cluster's state,
and a health probe that gets a response shows that the loop turns.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from aiohttp import web

from mooring.api.kubernetes_version import KUBERNETES_VERSION
from mooring.app.signals import ProcessSignals, run_until_done
from mooring.app.watchdog import LoopWatchdog
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.kubeconfig import NO_CONFIGURATION, connection_from_flags
from mooring.client.no_server import NoServer
from mooring.client.rate_limit import rate_limit
from mooring.client.transports import make_transport
from mooring.config import to_v1
from mooring.errors import ConfigError, ExtenderError, PluginError
from mooring.extender.extender_cluster import ExtenderCluster
from mooring.extender.extender_options import ExtenderOptions
from mooring.extender.extender_profiles import served_verbs, total_weight
from mooring.extender.extender_verbs import ExtenderVerbs
from mooring.observe.clock import Clock, SystemClock
from mooring.observe.exposition import expose
from mooring.observe.extender_metrics import ExtenderMetrics
from mooring.observe.logs import Verbosity, kv, log_error, vlog
from mooring.observe.metrics import Metrics
from mooring.observe.process_metrics import ProcessMetrics
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.delegated_authentication import DelegatingAuthenticator
from mooring.serve.endpoints import Endpoints, Handler, Sources, text
from mooring.serve.health import Health
from mooring.serve.http_server import BodyError, read_body
from mooring.serve.review_client import Access
from mooring.serve.secure_server import Gate, SecureServer, listen, listen_insecurely
from mooring.serve.serving_options import Authentication, InsecureServing
from mooring.serve.serving_tls import ServingTls
from mooring.serve.side_loop import SideLoop
from mooring.serve.users import AUTHENTICATED, ReviewedUser

log = logging.getLogger(__name__)

NOT_SERVED = "{} is not served: no plugin of this extender runs at {}"
NOT_SYNCED = "the informers have not synced yet"
ONLY_POST = "{} takes POST, got {}"
TOO_LARGE = "{}: the request has too many bytes, {}; --max-request-size allows more"
NO_CLUSTER = (
    "There is no cluster: requests are answered from the nodes that they carry "
    "(nodeCacheCapable: false), plugins see no pods, and no victim of a preemption is checked"
)
NEEDS_CLUSTER = "a Bind plugin needs a cluster to bind in"
ANYONE_BINDS = (
    "Everyone who reaches the port can bind pods; give --client-ca-file, and kube-scheduler a "
    "client certificate in tlsConfig"
)

_USER_AGENT = "mooring-extender"
ONLY_VERBS = (
    "plain HTTP serves only health and the extender's verbs; without --http, other pages are served"
)

_HEALTH = ("/healthz", "/livez", "/readyz")
#: The points behind each verb.
_POINTS = {
    "filter": "PreFilter or Filter",
    "prioritize": "Score",
    "preempt": "PreFilter or Filter",
    "bind": "Bind",
}
_VERBS = frozenset(f"/{verb}" for verb in _POINTS)
#: The scheduler's metrics that an extender has values for.
_OF_SCHEDULER = (
    "scheduler_cache_size",
    "scheduler_event_handling_duration_seconds",
    "scheduler_framework_extension_point_duration_seconds",
    "scheduler_plugin_",
)
#: Allocations between two runs of the garbage collector: an answer makes thousands of objects, and
#: nearly all are freed without it.
_COLLECT_AFTER = 50_000

Verb = Callable[[bytes], bytes | Awaitable[bytes]]


class ExtenderAuthorizer:
    """The rule of an extender: with client authorities, only their clients may ask.

    Health is for everyone. Nobody can authenticate over plain HTTP, which therefore serves nothing
    but health and the verbs.
    """

    def __init__(self, *, client_authorities: bool, plain_http: bool = False) -> None:
        self._client_authorities = client_authorities
        self._plain_http = plain_http

    async def access(self, user: ReviewedUser, verb: str, path: str) -> Access:
        """Return whether the user is allowed."""
        if self._plain_http:
            return Access(allowed=path.startswith(_HEALTH) or path in _VERBS, reason=ONLY_VERBS)
        is_known = not self._client_authorities or AUTHENTICATED in user.groups
        return Access(
            allowed=is_known or path.startswith(_HEALTH), reason="it has no client certificate"
        )


class ExtenderProcess:
    """An extender: its view of the cluster, its verbs and its server."""

    def __init__(self, options: ExtenderOptions, verbosity: Verbosity) -> None:
        self._options = options
        self._clock: Clock = SystemClock()
        self._metrics = Metrics(options.features.enabled)
        self._requests = ExtenderMetrics(self._metrics.registry)
        gates = options.features
        self._process_metrics = ProcessMetrics(
            self._metrics.registry,
            KUBERNETES_VERSION,
            emulation=gates.release.version,
            min_compatibility=gates.version.min_compatibility_text,
        )
        self._health = Health()
        self._ready = False
        self._stopping = asyncio.Event()
        profiles = options.config.profiles
        self._client, is_live = self._connect()
        self._served = served_verbs(profiles)
        if "bind" in self._served and not is_live:
            raise ConfigError(NEEDS_CLUSTER, advice="give --kubeconfig")
        self._cluster = ExtenderCluster(
            profiles,
            client=self._client,
            is_live=is_live,
            registry=options.registry,
            features=options.features,
            clock=self._clock,
            metrics=self._metrics,
        )
        self._cluster.cache.show_sizes(self._metrics.cache_size)
        self._verbs = ExtenderVerbs(
            self._cluster,
            weight=total_weight(profiles),
            managed=frozenset(one.name for one in options.managed_resources),
        )
        self._endpoints = Endpoints(self._sources(verbosity), self._clock)

    def _connect(self) -> tuple[Client, bool]:
        """Return a client, and whether there is a cluster."""
        settings = self._options.config.config.client_connection
        try:
            connection: Connection = connection_from_flags(
                self._options.kubeconfig or settings.kubeconfig
            )
        except ConfigError as error:
            if not error.message.startswith(NO_CONFIGURATION):
                raise
            log.warning(NO_CLUSTER)
            return Client(NoServer(), clock=self._clock), False
        log.info(
            "Connecting to the cluster",
            extra=kv(**{"server": connection.server, "from": connection.source}),
        )
        client = Client(
            make_transport(connection, user_agent=_USER_AGENT, clock=self._clock),
            limit=rate_limit(settings.qps, settings.burst, self._clock),
            clock=self._clock,
            metrics=self._process_metrics,
        )
        return client, True

    def _sources(self, verbosity: Verbosity) -> Sources:
        return Sources(
            health=self._health,
            metrics=lambda: expose(self._families()),
            pods=lambda: (),
            is_leader=lambda: False,
            config=to_v1(self._options.config.config, as_given=True),
            flags={},
            version=KUBERNETES_VERSION,
            emulation=self._options.features.release.version,
            set_verbosity=verbosity.set,
            profiling=False,
            flagz=False,
            statusz=False,
            pages={f"/{verb}": self._page(verb) for verb in _POINTS},
        )

    def _families(self) -> Iterator[Any]:
        for family in self._metrics.registry.collect():
            if not family.name.startswith("scheduler_") or family.name.startswith(_OF_SCHEDULER):
                yield family

    def stop(self) -> None:
        """End the process."""
        self._stopping.set()

    async def run(self) -> int:
        """Serve until a signal; return the exit status."""
        with ProcessSignals(asyncio.get_running_loop(), self.stop):
            return await self._run()

    async def _run(self) -> int:
        server = SecureServer(self._endpoints, self._clock)
        listener = self._listen()
        # Names a plugin that blocks the loop, from another thread.
        watchdog, side = LoopWatchdog(), SideLoop("watchdog")
        watchdog.attach(asyncio.get_running_loop(), progress=self._cluster.progress)
        side.start()
        side.submit(watchdog.run())
        following: asyncio.Task[None] | None = None
        try:
            await self._serve(server, listener)
            following = asyncio.create_task(self._follow())
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait((following, stopping), return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if following.done():
                following.result()
        finally:
            self._health.begin_shutdown()
            if following is not None:
                following.cancel()
                await asyncio.wait((following,))
            await server.stop()
            listener.close()
            await self._cluster.close()
            await self._client.close()
            await asyncio.to_thread(side.stop)
        return 0

    def _listen(self) -> socket.socket:
        serving = self._options.serving
        if self._options.plain_http:
            insecure = InsecureServing(address=serving.bind_address, port=serving.port)
            listener = listen_insecurely(insecure)
        else:
            listener = listen(serving)
        assert listener is not None, "the port was checked to be above 0"
        return listener

    async def _serve(self, server: SecureServer, listener: socket.socket) -> None:
        options = self._options
        if "bind" in self._served and not options.client_ca_file:
            log.warning(ANYONE_BINDS)
        known = Authentication(client_ca_file=options.client_ca_file, skip_lookup=True)
        authorities = ClientAuthorities(known)
        await authorities.load()
        gate = Gate(
            self._endpoints,
            DelegatingAuthenticator(authorities, None),
            ExtenderAuthorizer(
                client_authorities=bool(options.client_ca_file), plain_http=options.plain_http
            ),
        )
        if options.plain_http:
            await server.serve_insecurely(listener, gate)
            return
        tls = ServingTls(options.serving, ask=authorities.wanted, authorities=authorities.pem)
        await server.serve_securely(listener, tls, gate, authorities)

    async def _follow(self) -> None:
        """Keep the state of the cluster up to date."""
        await self._cluster.start()
        # Most of what was listed is never freed.
        gc.freeze()
        self._ready = True
        self._health.handlers_synced()
        log.info("Ready", extra=kv(verbs=",".join(self._served)))
        await self._cluster.follow()

    # Requests.

    def _page(self, verb: str) -> Handler:
        if verb not in self._served:
            reason = NOT_SERVED.format(verb, _POINTS[verb])

            async def refuse(request: web.BaseRequest) -> web.StreamResponse:
                return self._count(verb, time.perf_counter(), text(f"{reason}\n", 404))

            return refuse
        call: Verb = getattr(self._verbs, verb)

        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            started = time.perf_counter()
            return self._count(verb, started, await self._answer(verb, call, request))

        return answer

    async def _answer(self, verb: str, call: Verb, request: web.BaseRequest) -> web.Response:
        if request.method != "POST":
            return text(f"{ONLY_POST.format(verb, request.method)}\n", 405)
        if not self._ready:
            return text(f"{NOT_SYNCED}\n", 503)
        try:
            body = await read_body(request, self._options.max_request)
        except BodyError as error:
            found = TOO_LARGE.format(verb, error) if error.status == 413 else f"{verb}: {error}"
            return text(f"{found}\n", error.status)
        try:
            answer = call(body)
            if inspect.isawaitable(answer):
                answer = await answer
        except ExtenderError as error:
            vlog(log, 2, "Bad request", verb=verb, err=error)
            return text(f"{verb}: {error}\n", 400)
        except PluginError as error:
            log_error(log, error, "A plugin failed", verb=verb)
            return text(f"{verb}: {error}\n", 500)
        return web.Response(body=answer, content_type="application/json")

    def _count(self, verb: str, started: float, response: web.Response) -> web.Response:
        self._requests.answered(verb, response.status, time.perf_counter() - started)
        return response


def run_extender(options: ExtenderOptions, verbosity: Verbosity) -> int:
    """Run an extender until a signal ends it; return the exit status."""
    gc.set_threshold(_COLLECT_AFTER, 10, 10)
    gc.freeze()
    return run_until_done(_run(options, verbosity))


async def _run(options: ExtenderOptions, verbosity: Verbosity) -> int:
    return await ExtenderProcess(options, verbosity).run()

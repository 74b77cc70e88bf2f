"""SchedulerProcess: a whole scheduler process, from a checked command line to its exit status.

Two threads: the scheduling loop with informers and binding cycles, and beside it a loop for the
lease and the health server, which must go on while a slow plugin holds the first.

# kube-scheduler: cmd/kube-scheduler/app/server.go (Run)
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
from typing import TYPE_CHECKING

from mooring.api import Pod
from mooring.api.kubernetes_version import KUBERNETES_VERSION
from mooring.app.command import Command
from mooring.app.election import Election, make_election
from mooring.app.leader import make_fence
from mooring.app.lifecycle import Lifecycle
from mooring.app.metric_labels import allow_lists
from mooring.app.signals import ProcessSignals, run_until_done
from mooring.app.watchdog import LoopWatchdog
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.kubeconfig import connection_from_flags
from mooring.client.missing_rights import MissingRights
from mooring.client.rate_limit import rate_limit
from mooring.client.transport import BeforeSend
from mooring.client.transports import make_transport
from mooring.config import to_v1
from mooring.explain.attempt_history import make_history
from mooring.explain.explainer import Explainer
from mooring.explain.journal_questions import AttemptReplayer
from mooring.explain.lease_annotations import ExplainAddress
from mooring.extenders import longest_wait
from mooring.framework.release_metrics import make_metrics
from mooring.informers.factory import InformerFactory
from mooring.journal.head import scheduler_rules
from mooring.journal.journal_folder import JournalFolder
from mooring.observe.allow_lists import constrain
from mooring.observe.clock import Clock, SystemClock
from mooring.observe.exposition import expose
from mooring.observe.logs import kv, log_error
from mooring.observe.process_metrics import ProcessMetrics
from mooring.scheduler.debugger import Debugger
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.scheduler.scheduler import GRACE
from mooring.serve.health import Health
from mooring.serve.side_loop import SideLoop

if TYPE_CHECKING:
    from mooring.serve.serving import Serving

log = logging.getLogger(__name__)

_COMPONENT = "kube-scheduler"
#: Seconds that the other thread gets to end.
_SIDE_SECONDS = 5.0


#: Allocations between two runs of the garbage collector. Nearly all objects are freed without it;
#: with Python's default of 700 it took an eighth of the time.
_COLLECT_AFTER = 50_000


def run_scheduler(command: Command, replayer: AttemptReplayer | None = None) -> int:
    """Run until a signal ends it or the lease is lost; return the exit status.

    `replayer` replays attempts of the journal to explain them.
    """
    gc.set_threshold(_COLLECT_AFTER, 10, 10)
    # Modules are never freed, nor is most of what is listed at the start.
    gc.freeze()
    return run_until_done(SchedulerProcess(command, replayer).run())


def log_connection(connection: Connection) -> None:
    """Log which cluster was taken: several sources may name one."""
    pairs = {"server": connection.server, "from": connection.source}
    if connection.context:
        pairs |= {"context": connection.context, "cluster": connection.cluster}
    log.info("Connecting to the cluster", extra=kv(**pairs))


class SchedulerProcess:
    """Everything that one scheduler process consists of."""

    def __init__(self, command: Command, replayer: AttemptReplayer | None = None) -> None:
        self._command = command
        self._replayer = replayer
        self._config = command.config
        self._settings = self._config.config
        self._clock: Clock = SystemClock()
        self._metrics = make_metrics(command.options.feature_gates)
        self._allow_lists = allow_lists(command.options.metrics)
        gates = command.options.feature_gates
        self._process_metrics = ProcessMetrics(
            self._metrics.registry,
            KUBERNETES_VERSION,
            emulation=gates.release.version,
            min_compatibility=gates.version.min_compatibility_text,
        )
        self._process_metrics.show_features(
            (feature.name, "" if feature.stage == "GA" else feature.stage, gates.enabled(name))
            for name, feature in gates.features.items()
        )
        connection = self._settings.client_connection
        self._connection: Connection = connection_from_flags(
            connection.kubeconfig, command.options.master, drop_in=command.drop_in
        )
        # In place of kube-scheduler, its own messages are repeated as often as there.
        self._rights = MissingRights(quiet=not command.drop_in)
        election = self._settings.leader_election
        self._fence = make_fence(election) if election.leader_elect else None
        check = None if self._fence is None else self._fence.check_request
        self._client = self._make_client(connection.qps, connection.burst, check)
        # A separate rate limit, so that Events cannot starve binds.
        self._event_client = self._make_client(connection.qps, connection.burst, check)
        self._side = SideLoop("mooring-side")
        self._election = self._make_election()
        leader = None if self._election is None else self._election.elector.check
        self._watchdog = LoopWatchdog(
            max(
                command.options.livez_scheduling_cycle_timeout.seconds,
                longest_wait(self._settings.extenders),
            )
        )
        self._health = Health(leader=leader, loop_problem=self._watchdog.problem)
        #: Answers questions about pods, on the loop of the scheduler; None before it is made.
        self.explainer: Explainer | None = None
        self._serving: Serving | None = None
        self.lifecycle = Lifecycle(
            elect=None if self._election is None else self.start_election,
            late=self._settings.delay_cache_until_active,
        )

    def _make_client(self, qps: float, burst: int, before_send: BeforeSend | None = None) -> Client:
        clock = self._clock
        transport = make_transport(
            self._connection, user_agent=_COMPONENT, clock=clock, before_send=before_send
        )
        return Client(
            transport,
            limit=rate_limit(qps, burst, clock),
            clock=clock,
            metrics=self._process_metrics,
            rights=self._rights,
        )

    def _make_election(self) -> Election | None:
        if self._fence is None:
            return None
        return make_election(
            self._settings.leader_election,
            self._make_client(0.0, 0),
            self._side,
            fence=self._fence,
            metrics=self._process_metrics,
            clock=self._clock,
            # Events name the first profile's scheduler. # app/options/options.go (Config)
            source=self._settings.profiles[0].scheduler_name or _COMPONENT,
            warns=not self._command.drop_in,
            address=self._explain_address,
        )

    async def run(self) -> int:
        """Run until a signal or the loss of the lease; return the exit status."""
        with ProcessSignals(asyncio.get_running_loop(), self.lifecycle.stop) as signals:
            return await self._run(signals)

    async def _run(self, signals: ProcessSignals) -> int:
        options = self._command.options
        history = make_history(options.explain_memory.value())
        folder = journal = None
        if options.journal:
            folder = JournalFolder(options.journal, options.journal_max_bytes.value())
            journal = folder.begin(
                self._config,
                registry=self._command.registry,
                features=options.feature_gates,
                clock=self._clock,
                metrics=self._metrics,
                max_in_unschedulable=options.pod_max_in_unschedulable_pods_duration.seconds,
            )
        running = RunningScheduler(
            self._config,
            client=self._client,
            event_client=self._event_client,
            registry=self._command.registry,
            features=options.feature_gates,
            clock=self._clock,
            metrics=self._metrics,
            max_in_unschedulable=options.pod_max_in_unschedulable_pods_duration.seconds,
            extender_max_response=options.extender_max_response_size.value(),
            before_write=None if self._fence is None else self._fence.check,
            taps=[tap for tap in (history, journal) if tap is not None],
        )
        answers = None if folder is None else folder.answers(self._replayer)
        rules = scheduler_rules(self._config, self._command.registry, options.feature_gates)
        self.explainer = Explainer(running.scheduler, history, answers, rules)
        serving = self._serving = self._make_serving(running.informers, self.explainer)
        if serving is not None:
            serving.listen()
        debugger = Debugger(running.scheduler, running.informers)
        signals.on(signal.SIGUSR2, debugger.dump)
        self._watchdog.attach(asyncio.get_running_loop(), running.scheduler)
        self._side.start()
        if folder is not None and journal is not None:
            folder.follow(journal, running)
        try:
            self._side.submit(self._watchdog.run())
            if serving is not None:
                await asyncio.wrap_future(self._side.submit(serving.start()))
            if not self._command.drop_in:
                log_connection(self._connection)
            running.start()
            await self.lifecycle.run(
                running.scheduler, lambda: self._sync(running), running.catch_up
            )
        finally:
            self._health.begin_shutdown()
            # Without the lease another scheduler may be at work already.
            await running.close(0.0 if self.lifecycle.lost_lease else GRACE)
            if folder is not None:
                await folder.close()
            if self._election is not None:
                await self._election.release()
            if serving is not None:
                with contextlib.suppress(Exception):
                    await asyncio.wrap_future(self._side.submit(serving.stop()))
            await asyncio.to_thread(self._side.stop, _SIDE_SECONDS)
            await self._client.close()
            await self._event_client.close()
        return self._exit_status()

    async def _sync(self, running: RunningScheduler) -> None:
        await running.sync()
        gc.freeze()
        self._health.handlers_synced()

    # Leading.

    def start_election(self) -> None:
        """Take part in the election of a leader, on the loop of the lease."""
        assert self._election is not None
        self._election.start(self.lifecycle)

    def _exit_status(self) -> int:
        if self.lifecycle.lost_lease:
            log_error(log, None, "Leaderelection lost")
            return 1
        if self._election is not None:
            log.info("Requested to terminate, exiting")
            return 0
        log_error(log, "finished without leader elect", "command failed")
        return 1

    # Serving.

    def _expose_metrics(self) -> bytes:
        """Return what /metrics answers, without what --disabled-metrics names."""
        disabled = frozenset(self._command.options.metrics.disabled)
        shown = (
            family
            for family in self._metrics.registry.collect()
            if disabled.isdisjoint((family.name, f"{family.name}_total"))
        )
        return expose(constrain(shown, self._allow_lists))

    def _explain_address(self, identity: str) -> ExplainAddress | None:
        """Return where this process answers questions; None if it does not."""
        serving, options = self._serving, self._command.options
        if serving is None or not serving.certificate_sha256 or not options.explain_memory.value():
            return None
        return ExplainAddress(identity, options.serving.port, serving.certificate_sha256)

    def _leader(self) -> str | None:
        """Return who leads; None if it is this process."""
        elector = None if self._election is None else self._election.elector
        return None if elector is None or elector.is_leader else elector.leader

    def _make_serving(self, informers: InformerFactory, explainer: Explainer) -> Serving | None:
        """Return what answers at the ports; None where none is to be open."""
        election, options = self._election, self._command.options
        if not options.serving.port and not options.insecure_serving.port:
            return None
        # Imported late, because it takes long to load.
        from mooring.serve.endpoints import Sources
        from mooring.serve.explain_paths import ExplainPaths
        from mooring.serve.loop_explanations import LoopExplanations
        from mooring.serve.serving import Serving, ServingSettings

        settings = ServingSettings(
            secure=options.serving,
            insecure=options.insecure_serving,
            authentication=options.authentication,
            authorization=options.authorization,
        )
        asked = None
        if explainer.history is not None:
            asked = LoopExplanations(explainer, asyncio.get_running_loop())
        pods = informers.lister(Pod)
        sources = Sources(
            health=self._health,
            metrics=self._expose_metrics,
            # The other thread reads: a copy made in one step.
            pods=lambda: list(pods.list()),
            is_leader=lambda: election is None or election.elector.is_leader,
            config=to_v1(self._settings, as_given=True),
            flags=options.flags.shown(),
            version=KUBERNETES_VERSION,
            emulation=options.feature_gates.release.version,
            set_verbosity=self._command.verbosity.set,
            profiling=self._settings.enable_profiling,
            flagz=options.feature_gates.enabled("ComponentFlagz"),
            statusz=options.feature_gates.enabled("ComponentStatusz"),
            explain=ExplainPaths(asked, leader=self._leader),
        )
        return Serving(settings, sources, self._clock)

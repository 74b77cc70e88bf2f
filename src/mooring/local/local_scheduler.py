"""The scheduler of a local cluster: in this process, with the usual client."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence

from msgspec.structs import replace

from mooring.apiserver.api import Api
from mooring.apiserver.auth.authorization import MASTERS
from mooring.apiserver.http import RequestUser
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.app.watchdog import LoopWatchdog
from mooring.client.client import Client
from mooring.config import LoadResult, default_config
from mooring.config.defaults import SCHEDULER_NAME
from mooring.config.extender_effects import with_extenders
from mooring.config.rules import Rules, make_rules
from mooring.explain.attempt_history import DEFAULT_MEMORY, make_history
from mooring.explain.explainer import Explainer
from mooring.explain.journal_questions import AttemptReplayer
from mooring.explain.scheduler_rules import SchedulerRules
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.points import Point
from mooring.framework.release_metrics import make_metrics
from mooring.journal.head import scheduler_rules
from mooring.journal.journal import SchedulingJournal
from mooring.journal.journal_folder import JournalFolder
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error
from mooring.registry import Registry
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.serve.side_loop import SideLoop

log = logging.getLogger(__name__)

OWN_CONNECTION = (
    '{file}: clientConnection.kubeconfig: "{kubeconfig}" is not read: the scheduler of a local '
    "cluster uses that cluster"
)
WAITING = "The scheduler waits for a resource that a plugin asks for"
#: After this many seconds a cluster counts as started although its scheduler still waits.
PATIENCE = 5.0

_AGENT = "kube-scheduler"
#: Plugins of the local scheduler have all rights; RBAC applies to schedulers that run as pods.
USER = RequestUser("system:kube-scheduler", (MASTERS,))


def make_local_rules(
    file: str | os.PathLike[str] | None,
    plugins: Sequence[type[Plugin]],
    features: FeatureGates,
    *,
    default_scheduler: bool = True,
) -> Rules:
    """Return the rules of a configuration file and plugins; raise if they are invalid.

    See `make_rules`. If the file has no profile
    default-scheduler, one with the defaults is added, unless `default_scheduler` is False.
    """
    rules = make_rules(file, plugins, features)
    config = rules.config
    if file is not None:
        config = _warn_connection(config, os.fspath(file))
        if default_scheduler:
            config = _with_default_scheduler(config, rules.registry, features)
    return replace(rules, config=with_extenders(config))


def _warn_connection(loaded: LoadResult, file: str) -> LoadResult:
    """Return a configuration with a warning if it names the kubeconfig of another cluster."""
    kubeconfig = loaded.config.client_connection.kubeconfig
    if not kubeconfig:
        return loaded
    text = OWN_CONNECTION.format(file=file, kubeconfig=kubeconfig)
    return replace(loaded, warnings=(*loaded.warnings, text))


def _with_default_scheduler(
    loaded: LoadResult, registry: Registry, features: FeatureGates
) -> LoadResult:
    if any(profile.scheduler_name == SCHEDULER_NAME for profile in loaded.profiles):
        return loaded
    added = default_config(registry=registry, feature_gates=features)
    # All profiles share one queue, so the added profile must use the file's QueueSort.
    first, profile = loaded.profiles[0], added.profiles[0]
    order = first.names(Point.QUEUE_SORT)
    profile = replace(
        profile,
        points={**profile.points, Point.QUEUE_SORT: first.points[Point.QUEUE_SORT]},
        args={**profile.args, **{name: first.args[name] for name in order}},
    )
    config = loaded.config
    return replace(
        loaded,
        config=replace(config, profiles=(*config.profiles, *added.config.profiles)),
        profiles=(*loaded.profiles, profile),
    )


class LocalScheduler:
    """A scheduler in the process of its API server.

    It keeps records of attempts within `explain_memory` bytes, also when it switches to another
    rules, and writes a journal if there is a folder for it.
    """

    def __init__(
        self,
        api: Api,
        rules: Rules,
        clock: Clock,
        explain_memory: int = DEFAULT_MEMORY,
        journal: JournalFolder | None = None,
        replayer: AttemptReplayer | None = None,
    ) -> None:
        self._clock = clock
        self._journal_folder = journal
        self._client = Client(LocalTransport(api, USER, user_agent=_AGENT), clock=clock)
        self._history = make_history(explain_memory)
        self._running, self._journal = self._make(rules)
        #: Answers questions about pods.
        answers = None if journal is None else journal.answers(replayer)
        self.explainer = Explainer(
            self._running.scheduler, self._history, answers, _rules_of(rules)
        )
        #: Names a plugin that blocks the loop, from another thread.
        self._watchdog = LoopWatchdog()
        self._side = SideLoop("watchdog")
        self._turning: asyncio.Task[None] | None = None

    def _make(self, rules: Rules) -> tuple[RunningScheduler, SchedulingJournal | None]:
        metrics = make_metrics(rules.gates)
        journal = None
        if self._journal_folder is not None:
            journal = self._journal_folder.begin(
                rules.config,
                registry=rules.registry,
                features=rules.gates,
                clock=self._clock,
                metrics=metrics,
            )
        running = RunningScheduler(
            rules.config,
            client=self._client,
            event_client=self._client,
            registry=rules.registry,
            features=rules.gates,
            clock=self._clock,
            metrics=metrics,
            taps=[tap for tap in (self._history, journal) if tap is not None],
        )
        return running, journal

    async def start(self) -> None:
        """Start the scheduler, and wait until its informers have synced.

        A resource that a plugin watches may not exist yet, such as a custom resource without a
        definition. Then this returns after a few seconds, and scheduling begins once it exists.
        """
        if self._journal_folder is not None and self._journal is not None:
            self._journal_folder.follow(self._journal, self._running)
        self._running.start()
        self._watchdog.attach(asyncio.get_running_loop(), self._running.scheduler)
        if not self._side.is_running:
            self._side.start()
            self._side.submit(self._watchdog.run())
        synced = asyncio.create_task(self._running.sync())
        self._turning = asyncio.create_task(self._turn(synced), name="scheduler")
        both = (synced, self._turning)
        await asyncio.wait(both, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if self._turning.done():
            await self._turning
        if not synced.done():
            for informer in self._running.informers.unsynced():
                log_error(log, informer.failure, WAITING, resource=informer.name)

    async def _turn(self, synced: asyncio.Task[None]) -> None:
        try:
            await synced
            await self._running.scheduler.run()
        except Exception as error:
            log_error(log, error, "The scheduler has ended")
            raise

    async def replace(self, rules: Rules) -> None:
        """Switch to other rules; if its plugins cannot be created, the old one stays in use.

        No pod is lost: the new scheduler reads the pending pods from the API server.
        """
        fresh, journal = self._make(rules)
        await self._end()
        self._running, self._journal = fresh, journal
        self.explainer.attach(fresh.scheduler, _rules_of(rules))
        await self.start()

    async def close(self) -> None:
        """Stop; binds in progress are completed."""
        await self._end()
        await asyncio.to_thread(self._side.stop)
        await self._client.close()

    async def _end(self) -> None:
        if self._turning is not None:
            # Cancelling is safe: the task is between two cycles, or waits for an extender.
            self._turning.cancel()
            await asyncio.gather(self._turning, return_exceptions=True)
            self._turning = None
        await self._running.close()
        if self._journal_folder is not None:
            await self._journal_folder.end()


def _rules_of(rules: Rules) -> SchedulerRules:
    return scheduler_rules(rules.config, rules.registry, rules.gates)

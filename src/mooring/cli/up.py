"""`mooring up`: run a local cluster that kubectl can use."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mooring import __version__
from mooring.cli import background, cluster_state
from mooring.cli.messages import warn
from mooring.cli.pid_file import PidFile, beside
from mooring.cli.progress import ProgressLine
from mooring.cli.up_flags import NODES
from mooring.errors import ConfigError, ObjectError

if TYPE_CHECKING:
    from mooring.config.rules import Rules
    from mooring.explain.journal_questions import AttemptReplayer
    from mooring.local.local_cluster import LocalClusterSettings

#: Garbage collector thresholds: nearly all objects are freed at once or stay, so collect rarely.
_COLLECTOR = (20_000, 20, 20)

#: A file in --data-dir: the cluster has been ready once, so its nodes are there.
_STARTED = "started"


def run(args: argparse.Namespace) -> int:
    """Run a local cluster until a signal ends it; return the exit status."""
    _check_scheduling(args)
    if args.watch and not (args.plugin or args.config):
        raise ConfigError("--watch: there is no file to watch; add --plugin FILE.py:Class")
    if args.detach and not background.is_background():
        log = beside(args.kubeconfig, ".log")
        return background.start(args.command_line, log, reads="-" in args.filename)
    # Imported here and below, because with --detach this process only waits for another one.
    from mooring.observe.output import steady_output

    with steady_output(beside(args.kubeconfig, ".log") if args.detach else None):
        return _run_cluster(args)


def _check_scheduling(args: argparse.Namespace) -> None:
    if args.no_scheduler:
        for flag in ("config", "plugin", "watch", "no_default_scheduler", "journal"):
            if getattr(args, flag):
                name = flag.replace("_", "-")
                raise ConfigError(f"--no-scheduler cannot be combined with --{name}")
    if args.no_default_scheduler and args.config is None:
        raise ConfigError(
            "--no-default-scheduler needs a --config with other profiles; use --no-scheduler to "
            "start no scheduler at all"
        )


def _run_cluster(args: argparse.Namespace) -> int:
    from mooring.app.signals import run_until_done
    from mooring.kubelet.image_contents import parse_image
    from mooring.observe.file_rights import warn_of_changeable
    from mooring.observe.logs import configure
    from mooring.registry import plugin_files

    verbosity = configure(v=args.v)
    warn_of_changeable(map(str, (*_plugin_files(args), *filter(None, (args.config,)))))
    images = [parse_image(one) for one in args.image]
    warn_of_changeable(plugin_files(plugin for _, plugin in images))
    settings = _settings(args)
    # Again, because loading the plugins has created loggers.
    verbosity.apply()
    if settings.plan is not None:
        warn(settings.plan.warnings)
    if args.kubeconfig.is_dir():
        raise ConfigError("is a folder; name a file in it", file=str(args.kubeconfig))
    file = PidFile(args.kubeconfig)
    file.take()
    try:
        return run_until_done(_Up(args, settings).run())
    finally:
        cluster_state.forget(os.path.abspath(args.kubeconfig))
        file.release()


def _settings(args: argparse.Namespace) -> LocalClusterSettings:
    from mooring.api.manifest_reading import read_objects
    from mooring.apiserver.api_server import ServerSettings
    from mooring.cli.manifest_files import read_texts
    from mooring.client.kubeconfig import load_kubeconfig
    from mooring.kubelet.image_contents import ImageContents, parse_image
    from mooring.local.local_cluster import LocalClusterSettings
    from mooring.local.local_gates import server_gates

    # First, because `read_texts` compares the manifests with the configuration file, which must
    # exist for that.
    plan = None if args.no_scheduler else _plan(args)
    features = server_gates(args.feature_gates, has_nodes=args.nodes != 0)
    server = ServerSettings(
        host=args.bind_address,
        port=args.port,
        kubeconfig=args.kubeconfig,
        data_dir=args.data_dir,
        enabled=_enabled(args.runtime_config, features),
        features=features,
        event_ttl=_event_ttl(args.event_ttl),
    )
    objects = [
        found
        for file, text in read_texts(args.filename, args.config)
        for found in read_objects(text, file)
    ]
    source = args.from_kubeconfig
    is_kept = args.data_dir is not None and (args.data_dir / _STARTED).exists()
    given = args.filename or source is not None or is_kept
    return LocalClusterSettings(
        server=server,
        plan=plan,
        nodes=args.nodes if args.nodes is not None else 0 if given else NODES,
        objects=tuple(objects),
        custom_sets=_custom_sets(args.crds),
        journal=args.journal,
        journal_max_bytes=args.journal_max_bytes,
        replayer=_replayer(args.journal),
        explain_memory=_explain_memory(args.explain_memory),
        images=ImageContents(map(parse_image, args.image)),
        run_loaded_images=args.run_loaded_images,
        source=load_kubeconfig(source) if source is not None else None,
    )


def _replayer(journal: str | None) -> AttemptReplayer | None:
    """Return the replayer that explains attempts of the journal; None without a journal."""
    if journal is None:
        return None
    from mooring.replay.child_replayer import ChildReplayer

    return ChildReplayer()


def _custom_sets(text: str) -> tuple[str, ...]:
    """Return the sets of custom resources that `--crds` names."""
    from mooring.local.custom_definitions import parse_sets

    try:
        return parse_sets(text)
    except ConfigError as error:
        raise ConfigError(f"--crds: {error}") from None


def _event_ttl(text: str) -> float:
    """Return the seconds of `--event-ttl`."""
    from mooring.api.durations import Duration

    try:
        seconds = Duration.parse(text).seconds
    except ValueError as error:
        raise ConfigError(f"--event-ttl: {error}") from None
    if seconds <= 0:
        raise ConfigError(f"--event-ttl: must be more than 0, got {text}")
    return seconds


def _explain_memory(text: str) -> int:
    """Return the bytes of `--explain-memory`."""
    from mooring.api.quantity import Quantity

    try:
        size = Quantity(text).value()
    except ObjectError as error:
        raise ConfigError(f"--explain-memory: {error}") from None
    if size < 0:
        raise ConfigError(f"--explain-memory: must be a size, or 0 to keep nothing, got {text}")
    return size


def _enabled(text: str, features: frozenset[str]) -> tuple[str, ...]:
    """Return the group versions that `--runtime-config` and pod groups ask for."""
    from mooring.controlplane.type_table import types
    from mooring.local.local_gates import served_versions

    wanted = [one.partition("=") for one in text.split(",") if one]
    for name, _, value in wanted:
        if name not in types().group_versions or value not in ("", "true", "false"):
            raise ConfigError(
                f"--runtime-config {name}={value}: expected GROUP/VERSION=true of a known version"
            )
    refused = {name for name, _, value in wanted if value == "false"}
    asked = (*served_versions(features), *(name for name, _, _ in wanted))
    return tuple(name for name in asked if name not in refused)


def _plan(args: argparse.Namespace) -> Rules:
    """Load the plugins and the configuration; called again whenever they change."""
    from mooring.config.defaults import SCHEDULER_NAME
    from mooring.framework.releases import parse_versions
    from mooring.local.local_gates import scheduler_gates
    from mooring.local.local_scheduler import make_local_rules
    from mooring.registry import load_plugins

    version = parse_versions(args.emulated_version)
    plan = make_local_rules(
        args.config,
        [*args.plugins, *load_plugins(args.plugin)],
        scheduler_gates(args.feature_gates, version, has_nodes=args.nodes != 0),
        default_scheduler=not args.no_default_scheduler,
    )
    names = {profile.scheduler_name for profile in plan.config.profiles}
    if args.no_default_scheduler and SCHEDULER_NAME in names:
        raise ConfigError(
            f"has a profile {SCHEDULER_NAME}, which --no-default-scheduler leaves to another "
            "process",
            file=args.config,
        )
    return plan


def _plugin_files(args: argparse.Namespace) -> list[Path]:
    from mooring.registry import plugin_files

    return [Path(file) for file in plugin_files(args.plugin)]


def _loaded_files(args: argparse.Namespace) -> list[Path]:
    from mooring.registry import loaded_files

    return loaded_files(args.plugin)


def _watched(args: argparse.Namespace) -> list[Path]:
    """Return the files to watch; loading the plugins adds the modules that they import."""
    config = [] if args.config is None else [Path(args.config)]
    return [*_loaded_files(args), *config]


class _Up:
    """A local cluster that runs until a signal ends it."""

    def __init__(self, args: argparse.Namespace, settings: LocalClusterSettings) -> None:
        from mooring.local.local_cluster import LocalCluster
        from mooring.serve.acceptor import raise_open_files_limit

        raise_open_files_limit()
        self._args = args
        self._settings = settings
        self._line = ProgressLine()
        self._cluster = LocalCluster(settings, progress=self._show_progress)
        self._started = time.time()

    async def run(self) -> int:
        """Run, and return the exit status."""
        from mooring.app.signals import ProcessSignals

        done = asyncio.Event()
        with ProcessSignals(asyncio.get_running_loop(), done.set):
            return await self._run(done)

    async def _run(self, done: asyncio.Event) -> int:
        loop = asyncio.get_running_loop()
        starting = loop.create_task(self._cluster.start())
        stopped = loop.create_task(done.wait())
        await asyncio.wait((starting, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await starting
            return 0
        try:
            starting.result()
            # The objects allocated so far stay, so the garbage collector need not visit them.
            gc.freeze()
            gc.set_threshold(*_COLLECTOR)
            self._say_ready()
            await self._until(stopped)
        finally:
            stopped.cancel()
            await self._cluster.stop()
        return 0

    async def _until(self, stopped: asyncio.Task[bool]) -> None:
        watching = asyncio.create_task(self._watch()) if self._args.watch else None
        await stopped
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self) -> None:
        from mooring.local.reloading import Reloader

        async def reload() -> None:
            plan = _plan(self._args)
            await self._cluster.replace_scheduler(plan)
            self._record(plan)

        await Reloader(lambda: _watched(self._args), reload, _say).run()

    def _show_progress(self, text: str) -> None:
        if background.is_background():
            background.say_progress(text)
        else:
            self._line.show(text)

    def _say_ready(self) -> None:
        from mooring.cli.up_summary import summary

        self._line.erase()
        if self._args.data_dir is not None:
            (self._args.data_dir / _STARTED).touch()
        self._record(self._settings.plan)
        detached = background.is_background()
        text = "".join(
            f"{line}\n" for line in summary(self._cluster, self._settings, detached=detached)
        )
        print(text, end="", flush=True)
        warn(f"not copied: {why}" for why in self._cluster.copied.left_out)
        if detached:
            background.say_ready(text)

    def _record(self, plan: Rules | None) -> None:
        """Let other commands find this cluster."""
        from mooring.apiserver.api import VERSION
        from mooring.cli.up_summary import added_plugins

        args, profiles = self._args, () if plan is None else plan.config.profiles
        record = cluster_state.ClusterRecord(
            kubeconfig=os.path.abspath(args.kubeconfig),
            log=os.path.abspath(beside(args.kubeconfig, ".log")) if args.detach else "",
            pid=os.getpid(),
            address=self._cluster.server.url,
            version=__version__,
            kubernetes=VERSION["gitVersion"],
            started=self._started,
            profiles=tuple(
                cluster_state.ProfileRecord(one.scheduler_name, added_plugins(one))
                for one in profiles
            ),
        )
        try:
            cluster_state.save(record)
        except OSError as error:
            warn([f"`mooring list` will not show this cluster: {error}"])


def _say(line: str) -> None:
    print(line, flush=True)

"""The page of `mooring ui` about a local cluster, in the process of a test."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from mooring.cli.main import main
from mooring.client.kubeconfig import load_kubeconfig
from mooring.config import default_config, load_config
from mooring.config.rules import Rules
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.leader.scheduler_questions import SchedulerAddress
from mooring.observe.clock import SystemClock
from mooring.registry import default_registry
from mooring.replay.replay_rules import recorded_rules
from mooring.scheduler.following import following, reading_client
from mooring.ui.leader_link import LeaderLink
from mooring.ui.leader_rules import PageRules, rules_at_start
from mooring.ui.page_access import LOOPBACK, PageAccess
from mooring.ui.page_data import PageData
from mooring.ui.page_files import load_page
from mooring.ui.page_leader import PageLeader
from mooring.ui.page_past import PagePast
from mooring.ui.page_questions import PageQuestions
from mooring.ui.page_server import PageServer, listen
from mooring.ui.page_source import FollowedCluster

RULES = "the default configuration"
#: A file that says the same: a command that is given rules asks by them, whoever leads.
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def explained_by_command(name: str, folder: Path) -> dict[str, Any]:
    """Return what `mooring explain -o json` prints about a pod, apart from whose rules it names."""
    config = folder / "default-config.yaml"
    config.write_text(CONFIG)
    flags = ["explain", name, "-o", "json", "--config", str(config)]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main([*flags, "--kubeconfig", str(folder / "kubeconfig")]) == 0
    found: dict[str, Any] = json.loads(printed.getvalue())
    return {key: value for key, value in found.items() if key not in ("rules", "noLeader")}


class ServedPast(msgspec.Struct):
    """A page that is served, about the past."""

    #: The address that the command prints, with the token.
    url: str
    #: The address without it.
    origin: str


class ServedPage(ServedPast):
    """A page that is served, about a cluster."""

    port: int
    access: PageAccess
    data: PageData
    questions: PageQuestions


@asynccontextmanager
async def serving(
    folder: Path,
    *,
    plugins: Sequence[type[Plugin]] = (),
    port: int = 0,
    token: str = "",
    kubeconfig: str = "kubeconfig",
    leader: SchedulerAddress | None = None,
    config: Path | None = None,
    leaders_rules: bool = False,
) -> AsyncIterator[ServedPage]:
    """Serve the page about the cluster whose kubeconfig is in a folder.

    `leader` says where to look for the leader; `config` is a file with rules. With `leaders_rules`
    the leader's are applied if they can be, as without flags.
    """
    registry, gates = default_registry(plugins), FeatureGates()
    enabled = dict.fromkeys(plugin.name for plugin in plugins)
    rules = RULES if config is None else config.name
    loaded = (
        default_config(registry=registry, feature_gates=gates, enabled=enabled)
        if config is None
        else load_config(config, registry=registry, feature_gates=gates)
    )
    connection = load_kubeconfig(folder / kubeconfig)
    with listen(port) as listener:
        port = listener.getsockname()[1]
        access = PageAccess(port, token)
        async with (
            reading_client(connection, "test") as client,
            contextlib.AsyncExitStack() as stack,
        ):
            applied = PageRules(Rules(loaded, registry, gates, rules))
            if leaders_rules:
                assert leader is not None
                applied = await rules_at_start(
                    connection,
                    client,
                    leader,
                    applied.rules,
                    now=SystemClock().now(),
                    user_agent="test",
                )
            chosen = applied.rules
            running = await stack.enter_async_context(
                following(chosen.config, client, chosen.registry, chosen.gates)
            )
            source, clock = FollowedCluster(running), running.scheduler.clock
            told: PageLeader | None = None
            link: LeaderLink | None = None
            if leader is not None:
                link = LeaderLink(
                    connection,
                    client,
                    leader,
                    source.decisions,
                    scheduler_names=source.scheduler_names,
                    clock=clock,
                    user_agent="test",
                )
                await stack.enter_async_context(link.opened())
                told = PageLeader(link, running.scheduler.profiles, clock)
            data = PageData(source, rules=chosen.text, server=connection.server, leader=told)
            questions = PageQuestions(running, applied, link)
            server = PageServer(data, load_page(), access, questions=questions)
            server.start(listener)
            try:
                origin = f"http://{LOOPBACK}:{port}"
                yield ServedPage(access.url, origin, port, access, data, questions)
            finally:
                await server.stop()


@asynccontextmanager
async def serving_past(folder: Path) -> AsyncIterator[ServedPast]:
    """Serve the page about the journal in a folder, at its end."""
    past = PagePast(folder / "journal", recorded_rules)
    with listen(0) as listener:
        port = listener.getsockname()[1]
        access = PageAccess(port)
        server = PageServer(await past.read(past.end), load_page(), access, past=past)
        server.start(listener)
        try:
            yield ServedPast(access.url, f"http://{LOOPBACK}:{port}")
        finally:
            await server.stop()
            past.close()

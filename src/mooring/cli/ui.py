"""`mooring ui`: a page about the scheduling of a cluster, on this machine."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import signal
import socket
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mooring.cli.journal_rules import JournalRules, check_trust_flag
from mooring.cli.rule_flags import gives_configuration, read_rules
from mooring.cli.scheduler_flags import read_scheduler_address
from mooring.errors import ConfigError, MooringError

if TYPE_CHECKING:
    from mooring.client.client import Client
    from mooring.ui.page_data import PageData

USER_AGENT = "mooring-ui"


def run(args: argparse.Namespace) -> int:
    """Serve the page until a signal ends it; return the exit status."""
    # What informers and plugins log does not belong beside the address.
    logging.getLogger("mooring").addHandler(logging.NullHandler())
    check_trust_flag(args)
    asyncio.run(_serve(args))
    return 0


async def _serve(args: argparse.Namespace) -> None:
    from mooring.ui.page_server import listen

    with listen(args.port) as listener:
        if args.journal is None:
            await _serve_cluster(args, listener)
        else:
            await _serve_journal(args, listener)


async def _serve_cluster(args: argparse.Namespace, listener: socket.socket) -> None:
    from mooring.client.kubeconfig import load_kubeconfig
    from mooring.observe.clock import SystemClock
    from mooring.scheduler.following import following, reading_client
    from mooring.ui.leader_link import LeaderLink
    from mooring.ui.leader_rules import PageRules, rules_at_start
    from mooring.ui.page_data import PageData
    from mooring.ui.page_leader import PageLeader
    from mooring.ui.page_questions import PageQuestions
    from mooring.ui.page_source import FollowedCluster

    rules = read_rules(args)
    address = read_scheduler_address(args)
    connection = load_kubeconfig(args.kubeconfig, context=args.context)
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(reading_client(connection, USER_AGENT))
        await _check(client)
        applied = PageRules(rules)
        if not gives_configuration(args):
            applied = await rules_at_start(
                connection, client, address, rules, now=SystemClock().now(), user_agent=USER_AGENT
            )
        rules = applied.rules
        running = await stack.enter_async_context(
            following(rules.config, client, rules.registry, rules.gates)
        )
        source = FollowedCluster(running)
        clock = running.scheduler.clock
        link = LeaderLink(
            connection,
            client,
            address,
            source.decisions,
            scheduler_names=source.scheduler_names,
            clock=clock,
            user_agent=USER_AGENT,
        )
        await stack.enter_async_context(link.opened())
        leader = PageLeader(link, running.scheduler.profiles, clock)
        data = PageData(source, rules=rules.text, server=connection.server, leader=leader)
        questions = PageQuestions(running, applied, link)
        await _serve_page(args, listener, data, source.unread, questions=questions)


def _check_journal_flags(args: argparse.Namespace) -> None:
    """Raise ConfigError if a flag is about a cluster, or about what a journal has itself."""
    about_cluster = ("kubeconfig", "context", "scheduler", "certificate_sha256", "lease")
    for flag in (*about_cluster, "feature_gates", "emulated_version"):
        if getattr(args, flag):
            name = flag.replace("_", "-")
            raise ConfigError(f"--{name} has no effect on a journal: leave out it or --journal")


async def _serve_journal(args: argparse.Namespace, listener: socket.socket) -> None:
    from mooring.ui.page_past import PagePast

    _check_journal_flags(args)
    past = PagePast(args.journal, JournalRules(args).applied)
    try:
        await _serve_page(args, listener, await past.read(past.end), (), past=past)
    finally:
        past.close()


async def _serve_page(
    args: argparse.Namespace,
    listener: socket.socket,
    data: PageData,
    unread: Sequence[str],
    **more: Any,
) -> None:
    """Serve the page until a signal comes; `more` says what can be asked."""
    from mooring.ui.page_access import PageAccess
    from mooring.ui.page_files import load_page
    from mooring.ui.page_server import PageServer

    access = PageAccess(listener.getsockname()[1])
    server = PageServer(data, load_page(), access, **more)
    server.start(listener)
    # Before the address is printed: the user may end it at once.
    ended = _ended_by_signal()
    try:
        about = data.about()
        print(f"The page about {about['server']}, by {about['rules']}:\n  {access.url}")
        if unread:
            print(f"  could not be read, and count as if there were none: {', '.join(unread)}")
        print("Ctrl-C ends it.", flush=True)
        if not args.no_browser:
            await asyncio.to_thread(webbrowser.open, access.url)
        await ended.wait()
    finally:
        await server.stop()


async def _check(client: Client) -> None:
    """Raise MooringError at once if the cluster does not answer, or not about nodes.

    Informers would try again and again: a cluster that they follow may come back.
    """
    try:
        await client.request("GET", "/api/v1/nodes?limit=1", retries=0)
    except MooringError as error:
        raise MooringError(f"nodes cannot be read: {error}") from None


def _ended_by_signal() -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    # Signals can be handled in the main thread only.
    with contextlib.suppress(RuntimeError, ValueError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
    return ended

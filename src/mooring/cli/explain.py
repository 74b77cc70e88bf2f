"""`mooring explain`: why a pod of a cluster is where it is, or why it waits."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from mooring.api import Pod
from mooring.cli.gate_flags import add_gate_flags, read_gates
from mooring.cli.messages import terminal_width, warn
from mooring.cli.schedule import shown_nodes
from mooring.config import LoadResult, default_config, load_config
from mooring.errors import ApiError, MooringError, ObjectError
from mooring.explain.data import explanation_data
from mooring.explain.examination import Examination
from mooring.explain.tables import wrap
from mooring.explain.text import explanation_text
from mooring.registry import default_registry, load_plugins

if TYPE_CHECKING:
    from mooring.client.client import Client
    from mooring.client.connection import Connection
    from mooring.scheduler.running_scheduler import RunningScheduler

#: Version of the format of `-o json|yaml`; that of `mooring schedule` for the explanation itself.
VERSION = 2
#: Seconds to wait for the lists of all kinds.
PATIENCE = 60.0
USER_AGENT = "mooring-explain"

#: The kinds without which nothing can be said, as informers name them.
_NEEDED = ("nodes.v1.", "pods.v1.")
#: What kubectl prints and takes before a pod's name.
_WORDS = ("pod", "pods", "po")

_EPILOG = """\
The cluster may be served by any scheduler. Rights to list and watch what a scheduler reads are
enough, and nothing is written. The answer is that of Mooring's rules now: those of --config and
--plugin, or else of the default configuration. A pod that has a node is asked about as if it were
not there.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `explain`."""
    parser = subparsers.add_parser(
        "explain",
        help="say why a pod of a cluster is where it is, or why it waits",
        description="Say why a pod of a cluster is where it is, or why it waits.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pod", metavar="POD", help="the pod's name, or namespace/name")
    parser.add_argument(
        "-n", "--namespace", default="", help="its namespace; by default that of the context"
    )
    parser.add_argument("--kubeconfig", default="", metavar="PATH", help="a kubeconfig")
    parser.add_argument("--context", default="", metavar="NAME", help="a context of the kubeconfig")
    parser.add_argument("--config", metavar="FILE", help="a KubeSchedulerConfiguration")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="register a plugin, and without --config enable it; may be repeated",
    )
    add_gate_flags(parser)
    parser.add_argument(
        "--nodes",
        type=shown_nodes,
        metavar="N|all",
        help="show what each plugin said of N nodes, or of all of them",
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text")
    parser.set_defaults(run=_run)


class PodExplanation(msgspec.Struct, frozen=True):
    """The explanation of a pod, and what it rests on."""

    pod: Pod
    found: Examination
    #: Whose rules were applied.
    rules: str
    #: The kinds that could not be read and count as if there were no such objects.
    unread: Sequence[str]


def _run(args: argparse.Namespace) -> int:
    # What informers and plugins log is not part of the answer.
    logging.getLogger("mooring").addHandler(logging.NullHandler())
    answer = asyncio.run(_explain(args))
    if args.output == "text":
        print("\n".join(_lines(answer, terminal_width(), args.nodes)))
        return 0
    data = _data(answer)
    if args.output == "json":
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=2**31)
        sys.stdout.write(text)
    return 0


async def _explain(args: argparse.Namespace) -> PodExplanation:
    from mooring.client.kubeconfig import load_kubeconfig
    from mooring.explain.live_examination import examine_now

    gates = read_gates(args)
    more = [*args.plugins, *load_plugins(args.plugin)]
    registry = default_registry(more)
    if args.config is None:
        enabled = dict.fromkeys(plugin.name for plugin in more)
        config = default_config(registry=registry, feature_gates=gates, enabled=enabled)
    else:
        config = load_config(args.config, registry=registry, feature_gates=gates)
        warn(config.warnings)
    connection = load_kubeconfig(args.kubeconfig, context=args.context)
    async with _client(connection) as client:
        pod = await _find(client, args.pod, args.namespace or connection.namespace)
        async with _followed(config, client, registry, gates) as running:
            unread = [
                _shown(informer.name)
                for informer in running.informers
                if informer.failure is not None
            ]
            current = running.scheduler.cache.pod(pod.metadata.uid)
            found = await examine_now(running.scheduler, pod if current is None else current.pod)
    return PodExplanation(pod, found, _rules(args, config), unread)


def _rules(args: argparse.Namespace, config: LoadResult) -> str:
    parts = [args.config or "the default configuration"]
    parts += [f"plugin {reference}" for reference in args.plugin]
    if config.config.extenders:
        parts.append("without its extenders, which are not asked")
    return ", ".join(parts)


@contextlib.asynccontextmanager
async def _client(connection: Connection) -> AsyncIterator[Client]:
    """Open a client through which only GET passes."""
    from mooring.client.client import Client
    from mooring.client.read_only import refuse_writes
    from mooring.client.transports import make_transport
    from mooring.observe.clock import SystemClock

    clock = SystemClock()
    transport = make_transport(
        connection, user_agent=USER_AGENT, clock=clock, before_send=refuse_writes
    )
    client = Client(transport, clock=clock)
    try:
        yield client
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def _followed(
    config: LoadResult, client: Client, registry: Any, gates: Any
) -> AsyncIterator[RunningScheduler]:
    """Run a scheduler that only reads, until it knows the whole cluster."""
    from mooring.observe.clock import SystemClock
    from mooring.observe.metrics import Metrics
    from mooring.scheduler.running_scheduler import RunningScheduler

    running = RunningScheduler(
        config,
        client=client,
        event_client=client,
        registry=registry,
        features=gates,
        clock=SystemClock(),
        metrics=Metrics(gates.enabled),
        read_only=True,
    )
    try:
        await _sync(running)
        following = asyncio.create_task(running.scheduler.follow())
        yield running
        following.cancel()
    finally:
        await running.close(0.0)


async def _sync(running: RunningScheduler) -> None:
    """Wait for the lists of all kinds; raise if nodes or pods cannot be read in time."""
    syncing = asyncio.ensure_future(running.sync())
    try:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not syncing.done():
            await asyncio.wait((syncing,), timeout=0.2)
            late = asyncio.get_running_loop().time() > deadline
            for informer in running.informers.unsynced():
                failure = informer.failure
                refused = isinstance(failure, ApiError) and (
                    failure.is_forbidden or failure.is_unauthorized
                )
                if failure is not None and (late or (refused and informer.name in _NEEDED)):
                    raise MooringError(f"{_shown(informer.name)} cannot be read: {failure}")
            if late and not syncing.done():
                waiting = ", ".join(_shown(one.name) for one in running.informers.unsynced())
                raise MooringError(f"no answer after {PATIENCE:.0f} s about {waiting}")
        await syncing
    finally:
        syncing.cancel()


def _shown(name: str) -> str:
    """Return the name of an informer as kubectl writes resources: without the version."""
    plural, _, rest = name.partition(".")
    _, _, group = rest.partition(".")
    return f"{plural}.{group}" if group else plural


async def _find(client: Client, name: str, namespace: str) -> Pod:
    given, slash, rest = name.partition("/")
    if slash:
        name = rest
        namespace = namespace if given in _WORDS else given
    try:
        return await client.get(Pod, name, namespace)
    except ApiError as error:
        if error.is_not_found:
            raise ObjectError(
                f'there is no pod "{name}" in namespace {namespace}; -n names another one'
            ) from None
        raise


def _lines(answer: PodExplanation, width: int | None, nodes: int | None) -> list[str]:
    pod = answer.pod
    state = f"is on {pod.spec.node_name}" if pod.spec.node_name else "is pending"
    lines = [f"{pod.key} {state}. Asked now, by the rules of {answer.rules}:"]
    if pod.spec.node_name:
        lines[0] = f"{pod.key} {state}. Asked now as if it were not there, by {answer.rules}:"
    if answer.unread:
        unread = ", ".join(answer.unread)
        text = f"  could not be read, and count as if there were none: {unread}"
        lines += wrap(text, width, indent="    ")
    explained = explanation_text([answer.found], width, nodes=nodes, current=pod.spec.node_name)
    return [*lines, "", *explained]


def _data(answer: PodExplanation) -> dict[str, Any]:
    return {
        "version": VERSION,
        "rules": answer.rules,
        "unread": list(answer.unread),
        "currentNode": answer.pod.spec.node_name,
        **explanation_data([answer.found]),
    }

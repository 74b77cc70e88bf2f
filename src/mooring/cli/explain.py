"""`mooring explain`: why a pod of a cluster is where it is, or why it waits."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from mooring.api import Pod
from mooring.cli.messages import terminal_width
from mooring.cli.recorded_attempt import explain_recorded
from mooring.cli.rule_flags import add_rule_flags, read_rules
from mooring.cli.schedule import shown_nodes
from mooring.errors import ApiError, ObjectError
from mooring.explain.data import answer_data
from mooring.explain.examination import Examination
from mooring.explain.tables import wrap
from mooring.explain.text import explanation_text

if TYPE_CHECKING:
    from mooring.client.client import Client

USER_AGENT = "mooring-explain"

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
    parser.add_argument(
        "--attempt", type=_attempt, metavar="N", help="the attempt to explain; by default the last"
    )
    parser.add_argument(
        "--journal",
        metavar="DIR",
        help="explain an attempt that a journal holds, also of a pod that is gone; no cluster is "
        "asked",
    )
    add_rule_flags(parser)
    parser.add_argument(
        "--nodes",
        type=shown_nodes,
        metavar="N|all",
        help="show what each plugin said of N nodes, or of all of them",
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text")
    parser.set_defaults(run=_run)


def _attempt(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'"{text}" is not a number from 1 on')
    return int(text)


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
    if args.journal is not None:
        return explain_recorded(args)
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
    from mooring.insight.following import following, reading_client, unread_kinds

    rules = read_rules(args)
    connection = load_kubeconfig(args.kubeconfig, context=args.context)
    async with reading_client(connection, USER_AGENT) as client:
        pod = await _find(client, args.pod, args.namespace or connection.namespace)
        async with following(rules.config, client, rules.registry, rules.gates) as running:
            current = running.scheduler.cache.pod(pod.metadata.uid)
            found = await examine_now(running.scheduler, pod if current is None else current.pod)
            return PodExplanation(pod, found, rules.text, unread_kinds(running))


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
    return answer_data(
        answer.found,
        rules=answer.rules,
        unread=answer.unread,
        current=answer.pod.spec.node_name,
    )

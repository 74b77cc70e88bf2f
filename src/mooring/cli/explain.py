"""`mooring explain`: why a pod of a cluster is where it is, or why it waits."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.api import Pod
from mooring.cli.journal_rules import check_trust_flag
from mooring.cli.messages import printable_json, printable_lines, printable_yaml, terminal_width
from mooring.cli.recorded_attempt import explain_recorded
from mooring.cli.rule_flags import gives_rules, read_rules
from mooring.cli.scheduler_flags import read_scheduler_address
from mooring.errors import ApiError, ConfigError, MooringError, ObjectError
from mooring.explain.data import ANSWER_VERSION, answer_data
from mooring.explain.data_reading import read_live_explanation
from mooring.explain.tables import wrap
from mooring.explain.text import explanation_text

if TYPE_CHECKING:
    from mooring.client.client import Client
    from mooring.client.connection import Connection

USER_AGENT = "mooring-explain"

#: What kubectl prints and takes before a pod's name.
_WORDS = ("pod", "pods", "po")
#: At most this many pods of the same name in other namespaces are named.
_ELSEWHERE = 5

_ADVICE = "--now asks without the scheduler"
_TWO_SOURCES = (
    "{} applies rules of your own, here and now, and {} is a question to the scheduler: leave out "
    "one of them"
)


class PodExplanation(msgspec.Struct, frozen=True):
    """The explanation of a pod as the command shows it."""

    #: Who answered, and what it rests on.
    heading: Sequence[str]
    #: The fields of -o json and -o yaml.
    data: dict[str, Any]
    #: The lines of the explanation, by the width of the terminal and the nodes to show.
    lines: Callable[[int | None, int | None], list[str]]


def run(args: argparse.Namespace) -> int:
    """Explain the pod that a command line names; return the exit status."""
    # What informers and plugins log is not part of the answer.
    logging.getLogger("mooring").addHandler(logging.NullHandler())
    check_trust_flag(args)
    if args.journal is not None:
        return explain_recorded(args)
    _check(args)
    answer = asyncio.run(_explain(args))
    if args.output == "text":
        print(printable_lines(_lines(answer, terminal_width(), args.nodes)))
        return 0
    if args.output == "json":
        print(printable_json(answer.data))
    else:
        sys.stdout.write(printable_yaml(answer.data))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise ConfigError if the flags contradict each other.

    They may not ask for both own rules and the scheduler's answer, and must describe the scheduler
    consistently.
    """
    own = "--now" if args.now else gives_rules(args)
    for flag in ("attempt", "scheduler", "certificate_sha256", "lease"):
        if own and getattr(args, flag):
            raise ConfigError(_TWO_SOURCES.format(own, f"--{flag.replace('_', '-')}"))
    read_scheduler_address(args)


async def _explain(args: argparse.Namespace) -> PodExplanation:
    from mooring.client.kubeconfig import load_kubeconfig
    from mooring.scheduler.following import reading_client

    connection = load_kubeconfig(args.kubeconfig, context=args.context)
    async with reading_client(connection, USER_AGENT) as client:
        question = _Question(args, connection, client)
        reason = ""
        if not (args.now or gives_rules(args)):
            found = await question.ask_scheduler()
            if isinstance(found, PodExplanation):
                return found
            reason = found
        return await question.ask_here(reason)


class _Question:
    """One question about a pod, to the scheduler or to a scheduler that only reads."""

    def __init__(self, args: argparse.Namespace, connection: Connection, client: Client) -> None:
        self._args = args
        self._connection = connection
        self._client = client
        given, slash, rest = args.pod.partition("/")
        self.name = rest if slash else args.pod
        self.namespace = args.namespace or connection.namespace
        if slash and given not in _WORDS:
            self.namespace = given

    async def ask_scheduler(self) -> PodExplanation | str:
        """Return the explanation of the scheduler that leads, or why none does."""
        from mooring.leader.leader_lookup import NoLeader
        from mooring.leader.scheduler_questions import NotKnown, ask_about_pod, opened_scheduler

        args = self._args
        pod = await self._look()
        async with opened_scheduler(
            self._connection,
            self._client,
            read_scheduler_address(args),
            scheduler_names=("" if pod is None else pod.spec.scheduler_name,),
            now=time.time(),
            user_agent=USER_AGENT,
        ) as scheduler:
            if isinstance(scheduler, NoLeader):
                found: object = scheduler
            else:
                found = await ask_about_pod(
                    scheduler, self.namespace, self.name, args.attempt, advice=_ADVICE
                )
            if isinstance(found, NoLeader):
                if args.attempt is not None or args.scheduler:
                    raise MooringError(f"no scheduler knows of its attempts: {found.reason}")
                return found.reason
            if isinstance(found, NotKnown):
                if pod is None:
                    raise await self._not_found()
                raise ObjectError(found.reason)
            assert isinstance(found, dict) and not isinstance(scheduler, NoLeader)
            explained = read_live_explanation(found)
            return PodExplanation(
                [f"Answered by {scheduler.who}:"],
                {"version": ANSWER_VERSION, "answeredBy": scheduler.who, **found},
                lambda width, nodes: explained.lines(width, nodes=nodes),
            )

    async def ask_here(self, reason: str) -> PodExplanation:
        """Return the explanation by rules of one's own; `reason` is why no scheduler was asked."""
        from mooring.explain.live_examination import examine_now
        from mooring.scheduler.following import following, unread_kinds

        rules = read_rules(self._args)
        pod = await self._look(needed=True)
        if pod is None:
            raise await self._not_found()
        async with following(rules.config, self._client, rules.registry, rules.gates) as running:
            current = running.scheduler.cache.pod(pod.metadata.uid)
            found = await examine_now(running.scheduler, pod if current is None else current.pod)
            unread = unread_kinds(running)
        node = pod.spec.node_name
        heading = [f"{pod.key} is pending. Asked now, by the rules of {rules.text}:"]
        if node:
            heading = [
                f"{pod.key} is on {node}. Asked now as if it were not there, by {rules.text}:"
            ]
        if reason:
            heading.append(f"  asked here, because no Mooring leads: {reason}")
        if unread:
            names = ", ".join(unread)
            heading.append(f"  could not be read, and count as if there were none: {names}")
        data = {
            "noLeader": reason,
            **answer_data(found, rules=rules.text, unread=unread, current=node),
        }
        return PodExplanation(
            heading,
            data,
            lambda width, nodes: explanation_text([found], width, nodes=nodes, current=node),
        )

    async def _look(self, *, needed: bool = False) -> Pod | None:
        """Return the pod; None if there is none, or it may not be read and is not needed."""
        try:
            return await self._client.get(Pod, self.name, self.namespace)
        except ApiError as error:
            if error.is_not_found or (error.is_forbidden and not needed):
                return None
            raise

    async def _not_found(self) -> ObjectError:
        """Return the error that names the namespaces which have such a pod."""
        from mooring.client.resources import ListOptions

        text = f'there is no pod "{self.name}" in namespace {self.namespace}'
        try:
            options = ListOptions(field_selector=f"metadata.name={self.name}", limit=500)
            found = (await self._client.list(Pod, "", options)).items
        except ApiError:
            found = []
        if not found:
            return ObjectError(f"{text}; -n names another one")
        names = sorted(pod.metadata.namespace for pod in found)
        shown = ", ".join(names[:_ELSEWHERE]) + (", …" if len(names) > _ELSEWHERE else "")
        return ObjectError(f"{text}, but in {shown}: choose with -n")


def _lines(answer: PodExplanation, width: int | None, nodes: int | None) -> list[str]:
    first, *rest = answer.heading
    lines = [first]
    for text in rest:
        lines += wrap(text, width, indent="    ")
    return [*lines, "", *answer.lines(width, nodes)]

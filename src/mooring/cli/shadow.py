"""`mooring shadow`: compare Mooring's decisions with those of the scheduler of a cluster."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mooring.api import Pod
from mooring.cli.messages import printable, printable_json, printable_lines
from mooring.cli.rule_flags import read_rules
from mooring.config import LoadResult, default_config, load_config
from mooring.config.rules import Rules

if TYPE_CHECKING:
    from mooring.journal.journal import SchedulingJournal
    from mooring.scheduler.running_scheduler import RunningScheduler
    from mooring.scheduler.taps import SchedulingTap
    from mooring.shadow.comparison import PodComparison
    from mooring.shadow.shadow import Shadow, ShadowReport

USER_AGENT = "mooring-shadow"
#: Version of the format of `-o json`.
VERSION = 1
#: Seconds between two lines that say how the comparison stands so far.
SUMMARY_EVERY = 60.0


def run(args: argparse.Namespace) -> int:
    """Compare decisions until a signal or --for ends it; return the exit status."""
    # What informers and plugins log is not part of the report.
    logging.getLogger("mooring").addHandler(logging.NullHandler())
    asyncio.run(_follow(args))
    return 0


async def _follow(args: argparse.Namespace) -> None:
    from mooring.client.kubeconfig import load_kubeconfig
    from mooring.scheduler.following import following, reading_client, unread_kinds
    from mooring.shadow.shadow import Shadow
    from mooring.shadow.their_rules import beside

    rules = read_rules(args)
    theirs = _their_rules(args, rules)
    both = beside(rules.config, theirs)
    connection = load_kubeconfig(args.kubeconfig, context=args.context)
    async with (
        reading_client(connection, USER_AGENT) as client,
        _journal(args, rules, theirs) as (journal, follow),
        contextlib.AsyncExitStack() as stack,
    ):
        shadow = Shadow(_tell if args.output == "text" else None, journal)
        # The shadow comes first: the journal must hold its decision before the change that led to
        # it.
        taps: list[SchedulingTap] = [shadow] if journal is None else [shadow, journal]
        running = await stack.enter_async_context(
            following(both, client, rules.registry, rules.gates, taps=taps)
        )
        follow(running)
        shadow.begin(running.scheduler)
        if args.output == "text":
            print(f"Following {connection.server} by {rules.text}", flush=True)
            if unread := ", ".join(unread_kinds(running)):
                print(f"  could not be read, and count as if there were none: {unread}", flush=True)
        await _wait(args.duration, looking(shadow, is_told=args.output == "text"))
        _ask_pending(shadow, running)
    if args.output == "json":
        print(printable_json(_data(shadow.report, rules.text)))
    else:
        print(printable_lines(report_lines(shadow.report)))


@contextlib.asynccontextmanager
async def _journal(
    args: argparse.Namespace, rules: Rules, theirs: LoadResult
) -> AsyncIterator[tuple[SchedulingJournal | None, Callable[[RunningScheduler], None]]]:
    """Open the journal that --journal asks for; yield it, and the function that starts it."""
    if args.journal is None:
        yield None, lambda running: None
        return
    from mooring.journal.journal_folder import JournalFolder
    from mooring.observe.clock import SystemClock
    from mooring.observe.metrics import Metrics

    folder = JournalFolder(args.journal, args.journal_max_bytes)
    try:
        # A shadow does not call extenders.
        ours = replace(rules.config, config=replace(rules.config.config, extenders=()))
        journal = folder.begin(
            ours,
            registry=rules.registry,
            features=rules.gates,
            clock=SystemClock(),
            metrics=Metrics(),
            theirs=theirs,
        )
        yield journal, partial(folder.follow, journal)
    finally:
        await folder.close()


def _their_rules(args: argparse.Namespace, rules: Rules) -> LoadResult:
    if args.their_config is None:
        return default_config(registry=rules.registry, feature_gates=rules.gates)
    return load_config(args.their_config, registry=rules.registry, feature_gates=rules.gates)


def looking(shadow: Shadow, *, is_told: bool) -> Callable[[], None]:
    """Return a function that lets the shadow look, and tells sometimes how it stands."""
    told_at, told = time.monotonic(), 0

    def look() -> None:
        nonlocal told_at, told
        shadow.look()
        now, compared = time.monotonic(), shadow.report.counts.total()
        if is_told and now - told_at >= SUMMARY_EVERY and compared > told:
            told_at, told = now, compared
            print(_summary(shadow.report), flush=True)

    return look


async def _wait(seconds: float | None, look: Callable[[], None]) -> None:
    """Wait for SIGINT or SIGTERM, or until the time is over; call `look` meanwhile."""
    from mooring.shadow.shadow import LOOK_EVERY

    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    # Signals can be handled in the main thread only.
    with contextlib.suppress(RuntimeError, ValueError):
        for number in numbers:
            loop.add_signal_handler(number, ended.set)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not ended.is_set():
                look()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), LOOK_EVERY)


def _ask_pending(shadow: Shadow, running: RunningScheduler) -> None:
    """Compare the pods that the other scheduler has declared unschedulable."""
    from mooring.shadow.shadow import is_unschedulable

    # The lister may know changes that the scheduler's state does not have yet.
    running.scheduler.inbox.drain()
    for pod in running.informers.lister(Pod).list():
        if is_unschedulable(pod):
            shadow.ask_pending(pod, is_last=True)


def _tell(found: PodComparison) -> None:
    from mooring.shadow.comparison import Verdict

    if found.verdict is not Verdict.AGREED:
        print(printable(f"{found.pod}: {_difference(found)}"), flush=True)


def _difference(found: PodComparison) -> str:
    parts = [found.verdict.value]
    if found.theirs:
        parts.append(f"they chose {found.theirs}")
    if found.ours:
        parts.append(f"we would choose {found.ours}")
    if found.lost:
        parts.append(f"{found.lost} points lost")
    if found.plugin:
        parts.append(found.plugin)
    if found.reason:
        parts.append(found.reason)
    return ", ".join(parts)


def _summary(report: ShadowReport) -> str:
    from mooring.shadow.comparison import Verdict

    return (
        f"{report.counts[Verdict.AGREED]} of {report.decided} decided alike "
        f"({report.agreement:.1%}), {report.lost} points lost"
    )


def report_lines(report: ShadowReport) -> Iterator[str]:
    """Yield the lines of the whole comparison."""
    from mooring.shadow.comparison import Verdict

    yield _summary(report)
    for verdict in Verdict:
        count = report.counts[verdict]
        if not count or verdict is Verdict.AGREED:
            continue
        yield f"{verdict.value}: {count}"
        for (kind, plugin), number in sorted(report.plugins.items(), key=lambda one: -one[1]):
            if kind is verdict:
                yield f"  {number}  {plugin or '-'}"
                for example in report.examples[kind, plugin]:
                    yield f"     {example.pod}: {_difference(example)}"


def _data(report: ShadowReport, rules: str) -> dict[str, Any]:
    from mooring.shadow.comparison import Verdict

    return {
        "version": VERSION,
        "rules": rules,
        "decided": report.decided,
        "agreement": report.agreement,
        "pointsLost": report.lost,
        "counts": {verdict.value: report.counts[verdict] for verdict in Verdict},
        "differences": [
            {
                "verdict": verdict.value,
                "plugin": plugin,
                "pods": count,
                "examples": [
                    {
                        "pod": one.pod,
                        "theirs": one.theirs,
                        "ours": one.ours,
                        "pointsLost": one.lost,
                        "reason": one.reason,
                    }
                    for one in report.examples[verdict, plugin]
                ],
            }
            for (verdict, plugin), count in report.plugins.most_common()
        ],
    }

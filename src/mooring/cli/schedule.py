"""`mooring schedule`: schedule the pending pods of some manifests in memory."""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from mooring.api import KubeObject, Pod
from mooring.api.meta import parse_time
from mooring.app.signals import ended_by_interrupt, run_until_done
from mooring.cli.manifest_files import read_files
from mooring.config import LoadResult, default_config, load_config
from mooring.errors import ObjectError
from mooring.explain.data import explanation_data
from mooring.explain.examination import Examination
from mooring.explain.tables import table, wrap
from mooring.explain.text import explanation_text
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.observe.clock import VirtualClock
from mooring.offline.backlog import Outcomes, Progress, schedule_all
from mooring.offline.explaining import ExplainingScheduler
from mooring.offline.report import SCHEDULED, PodResult, ScheduleReport, make_report, report_data
from mooring.registry import Registry, default_registry, load_plugin

#: Exit status with --fail-on-pending if a pod was not scheduled.
NOT_ALL_SCHEDULED = 3

#: The rooms that log what happens in an attempt.
_ATTEMPT_ROOMS = ("queue", "binding", "scheduler")
_SILENT = logging.NullHandler()

_EPILOG = """\
Objects are given what the API server would give them: defaults, priorities, storage classes.
Pods without spec.nodeName are scheduled in queue order; a pod that stays pending is no failure.
Exit status: 0 when the run worked, 1 for bad input, 2 for wrong usage, 3 with --fail-on-pending.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `schedule`."""
    parser = subparsers.add_parser(
        "schedule",
        help="schedule the pending pods of some manifests in memory",
        description="Schedule the pending pods of some manifests in memory, and print where they "
        "go or why they stay pending.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        required=True,
        metavar="FILE",
        help='manifests: a file, a folder, or "-" for standard input; may be repeated',
    )
    parser.add_argument("--config", metavar="FILE", help="a KubeSchedulerConfiguration")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="register a plugin, and without --config enable it; may be repeated",
    )
    parser.add_argument(
        "--feature-gates", default="", metavar="A=true,B=false", help="gates to change"
    )
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), default="table")
    parser.add_argument(
        "--explain",
        action="append",
        default=[],
        metavar="POD",
        help="say what every plugin says of every node for a pod, by name or namespace/name; "
        "may be repeated",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the choice among equal nodes"
    )
    parser.add_argument(
        "--fail-on-pending",
        action="store_true",
        help=f"exit with status {NOT_ALL_SCHEDULED} where a pod was not scheduled",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    # Output is written only at the end, so an interrupt leaves nothing half done.
    with ended_by_interrupt():
        _silence_attempts()
        return _schedule_files(args)


def _silence_attempts() -> None:
    """Keep the log lines of attempts off standard error: the report says what each came to."""
    for room in _ATTEMPT_ROOMS:
        logging.getLogger(f"mooring.{room}").addHandler(_SILENT)


def _schedule_files(args: argparse.Namespace) -> int:
    gates = FeatureGates.from_text(args.feature_gates)
    _warn(gates.warnings)
    more = [*args.plugins, *(load_plugin(reference) for reference in args.plugin)]
    registry = default_registry(more)
    config = _config(args.config, registry, gates, more)
    manifests = read_files(args.filename, config=args.config)
    _warn(manifests.warnings)
    scheduler = ExplainingScheduler(
        manifests.objects,
        config=config,
        registry=registry,
        features=gates,
        clock=VirtualClock(_latest_time(manifests.objects)),
        random=random.Random(args.seed),
        explained=(),
    )
    pending = [pod for pod in scheduler.cluster.pods.list() if not pod.spec.node_name]
    not_tried = [
        pod
        for pod in pending
        if pod.is_terminating or pod.spec.scheduler_name not in scheduler.profiles
    ]
    for name in args.explain:
        uid = _find_pod(name, scheduler.cluster.pods.list(), not_tried).metadata.uid
        scheduler.examinations[uid] = []
    with ProgressLine() as progress:
        outcomes = _schedule(scheduler, progress.tell)
    report = make_report(scheduler, outcomes, not_tried)
    explained = [attempts for attempts in scheduler.examinations.values() if attempts]
    # Written in one call, so that a reader gets all of it or nothing.
    sys.stdout.write(_rendered(args.output, report, explained))
    if args.fail_on_pending and any(found.result != SCHEDULED for found in report.pods):
        return NOT_ALL_SCHEDULED
    return 0


def _schedule(scheduler: ExplainingScheduler, progress: Progress | None) -> Outcomes:
    """Schedule everything, in an event loop, because a plugin may wait at PreBind or Bind."""
    return run_until_done(schedule_all(scheduler, progress))


def _config(
    file: str | None, registry: Registry, gates: FeatureGates, more: Sequence[type[Plugin]]
) -> LoadResult:
    if file is None:
        enabled = dict.fromkeys(plugin.name for plugin in more)
        return default_config(registry=registry, feature_gates=gates, enabled=enabled)
    config = load_config(file, registry=registry, feature_gates=gates)
    _warn(config.warnings)
    used = {name for profile in config.profiles for name in profile.plugins}
    _warn(
        f"{file}: no profile uses plugin {plugin.name}: name it in `plugins`, or leave --config out"
        for plugin in more
        if plugin.name not in used
    )
    if config.config.extenders:
        _warn([f"{file}: extenders: not asked, since scheduling in memory calls nobody outside"])
    return config


def _latest_time(objects: Iterable[KubeObject]) -> float:
    """Return the latest time in the manifests, at which the run begins."""
    times = [
        parse_time(text)
        for obj in objects
        if isinstance(obj, Pod)
        for text in (obj.metadata.creation_timestamp, obj.status.start_time)
        if text
    ]
    return max(times, default=0.0)


def _find_pod(name: str, pods: Iterable[Pod], not_tried: Sequence[Pod]) -> Pod:
    found = [pod for pod in pods if name in (pod.key, pod.metadata.name)]
    if not found:
        raise ObjectError(f"--explain {name}: the manifests hold no such pod")
    if len(found) > 1:
        keys = ", ".join(sorted(pod.key for pod in found))
        raise ObjectError(f"--explain {name}: say which one: {keys}")
    pod = found[0]
    if pod.spec.node_name:
        raise ObjectError(f"--explain {name}: the pod is on node {pod.spec.node_name} already")
    if pod in not_tried:
        raise ObjectError(
            f"--explain {name}: nothing schedules the pod: "
            + (
                "it is being deleted"
                if pod.is_terminating
                else f'no profile serves schedulerName "{pod.spec.scheduler_name}"'
            )
        )
    return pod


def _rendered(form: str, report: ScheduleReport, explained: Sequence[Sequence[Examination]]) -> str:
    if form == "table":
        return "".join(f"{line}\n" for line in _lines(report, explained, _width()))
    data = report_data(report)
    if explained:
        data["explain"] = [explanation_data(attempts) for attempts in explained]
    if form == "json":
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=2**31)
    return text


def _lines(
    report: ScheduleReport, explained: Sequence[Sequence[Examination]], width: int | None
) -> list[str]:
    lines = []
    if report.pods:
        rows = [[found.pod.key, found.node or "-", _result(found)] for found in report.pods]
        lines += table(["POD", "NODE", "RESULT"], rows)
    for found in report.pods:
        if found.message and found.result != SCHEDULED:
            lines += ["", *wrap(f"{found.pod.key}: {found.message}", width, indent="  ")]
        lines += _tracebacks(found)
    for attempts in explained:
        lines += ["", *explanation_text(attempts, width)]
    return [*lines, "", _summary(report)] if lines else [_summary(report)]


def _result(found: PodResult) -> str:
    parts = [found.result]
    if found.nominated_node:
        parts.append(f"nominated to {found.nominated_node}")
    if found.victims:
        parts.append(f"preempting {', '.join(found.victims)}")
    return ", ".join(parts)


def _tracebacks(found: PodResult) -> list[str]:
    return [
        f"  {line}" for status in found.errors for line in status.traceback.rstrip().splitlines()
    ]


def _summary(report: ScheduleReport) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in report.counts().items() if count)
    total = f"{_counted(report.num_nodes, 'node')}, {_counted(len(report.pods), 'pending pod')}"
    return f"{total}: {counts}" if counts else total


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _width() -> int | None:
    """Return the width of the terminal or COLUMNS; None to leave lines unbroken."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


class ProgressLine:
    """The progress of a long run, shown on one line of a terminal and erased at the end."""

    #: Seconds before the first progress line, and between two updates.
    PATIENCE = 1.0
    INTERVAL = 0.2

    def __init__(self) -> None:
        self._shown = False
        self._next = time.monotonic() + self.PATIENCE

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    @property
    def tell(self) -> Progress | None:
        """Return the callback to report progress to; None if standard error is no terminal."""
        return self._tell if sys.stderr.isatty() else None

    def _tell(self, tried: int, waiting: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self.INTERVAL
            self._shown = True
            text = f"\r\x1b[Kscheduling: {tried} pods tried, {waiting} in the queue"
            print(text, end="", file=sys.stderr, flush=True)


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)

"""`mooring schedule`: schedule the pending pods of some manifests in memory."""

from __future__ import annotations

import argparse
import logging
import random
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import KubeObject, Pod, scheduling_group_key
from mooring.api.timestamps import parse_time
from mooring.app.signals import ended_by_interrupt, run_until_done
from mooring.cli.gate_flags import read_gates
from mooring.cli.manifest_files import read_files
from mooring.cli.messages import (
    BOLD,
    GREEN,
    RED,
    YELLOW,
    painted,
    printable,
    printable_json,
    printable_yaml,
    terminal_width,
    warn,
)
from mooring.cli.progress import ProgressLine
from mooring.cli.schedule_flags import NOT_ALL_SCHEDULED
from mooring.config.rules import Rules, make_rules
from mooring.errors import ObjectError
from mooring.explain.data import explanation_data
from mooring.explain.examination import Examination
from mooring.explain.group_explanation import group_data, group_text
from mooring.explain.tables import table, wrap
from mooring.explain.text import explanation_text
from mooring.framework.features import FeatureGates
from mooring.observe.clock import VirtualClock
from mooring.registry import load_plugins
from mooring.scheduler.examined_group import ExaminedGroup
from mooring.virtual.explaining_scheduler import ExplainingScheduler
from mooring.virtual.outcomes import Outcomes
from mooring.virtual.schedule_report import (
    ERROR,
    SCHEDULED,
    PodResult,
    ScheduleReport,
    make_report,
    report_data,
)
from mooring.virtual.simulation import Progress, schedule_all

#: Exit status if a plugin raised an exception.
PLUGIN_RAISED = 4

#: The rooms that log what happens in an attempt.
_ATTEMPT_ROOMS = ("queue", "binding", "scheduler")
_SILENT = logging.NullHandler()
#: The colours of results; the others are yellow.
_COLOURS = {SCHEDULED: GREEN, ERROR: RED}


def run(args: argparse.Namespace) -> int:
    """Schedule the manifests that a command line names; return the exit status."""
    # Output is written only at the end, so an interrupt leaves nothing half done.
    with ended_by_interrupt():
        _silence_attempts()
        return _schedule_files(args)


def _silence_attempts() -> None:
    """Keep the log lines of attempts off standard error: the report says what each came to."""
    for room in _ATTEMPT_ROOMS:
        logging.getLogger(f"mooring.{room}").addHandler(_SILENT)


def _schedule_files(args: argparse.Namespace) -> int:
    gates = read_gates(args)
    rules = _rules(args, gates)
    manifests = read_files(args.filename, config=args.config)
    warn(manifests.warnings)

    def make_scheduler(objects: Sequence[KubeObject]) -> ExplainingScheduler:
        return ExplainingScheduler(
            objects,
            config=rules.config,
            registry=rules.registry,
            features=gates,
            clock=VirtualClock(_latest_time(objects)),
            random=random.Random(args.seed),
        )

    scheduler = make_scheduler(manifests.objects)
    pending = [pod for pod in scheduler.cluster.pods.list() if not pod.spec.node_name]
    not_tried = [
        pod
        for pod in pending
        if pod.is_terminating or pod.spec.scheduler_name not in scheduler.profiles
    ]
    explained: list[Explained] = []
    for name in args.explain:
        pod = _find_pod(name, scheduler, not_tried)
        if pod.spec.node_name:
            unplaced = replace(pod, spec=replace(pod.spec, node_name=""))
            others = [unplaced if one is pod else one for one in manifests.objects]
            explained.append(_explain_placed(make_scheduler(others), pod, unplaced))
        else:
            attempts = scheduler.examiner.examinations.setdefault(pod.metadata.uid, [])
            of_group: list[ExaminedGroup] = []
            if scheduler.is_grouped(pod):
                key = scheduling_group_key(pod)
                of_group = scheduler.examiner.group_examinations.setdefault(key, of_group)
            explained.append(Explained(pod, attempts, of_group))
    with ProgressLine() as line:
        outcomes = _schedule(scheduler, _progress_on(line) if line.is_wanted else None)
    report = make_report(scheduler, outcomes, not_tried)
    explained = [one for one in explained if one.attempts or one.group_attempts]
    # Written in one call, so that a reader gets all of it or nothing.
    sys.stdout.write(_rendered(args.output, report, explained, args.nodes))
    if scheduler.examiner.has_raised or any(_tracebacks(found) for found in report.pods):
        return PLUGIN_RAISED
    if args.fail_on_pending and any(found.result != SCHEDULED for found in report.pods):
        return NOT_ALL_SCHEDULED
    return 0


def _schedule(scheduler: ExplainingScheduler, progress: Progress | None) -> Outcomes:
    """Schedule everything, in an event loop, because a plugin may wait at PreBind or Bind."""
    return run_until_done(schedule_all(scheduler, progress))


def _progress_on(line: ProgressLine) -> Progress:
    def tell(tried: int, waiting: int) -> None:
        line.show(f"scheduling: {tried} pods tried, {waiting} in the queue")

    return tell


def _rules(args: argparse.Namespace, gates: FeatureGates) -> Rules:
    rules = make_rules(args.config, [*args.plugins, *load_plugins(args.plugin)], gates)
    warn(rules.warnings)
    if rules.config.config.extenders:
        warn(
            [f"{args.config}: extenders: not called, because `mooring schedule` sends no requests"]
        )
    return rules


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


class Explained(msgspec.Struct, frozen=True):
    """A pod of `--explain`, as the manifests have it, and its attempts or those of its group."""

    pod: Pod
    attempts: Sequence[Examination]
    group_attempts: Sequence[ExaminedGroup] = ()


def _explain_placed(scheduler: ExplainingScheduler, pod: Pod, unplaced: Pod) -> Explained:
    """Examine an attempt of a pod that has a node, as if it had none."""
    if scheduler.is_grouped(pod):
        attempts = run_until_done(scheduler.explain_in_group(unplaced))
        if attempts:
            return Explained(pod, (), attempts)
    return Explained(pod, [run_until_done(scheduler.explain(unplaced))])


def _find_pod(name: str, scheduler: ExplainingScheduler, not_tried: Sequence[Pod]) -> Pod:
    pods = scheduler.cluster.pods.list()
    found = [pod for pod in pods if name in (pod.key, pod.metadata.name)]
    if not found:
        raise ObjectError(f"--explain {name}: the manifests contain no such pod")
    if len(found) > 1:
        keys = ", ".join(sorted(pod.key for pod in found))
        raise ObjectError(f"--explain {name}: there are several such pods: {keys}")
    pod = found[0]
    is_served = pod.spec.scheduler_name in scheduler.profiles
    if pod in not_tried or not is_served:
        raise ObjectError(
            f"--explain {name}: nothing schedules the pod: "
            + (
                "it is being deleted"
                if is_served
                else f'no profile serves schedulerName "{pod.spec.scheduler_name}"'
            )
        )
    return pod


def _rendered(
    form: str, report: ScheduleReport, explained: Sequence[Explained], nodes: int | None
) -> str:
    if form == "table":
        return "".join(f"{line}\n" for line in _lines(report, explained, terminal_width(), nodes))
    data = report_data(report)
    if explained:
        data["explain"] = [_explained_data(one) for one in explained]
    if form == "json":
        return printable_json(data) + "\n"
    return printable_yaml(data)


def _explained_data(one: Explained) -> dict[str, Any]:
    place = {"currentNode": one.pod.spec.node_name}
    if not one.group_attempts:
        return {**explanation_data(one.attempts), **place}
    name = {"namespace": one.pod.metadata.namespace, "name": one.pod.metadata.name}
    return {**name, "podGroup": group_data(one.pod, one.group_attempts), **place}


def _lines(
    report: ScheduleReport, explained: Sequence[Explained], width: int | None, nodes: int | None
) -> list[str]:
    lines = []
    if report.pods:
        rows = [
            [printable(cell) for cell in (found.pod.key, found.node or "-", _result(found))]
            for found in report.pods
        ]
        heading, *below = table(["POD", "NODE", "RESULT"], rows)
        lines += [painted(heading, BOLD, sys.stdout)]
        lines += [_coloured(line, found) for line, found in zip(below, report.pods, strict=True)]
    return [*lines, *map(printable, _details(report, explained, width, nodes, bool(lines)))]


def _details(
    report: ScheduleReport,
    explained: Sequence[Explained],
    width: int | None,
    nodes: int | None,
    follows_table: bool,
) -> list[str]:
    """Return the lines after the table of pods."""
    lines: list[str] = []
    for found in report.pods:
        if found.message and found.result != SCHEDULED:
            lines += ["", *wrap(f"{found.pod.key}: {found.message}", width, indent="  ")]
        lines += _tracebacks(found)
    for one in explained:
        if node := one.pod.spec.node_name:
            lines += ["", f"{one.pod.key} is on {node}. If it had no node:"]
        if one.group_attempts:
            lines += ["", *group_text(one.pod, one.group_attempts, width)]
        else:
            lines += ["", *explanation_text(one.attempts, width, nodes=nodes)]
    return [*lines, "", _summary(report)] if lines or follows_table else [_summary(report)]


def _coloured(line: str, found: PodResult) -> str:
    """Return a line of the table with its last cell, the result, in a colour."""
    text = printable(_result(found))
    colour = _COLOURS.get(found.result, YELLOW)
    return line.removesuffix(text) + painted(text, colour, sys.stdout)


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

"""`mooring explain POD --journal DIR`: an attempt that a journal holds, explained in full."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.api.timestamps import format_micro_time, format_time
from mooring.cli.journal_rules import JournalRules
from mooring.cli.journal_warnings import showing_warnings
from mooring.cli.messages import printable_json, printable_lines, printable_yaml, terminal_width
from mooring.explain.data import explanation_data
from mooring.explain.group_explanation import tree_table
from mooring.explain.tables import wrap
from mooring.explain.text import explanation_text

if TYPE_CHECKING:
    from mooring.explain.attempt_record import AttemptRecord
    from mooring.journal.entries import Compared, SegmentHead
    from mooring.replay.journal_explanation import ExplainedAttempt
    from mooring.replay.replaying import RunRules

#: Version of the format of `-o json|yaml`.
VERSION = 2
#: What kubectl prints and takes before a pod's name.
_WORDS = ("pod", "pods", "po")


def explain_recorded(args: argparse.Namespace) -> int:
    """Explain an attempt of `args.journal`; return the exit status."""
    with showing_warnings():
        return _explain(args)


def _explain(args: argparse.Namespace) -> int:
    from mooring.replay.journal_explanation import (
        choose_attempt,
        explain_attempt,
        find_attempts,
    )

    name, namespace = args.pod, args.namespace
    given, slash, rest = name.partition("/")
    if slash:
        name = rest
        namespace = namespace if given in _WORDS else given
    attempts = find_attempts(args.journal, name, namespace)
    chosen = choose_attempt(attempts, args.attempt)
    rules = JournalRules(args)
    explained = explain_attempt(args.journal, chosen, lambda head: _rules(rules, head))
    attempt = explained.attempt
    record = None if attempt.ends is None else attempt.ends.record
    if args.output == "text":
        print(printable_lines(_lines(explained, terminal_width(), args.nodes)))
        return 0
    data = {
        "version": VERSION,
        "rules": explained.rules,
        "time": format_micro_time(chosen.time),
        "attempts": sorted({entry.attempt for entry in attempts}),
        "recorded": None if record is None else _record_data(record),
        "trial": explained.is_trial,
        "lacking": list(explained.lacking),
        "compared": None if attempt.compared is None else _compared_data(attempt.compared),
        "tree": msgspec.to_builtins(explained.tree),
        **explanation_data([explained.found]),
    }
    if args.output == "json":
        print(printable_json(data))
    else:
        sys.stdout.write(printable_yaml(data))
    return 0


def _rules(rules: JournalRules, head: SegmentHead) -> RunRules:
    from mooring.replay.replaying import RunRules

    return RunRules(rules.applied(head))


def _lines(explained: ExplainedAttempt, width: int | None, nodes: int | None) -> list[str]:
    from mooring.replay.journal_explanation import ONLY_A_TRIAL
    from mooring.replay.report_text import left_out_text

    found, attempt, rules = explained.found, explained.attempt, explained.rules
    chosen, record = attempt.begins, None if attempt.ends is None else attempt.ends.record
    lines = [
        f"{chosen.namespace}/{chosen.name}, attempt {chosen.attempt} at "
        f"{format_time(chosen.time)}, from the journal, by {rules}:"
    ]
    if explained.is_trial:
        lines += wrap(f"  {ONLY_A_TRIAL}", width, indent="    ")
    if record is not None and (
        record.node != found.decision.node_name or record.message != found.decision.message
    ):
        was = record.node or record.message
        lines += wrap(f"  the journal says otherwise: {was}", width, indent="    ")
    if explained.lacking:
        lines += wrap(f"  {left_out_text(explained.lacking)}", width, indent="    ")
    if attempt.compared is not None:
        text = _compared_text(attempt.compared)
        lines += wrap(f"  the other scheduler: {text}", width, indent="    ")
    lines += ["", *explanation_text([found], width, nodes=nodes)]
    if explained.tree:
        top = f"{chosen.namespace}/{explained.tree[0].name}"
        lines += ["", f"This attempt of composite pod group {top}:", *tree_table(explained.tree)]
    return lines


def _compared_text(compared: Compared) -> str:
    parts = [compared.theirs or "pending", compared.verdict]
    if compared.lost:
        parts.append(f"{compared.lost} points lost")
    return ", ".join(part for part in (*parts, compared.plugin, compared.reason) if part)


def _compared_data(compared: Compared) -> dict[str, Any]:
    return {
        "theirs": compared.theirs,
        "verdict": compared.verdict,
        "ours": compared.ours,
        "pointsLost": compared.lost,
        "plugin": compared.plugin,
        "reason": compared.reason,
    }


def _record_data(record: AttemptRecord) -> dict[str, Any]:
    return {
        "outcome": record.outcome,
        "node": record.node,
        "message": record.message,
        "refusingPlugins": list(record.refusing_plugins),
        "nominatedNode": record.nominated_node,
        "victims": list(record.victims),
    }

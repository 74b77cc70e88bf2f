"""The process that replays one attempt of a journal for a running scheduler.

A replay takes time and memory that the scheduling loop needs, so it runs in its own process with a
low priority and limits. If memory is short, the kernel ends this process first. It reads the
question from standard input and writes the answer to standard output, as JSON.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import sys
from collections.abc import Collection
from pathlib import Path

import msgspec

from mooring.errors import JournalError, MooringError
from mooring.explain.data import explanation_data
from mooring.explain.journal_questions import JournalQuestion
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.journal.entries import AttemptBegins
from mooring.journal.journal_reading import find_entries
from mooring.replay.child_replayer import AnsweringRequest, AnsweringResult
from mooring.replay.journal_explanation import ONLY_A_TRIAL, explain_attempt
from mooring.replay.replay_rules import recorded_rules
from mooring.replay.replaying import RunRules
from mooring.replay.report_text import left_out_text

#: The memory that a replay may use.
MAX_BYTES = 4 * 2**30
#: The seconds of processor time that a replay may use.
MAX_CPU_SECONDS = 60

#: With this, the process gets about a tenth of a processor that another process wants too. With a
#: lower priority, a busy machine would never answer.
_LOW_PRIORITY = 10
_FIRST_TO_END = "1000"
#: How often a replay is tried: the journal may remove segments while they are read.
_TRIES = 3


def find_attempt(folder: Path, question: JournalQuestion) -> AttemptBegins | None:
    """Return the newest attempt that matches a question; None if the journal has none.

    If the pod has several cycles in an attempt of its group, it is the last of them. The newest
    segments are read first; those that ended before `question.since` are not read.
    """
    named = f'"{question.namespace}","{question.name}","{question.uid}'.encode()

    def is_wanted(line: bytes) -> bool:
        return line.startswith(b'["attempt",') and named in line

    for entry in find_entries(folder, is_wanted, since=question.since):
        if (
            isinstance(entry, AttemptBegins)
            and (entry.namespace, entry.name) == (question.namespace, question.name)
            and question.uid in ("", entry.uid)
            and question.attempt in (None, entry.attempt)
            and entry.time >= question.since
        ):
            return entry
    return None


def answer(
    folder: Path, question: JournalQuestion, plugins: Collection[RecordedPlugin] = ()
) -> AnsweringResult:
    """Find and replay an attempt by the recorded rules; load the files of `plugins` only."""
    chosen = find_attempt(folder, question)
    if chosen is None:
        return AnsweringResult()
    try:
        explained = explain_attempt(
            folder,
            chosen,
            lambda head: RunRules(recorded_rules(head, trusts=plugins.__contains__)),
        )
    except MooringError as error:
        return AnsweringResult(known=True, problem=str(error))
    found, ends = explained.found, explained.attempt.ends
    record = None if ends is None else ends.record
    decision, problem = found.decision, ONLY_A_TRIAL if explained.is_trial else ""
    if record is not None and (
        record.node != decision.node_name or record.message != decision.message
    ):
        was, now = record.node or record.message, decision.node_name or decision.message
        problem = f"the replay decided otherwise: {now}; recorded was: {was}"
        if explained.lacking:
            problem = f"{left_out_text(explained.lacking)}; {problem}"
    return AnsweringResult(True, explanation_data([found]), record, problem, list(explained.tree))


def _answer_stably(asked: AnsweringRequest) -> AnsweringResult:
    """Answer; retry if the journal changed meanwhile, and report a problem if it is unreadable."""
    problem = ""
    for _ in range(_TRIES):
        try:
            return answer(Path(asked.folder), asked.question, asked.plugins)
        except JournalError as error:
            problem = str(error)
    return AnsweringResult(known=True, problem=problem)


def limit_process() -> None:
    """Lower the priority of this process, and limit its memory and processor time."""
    os.nice(_LOW_PRIORITY)
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))
    # The file exists only on Linux.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_END)


def main() -> int:
    """Answer the question on standard input; return the exit status."""
    logging.getLogger("mooring").addHandler(logging.NullHandler())
    limit_process()
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=AnsweringRequest)
    # A plugin may print to standard output, which is for the answer only.
    output, sys.stdout = sys.stdout, sys.stderr
    result = _answer_stably(asked)
    output.buffer.write(msgspec.json.encode(result))
    output.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The last runs of periodic work, and answers that are written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.errors import JournalError
from mooring.framework.handle import HttpAnswer
from mooring.journal.entries import Entry, Fetched
from mooring.journal.journal_reading import read_journal
from mooring.journal.left_out import digest
from mooring.journal.work_runs import AnswerEncoder, Fetch, WorkRuns
from mooring.scheduler.tapped_clients import PrivateAnswer
from tests.journal.journals import read, simple_head
from tests.journal.test_journal_reading import BEGINS, ENDS, write

URL = "GET http://watcher.example/watcher"
LONG = b"x" * 4096


def answered(time: float, answer: HttpAnswer | None = None, error: str = "") -> Fetch:
    return Fetch(time, URL, HttpAnswer(200, LONG) if answer is None else answer, error, "fetch 1")


FAILURES = [
    pytest.param(Fetch(3.0, URL, None, "no answer", "fetch 1"), id="no answer"),
    pytest.param(answered(3.0, HttpAnswer(503)), id="a refusal"),
]


@pytest.mark.parametrize("failure", FAILURES)
def test_the_last_run_that_succeeded_is_kept_with_the_last_one(failure: Fetch) -> None:
    runs = WorkRuns()
    for begin in (0.0, 1.0):
        runs.begin(begin, "fetch 1")
        runs.add(answered(begin + 0.5))
    for begin in (3.0, 4.0):
        runs.begin(begin, "fetch 1")
        runs.add(failure)
    assert [(run.time, len(run.fetches)) for run in runs.last()] == [(1.0, 1), (4.0, 1)]
    (answer,) = runs.last()[0].entry().answers
    assert (answer.time, answer.status, answer.body, answer.work) == (
        1.5,
        200,
        LONG.decode(),
        "fetch 1",
    )


def test_a_run_in_progress_does_not_change_in_a_checkpoint_that_was_taken() -> None:
    runs = WorkRuns()
    runs.begin(1.0, "fetch 1")
    (taken,) = runs.last()
    runs.add(answered(2.0))
    assert not taken.fetches
    assert len(runs.last()[0].fetches) == 1


def test_answers_to_anything_else_are_not_kept() -> None:
    runs = WorkRuns()
    runs.add(Fetch(1.0, URL, HttpAnswer(200), ""))
    assert runs.last() == []


def test_a_body_is_written_once_in_a_segment_and_read_each_time(tmp_path: Path) -> None:
    encoder = AnswerEncoder()
    first, again, other, back = map(
        encoder.encode,
        (
            answered(1.0),
            answered(2.0),
            answered(3.0, HttpAnswer(200, LONG + b"y")),
            answered(4.0),
        ),
    )
    assert [one.repeated for one in (first, again, other, back)] == [False, True, False, False]
    assert again.body == ""
    write(tmp_path, 1, [simple_head(), BEGINS, first, ENDS, again, other])
    assert [entry.body for entry in read(tmp_path, Fetched)] == [
        LONG.decode(),
        LONG.decode(),
        LONG.decode() + "y",
    ]
    encoder.begin_segment()
    assert not encoder.encode(answered(5.0)).repeated


def test_a_private_answer_is_written_as_a_digest() -> None:
    encoder = AnswerEncoder()
    first, again = (
        encoder.encode(Fetch(time, URL, PrivateAnswer(200, LONG), "", "fetch 1"))
        for time in (1.0, 2.0)
    )
    assert (first.status, first.body, first.repeated) == (200, "", False)
    assert first.left_out == again.left_out == digest(LONG)
    assert Fetch(1.0, URL, PrivateAnswer(204, b""), "").succeeded
    assert not Fetch(1.0, URL, PrivateAnswer(404, b""), "").succeeded


@pytest.mark.parametrize(
    "fetch",
    [
        pytest.param(answered(2.0, HttpAnswer(200, b"short")), id="a short body"),
        pytest.param(Fetch(2.0, URL, None, "no answer"), id="no answer"),
    ],
)
def test_other_answers_are_written_in_full(fetch: Fetch) -> None:
    encoder = AnswerEncoder()
    assert encoder.encode(fetch) == encoder.encode(fetch)
    assert not encoder.encode(fetch).repeated


def test_a_repeated_answer_whose_first_one_is_lost_is_an_error(tmp_path: Path) -> None:
    lost: list[Entry] = [Fetched(2.0, URL, 200, "", "", "fetch 1", repeated=True)]
    write(tmp_path, 1, [simple_head(), BEGINS, ENDS, *lost])
    with pytest.raises(JournalError, match="lacks an answer that another one repeats"):
        list(read_journal(tmp_path))

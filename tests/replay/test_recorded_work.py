"""A replay runs the periodic work of plugins, so decisions by measured load are reproduced."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.contrib.load import LoadSource
from mooring.contrib.load.load_plugin import LoadPlugin
from mooring.errors import NoAnswerError
from mooring.framework.plugin_errors import AbandonedError
from mooring.journal.checkpoint import Checkpoint
from mooring.journal.entries import AttemptBegins, AttemptEnds, Entry, Fetched, WorkBegins
from mooring.journal.journal_reading import read_journal
from mooring.journal.segments import list_segments
from mooring.replay.attempt_comparison import AttemptVerdict
from mooring.replay.own_history import OwnHistory
from mooring.replay.recorded_answers import RecordedAnswers
from mooring.replay.recorded_work import (
    LEFT_OUT_ANSWER,
    RecordedHttpClient,
    RecordedWork,
)
from mooring.replay.replay_rules import recorded_rules
from mooring.replay.report_text import replay_lines
from mooring.scheduler.periodic_work import WorkNames
from mooring.virtual.driving import drive
from tests.replay.load_recordings import ARGUMENTS, load_config_of, record_load
from tests.replay.recordings import replayed


@pytest.mark.parametrize("plugins", [*((name,) for name in ARGUMENTS), tuple(ARGUMENTS)], ids=str)
def test_decisions_by_measured_load_come_out_as_recorded(
    plugins: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = record_load(tmp_path, monkeypatch, *plugins)
    report = replayed(folder)
    assert report.attempts == 30
    assert report.reproduced, "\n".join(replay_lines(report))


def test_a_replay_can_begin_with_any_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = record_load(tmp_path, monkeypatch, *ARGUMENTS, pods=60, segment_bytes=2**12)
    segments = list_segments(folder)
    assert len(segments) > 3
    for segment in segments[:-1]:
        segment.path.unlink()
        report = replayed(folder)
        assert report.reproduced, "\n".join(replay_lines(report))


# Planted faults: each must be found.


def used_answers(entries: list[Entry]) -> list[int]:
    """Return the positions of answers that are followed by an attempt before another answer."""
    kinds = (Fetched, WorkBegins, AttemptBegins)
    places = [place for place, entry in enumerate(entries) if isinstance(entry, kinds)]
    return [
        place
        for place, after in itertools.pairwise(places)
        if isinstance(entries[after], AttemptBegins) and getattr(entries[place], "body", "")
    ]


def lose_an_answer(entries: list[Entry]) -> None:
    del entries[used_answers(entries)[3]]


def lose_a_beginning(entries: list[Entry]) -> None:
    used = used_answers(entries)[3]
    begins = (place for place, one in enumerate(entries[:used]) if isinstance(one, WorkBegins))
    del entries[max(begins)]


def answer_late(entries: list[Entry]) -> None:
    used = used_answers(entries)[3]
    after = entries.index(next(one for one in entries[used:] if isinstance(one, AttemptEnds)))
    entries.insert(after, entries.pop(used))


def swap_two_answers(entries: list[Entry]) -> None:
    first, second = used_answers(entries)[3:5]
    one, two = entries[first], entries[second]
    assert isinstance(one, Fetched) and isinstance(two, Fetched)
    entries[first], entries[second] = replace(one, body=two.body), replace(two, body=one.body)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lose_an_answer, id="an answer is lost"),
        pytest.param(lose_a_beginning, id="the beginning of a run is lost"),
        pytest.param(answer_late, id="an answer comes after the attempt that used it"),
        pytest.param(swap_two_answers, id="two answers change places"),
    ],
)
def test_a_journal_that_lacks_answers_to_periodic_work_is_detected(
    fault: Callable[[list[Entry]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoiled(entries: Iterator[Entry]) -> list[Entry]:
        kept = list(entries)
        fault(kept)
        return kept

    folder = record_load(tmp_path, monkeypatch, "TargetLoadPacking", pods=60)
    assert replayed(folder).reproduced
    report = replayed(folder, spoiled)
    assert 0 < report.deviating < 30
    assert "TargetLoadPacking" in {one.plugin for one in report.deviations}


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param({"works": ()}, id="the last runs of periodic work"),
        pytest.param({"seen": {}}, id="when pods were seen with their node"),
    ],
)
def test_a_checkpoint_that_lacks_something_is_detected(
    lost: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(self: Checkpoint) -> Iterator[Entry]:
        return entries(replace(self, **lost))

    entries = Checkpoint.entries
    monkeypatch.setattr(Checkpoint, "entries", forgetful)
    folder = record_load(tmp_path, monkeypatch, "TargetLoadPacking", pods=60, segment_bytes=2**12)
    assert replayed(folder).reproduced
    for segment in list_segments(folder)[:-2]:
        segment.path.unlink()
    report = replayed(folder)
    assert 0 < report.deviating < report.attempts


def test_other_rules_get_the_recorded_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = record_load(tmp_path, monkeypatch, *ARGUMENTS)
    same = replayed(folder, config=load_config_of(tmp_path, *ARGUMENTS))
    assert dict(same.counts) == {AttemptVerdict.SAME: 30}
    without = replayed(folder, config=load_config_of(tmp_path, "Peaks", weight=1))
    assert without.counts[AttemptVerdict.ANOTHER_NODE] > 5


def test_an_own_history_gets_the_recorded_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = record_load(tmp_path, monkeypatch, *ARGUMENTS, segment_bytes=2**12)
    runs: list[float] = []
    for whole in (True, False):
        if not whole:
            for segment in list_segments(folder)[:-1]:
                segment.path.unlink()
        taken: list[float] = []
        monkeypatch.setattr(LoadSource, "take", lambda self, found, taken=taken: taken.append(1))
        report = asyncio.run(OwnHistory(recorded_rules).run(read_journal(folder)))
        runs.append(len(taken))
        assert report.own.bound == report.recorded.bound
    assert runs[0] > runs[1] >= len(ARGUMENTS)


def test_a_lenient_client_reaches_nothing_outside_periodic_work() -> None:
    answers = RecordedAnswers()
    with pytest.raises(NoAnswerError, match="no network"):
        drive(RecordedHttpClient(answers, lenient=True).get("http://example.com"))
    assert not answers.start(RecordedHttpClient(answers).get("http://example.com"))


def test_work_that_the_journal_does_not_know_does_not_run() -> None:
    ran: list[str] = []

    async def work() -> None:
        ran.append("run")

    works = RecordedWork(RecordedAnswers())
    works.add(30.0, work)
    works.start()
    works.begin("Another.fetch 1")
    assert not ran
    works.begin("test_work_that_the_journal_does_not_know_does_not_run.<locals>.work 1")
    assert ran == ["run"]


def test_a_run_that_still_waits_is_dropped_by_the_next_one() -> None:
    ended: list[str] = []
    answers = RecordedAnswers()
    http, works = RecordedHttpClient(answers), RecordedWork(answers)

    async def fetch() -> None:
        try:
            found = await http.get("http://example.com")
            ended.append(found.body.decode())
        except AbandonedError:
            ended.append("dropped")
            raise

    name = WorkNames().name(fetch)
    works.add(30.0, fetch)
    for _ in range(2):
        works.begin(name)
    assert ended == ["dropped"]
    answers.answer(Fetched(1.0, "GET http://example.com", 200, "load", work=name))
    drive(works.close())
    assert ended == ["dropped", "load"]


class Asking:
    """Work that sends a request, and takes note of the answer."""

    def __init__(self, http: RecordedHttpClient, *urls: str) -> None:
        self.http = http
        self.urls = urls
        self.bodies: list[str] = []

    async def run(self) -> None:
        """Send the requests one after the other."""
        for url in self.urls:
            try:
                self.bodies.append((await self.http.get(url)).body.decode())
            except NoAnswerError as error:
                self.bodies.append(str(error))


def test_an_answer_that_the_journal_leaves_out_is_a_failure_of_the_request() -> None:
    answers = RecordedAnswers()
    asking = Asking(RecordedHttpClient(answers).for_plugin(LoadPlugin), "http://me:pw@host/a?b=c")
    assert not answers.start(asking.run())
    assert answers.lacking == set()
    answers.answer(Fetched(1.0, "GET http://host/a?b=…", 200, left_out="0f"))
    assert asking.bodies == [f"http://host/a?b=…: {LEFT_OUT_ANSWER}"]
    assert answers.lacking == {LoadPlugin.name}


def test_journals_of_older_versions_have_whole_urls() -> None:
    answers = RecordedAnswers()
    urls = [f"http://host?query={query}" for query in "ab"]
    asking = Asking(RecordedHttpClient(answers), *urls)
    together = [Asking(asking.http, url) for url in reversed(urls)]
    for one in (asking, *together):
        answers.start(one.run())
    for url in (*urls, urls[0]):
        answers.answer(Fetched(1.0, f"GET {url}", 200, url[-1]))
    assert (asking.bodies, [one.bodies for one in together]) == (["a"], [["b"], ["a"]])


def test_requests_that_differ_in_their_queries_alone_get_their_answers() -> None:
    answers = RecordedAnswers()
    http = RecordedHttpClient(answers)
    asking = [Asking(http, f"http://host?query={query}") for query in "abc"]
    for one in asking:
        answers.start(one.run())
    for number, body in ((2, "c"), (0, "a"), (1, "b")):
        text = f"GET http://host?query=…{f' #{number}' if number else ''}"
        answers.answer(Fetched(1.0, text, 200, body))
    assert [one.bodies for one in asking] == [["a"], ["b"], ["c"]]

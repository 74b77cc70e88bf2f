"""Answers of servers, given when the journal comes to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mooring.api import PersistentVolume, Pod
from mooring.errors import ApiError
from mooring.journal.entries import Fetched
from mooring.replay.recorded_answers import RecordedAnswers, RecordedClient
from mooring.replay.recorded_informers import RecordedInformers
from mooring.replay.replay_clock import ReplayClock
from mooring.testing.builders import make_pod
from mooring.virtual.driving import drive
from tests.replay.recordings import make_volume

VOLUME = '{"metadata":{"name":"disk","resourceVersion":"7"}}'
Ask = Callable[[RecordedClient], Coroutine[Any, Any, Any]]


class Asking:
    """A coroutine that asks, and what came of it."""

    def __init__(self, ask: Ask) -> None:
        informers = RecordedInformers()
        informers.store(Pod).add(make_pod("web"))
        self.answers = RecordedAnswers()
        self.result: Any = None
        self.work = self._run(ask, RecordedClient(informers, self.answers))
        self.has_ended = self.answers.start(self.work)

    async def _run(self, ask: Ask, client: RecordedClient) -> None:
        try:
            self.result = await ask(client)
        except ApiError as error:
            self.result = error
        finally:
            self.has_ended = True

    def fetch(self, request: str, body: str = "", error: str = "") -> None:
        self.answers.answer(Fetched(1.0, request, 0, body, error))


@pytest.mark.parametrize(
    ("ask", "request_text"),
    [
        (
            lambda client: client.get(PersistentVolume, "disk"),
            "get persistentvolumes.v1. disk",
        ),
        (
            lambda client: client.patch(PersistentVolume, "disk", "", {}),
            "patch persistentvolumes.v1. disk",
        ),
        (lambda client: client.create(make_volume("disk")), "create persistentvolumes.v1. disk"),
        (lambda client: client.update(make_volume("disk")), "update persistentvolumes.v1. disk"),
        (
            lambda client: client.add_finalizer(make_volume("disk"), "keep"),
            "finalize persistentvolumes.v1. disk",
        ),
    ],
)
def test_a_request_waits_for_its_answer(ask: Ask, request_text: str) -> None:
    asking = Asking(ask)
    asking.fetch("get nodes.v1. other", "{}")
    assert not asking.has_ended
    asking.fetch(request_text, VOLUME)
    assert asking.has_ended
    assert asking.result.metadata.resource_version == "7"


def test_a_list() -> None:
    asking = Asking(lambda client: client.list("persistentvolumes.v1."))
    asking.fetch("list persistentvolumes.v1.", f"[{VOLUME}]")
    assert [one.metadata.name for one in asking.result.items] == ["disk"]


def test_a_refusal_is_one_again() -> None:
    asking = Asking(lambda client: client.get(PersistentVolume, "disk"))
    text = "GET https://one/api/v1/persistentvolumes/disk: 409 Conflict: it has changed: twice"
    asking.fetch("get persistentvolumes.v1. disk", error=text)
    assert asking.result.is_conflict
    assert asking.result.message == "it has changed: twice"


def test_a_failure_without_a_status() -> None:
    asking = Asking(lambda client: client.get(PersistentVolume, "disk"))
    asking.fetch("get persistentvolumes.v1. disk", error="no connection")
    assert (asking.result.status, asking.result.message) == (0, "no connection")


def test_requests_about_pods_do_not_wait() -> None:
    assert Asking(lambda client: client.get(Pod, "web", "default")).result.metadata.name == "web"
    status = {"status": {"nominatedNodeName": "a"}}
    patched = Asking(lambda client: client.patch(Pod, "web", "default", status)).result
    assert patched.status.nominated_node_name == "a"


def test_sleepers_go_on_when_the_time_has_come() -> None:
    answers, clock, ended = RecordedAnswers(), ReplayClock(), []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        ended.append(seconds)

    answers.move_to(100.0)
    for seconds in (9.0, 3.0):
        assert not answers.start(sleep(seconds))
    answers.move_to(104.0)
    assert ended == [3.0]
    answers.move_to(200.0)
    assert ended == [3.0, 9.0]


def test_a_coroutine_that_is_dropped_cleans_up() -> None:
    cleaned = []

    async def ask(client: RecordedClient) -> None:
        try:
            await client.get(PersistentVolume, "disk")
        finally:
            cleaned.append(True)

    asking = Asking(ask)
    asking.answers.drop(asking.work)
    assert cleaned == [True]
    asking.fetch("get persistentvolumes.v1. disk", VOLUME)
    assert asking.result is None


def test_what_waits_for_something_else_is_ended() -> None:
    async def wait() -> None:
        await asyncio.sleep(0)

    assert RecordedAnswers().start(wait())


def test_an_exception_is_contained() -> None:
    async def fail() -> None:
        raise ValueError("no")

    assert RecordedAnswers().start(fail())


class Runs:
    """Runs of periodic work that ask the same server, and the answer that each got."""

    def __init__(self, *names: str, lenient: bool = False) -> None:
        self.answers = RecordedAnswers()
        self.client = RecordedClient(RecordedInformers(), self.answers, lenient=lenient)
        self.got: dict[str, list[str]] = {name: [] for name in names}
        for name in names:
            self.answers.start(self._ask(name), name)

    async def _ask(self, name: str) -> None:
        for one in (await self.client.list(PersistentVolume)).items:
            self.got[name].append(one.metadata.resource_version)

    def fetch(self, work: str, version: int) -> None:
        body = f'[{{"metadata":{{"name":"disk","resourceVersion":"{version}"}}}}]'
        self.answers.answer(Fetched(1.0, "list persistentvolumes.v1.", 0, body, work=work))


def test_each_run_gets_its_own_answer_in_whatever_order_they_come() -> None:
    runs = Runs("fetch 1", "fetch 2")
    runs.fetch("fetch 2", 7)
    runs.fetch("fetch 1", 8)
    assert runs.got == {"fetch 1": ["8"], "fetch 2": ["7"]}


def test_work_of_another_name_gets_the_answer_if_nothing_else_waits() -> None:
    runs = Runs("fetch 1", lenient=True)
    runs.fetch("", 6)
    assert runs.got == {"fetch 1": []}, "the answer was not to periodic work"
    runs.fetch("fetch 9", 7)
    assert runs.got == {"fetch 1": ["7"]}


def test_under_other_rules_only_periodic_work_waits_for_recorded_answers() -> None:
    answers, informers = RecordedAnswers(), RecordedInformers()
    informers.store(PersistentVolume).add(make_volume("disk"))
    client = RecordedClient(informers, answers, lenient=True)
    assert [one.metadata.name for one in drive(client.list(PersistentVolume)).items] == ["disk"]
    assert drive(client.get(PersistentVolume, "disk")).metadata.name == "disk"
    written = make_volume("disk")
    for call in (client.update(written), client.add_finalizer(written, "keep")):
        assert drive(call).metadata.name == "disk"
    assert drive(client.create(make_volume("new"))).metadata.name == "new"
    assert not answers.start(client.get(PersistentVolume, "disk"), "fetch 1")

"""The page's connection to the leading Mooring."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from mooring.errors import NoAnswerError
from mooring.explain.lease_annotations import ExplainAddress, annotated
from mooring.leader.leader_lookup import NoLeader
from mooring.leader.scheduler_questions import NotKnown, UnansweredError
from mooring.serve.certificates import fingerprint_of
from mooring.ui.leader_link import (
    ABSENT,
    ABSENT_PAUSE,
    FIRST_PAUSE,
    LAST_PAUSE,
    LEASE_SECONDS,
    LIMITED,
    LIVE,
    LOST,
    QUESTION_SECONDS,
    QUEUE_SECONDS,
    LeaderBusyError,
    LeaderState,
)
from mooring.ui.seen_decisions import SeenDecisions
from tests.client.fakes import answer, failure, serving, settle
from tests.leader.test_leader_lookup import CONNECTION, NOW, lease, pod
from tests.support.certificates import Authority
from tests.support.fake_kubectl import FakeKubectl
from tests.support.waiting import PATIENCE
from tests.ui.scripted_leader import (
    EMPTY_QUEUE,
    WHO,
    ScriptedLeader,
    linked,
    ours,
    record,
)

NO_PATH = answer(404, b"404 page not found")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"
STREAM = "/explain/v1/decisions?since="
GONE = NoAnswerError("connection refused", sent=False)
SEEN = "Decisions are those that this page sees."


def told(decisions: SeenDecisions) -> list[tuple[str, int]]:
    return [(one.name, one.attempt) for one in decisions.after(0, 100)]


def streams(leader: ScriptedLeader) -> list[str]:
    return [target.removeprefix(STREAM) for target in leader.asked if target.startswith(STREAM)]


async def test_the_history_comes_first_and_live_decisions_follow() -> None:
    leader, decisions = ScriptedLeader(), SeenDecisions(lambda: 0.0)
    async with linked(leader, decisions) as page:
        assert page.link.state == LeaderState(LIVE, WHO, f"Told by {WHO}.")
        assert decisions.leader_reports
        await leader.say("decision", record(4, 1))
        await leader.say("decision", record(5, 2))
        assert told(decisions) == [("web", 1), ("web", 2)]
        assert streams(leader) == ["0"]
    assert not decisions.leader_reports


async def test_a_broken_stream_is_resumed_after_the_last_decision() -> None:
    leader, decisions = ScriptedLeader(), SeenDecisions(lambda: 0.0)
    async with linked(leader, decisions) as page:
        await leader.say("decision", record(4))
        await leader.lose()
        assert page.link.state == LeaderState(
            LOST,
            text=f"The leader cannot be followed: {WHO} cannot be asked: connection reset. Asked "
            f"again in 1 s. {SEEN}",
        )
        assert not decisions.leader_reports
        await page.clock.move(FIRST_PAUSE)
        assert (page.link.state.state, streams(leader)) == (LIVE, ["0", "4"])
        await leader.say("decision", record(5, 2))
        assert told(decisions) == [("web", 1), ("web", 2)]


async def test_a_stream_that_the_leader_ends_is_continued_on_the_same_connection() -> None:
    leader = ScriptedLeader()
    async with linked(leader) as page:
        await leader.say("decision", record(4))
        await leader.end()
        assert page.link.state.state == LIVE
        await page.clock.move(FIRST_PAUSE)
        assert streams(leader) == ["0", "4"]
        assert leader.asked.count("/explain/v1") == 1


async def test_numbers_of_another_run_begin_again() -> None:
    leader, decisions = ScriptedLeader(), SeenDecisions(lambda: 0.0)
    async with linked(leader, decisions) as page:
        await leader.say("decision", record(9))
        await leader.say("reset", {"since": 9, "latest": 1})
        await leader.lose()
        await page.clock.move(FIRST_PAUSE)
        assert streams(leader) == ["0", "0"]
        await leader.say("decision", record(1, 2))
        assert told(decisions) == [("web", 2), ("web", 1)]


async def test_a_gap_is_shown() -> None:
    leader = ScriptedLeader()
    async with linked(leader) as page:
        await leader.say("gap", {"since": 4, "latest": 900})
        text = f"Told by {WHO}, which has forgotten some older decisions."
        assert page.link.state == LeaderState(LIVE, WHO, text)


async def test_the_pauses_grow_and_are_short_again_after_a_connection() -> None:
    leader = ScriptedLeader()
    leader.refusal = GONE
    async with linked(leader) as page:
        for pause in (1.0, 2.0, 4.0, 8.0, 16.0, LAST_PAUSE, LAST_PAUSE):
            asked = len(leader.asked)
            await page.clock.move(pause - 0.5)
            assert len(leader.asked) == asked
            assert f"Asked again in {pause:.0f} s." in page.link.state.text
            await page.clock.move(0.5)
            assert len(leader.asked) > asked
        leader.refusal = None
        await page.clock.move(LAST_PAUSE)
        assert page.link.state.state == LIVE
        await leader.lose()
        assert "Asked again in 1 s." in page.link.state.text


async def test_a_leader_with_too_many_readers_names_the_time_to_retry() -> None:
    leader = ScriptedLeader()
    full = "32 readers follow the decisions already"
    leader.refusal = ours(429, "TooManyRequests", full, Retry_After="10")
    async with linked(leader) as page:
        assert page.link.state.text == (
            f"The leader cannot be followed: {WHO}: 32 readers follow the decisions already. Asked "
            f"again in 10 s. {SEEN}"
        )
        leader.refusal = None
        await page.clock.move(9)
        assert page.link.state.state == LOST
        await page.clock.move(1)
        assert page.link.state.state == LIVE


@pytest.mark.parametrize(
    ("response", "state", "text"),
    [
        pytest.param(
            ours(403, "Forbidden", 'forbidden: User "jane" cannot get path "/explain"'),
            LIMITED,
            f"does not tell its decisions: {WHO}: "
            'forbidden: User "jane" cannot get path "/explain"; get /explain/* is needed. ',
            id="no right to the decisions",
        ),
        pytest.param(
            ours(404, "NotFound", "it runs with --explain-memory=0", "records"),
            ABSENT,
            f"remembers no decisions: {WHO}: it runs with --explain-memory=0. ",
            id="nothing is kept",
        ),
    ],
)
async def test_a_leader_that_does_not_report_its_decisions_can_still_be_asked(
    response: Any, state: str, text: str
) -> None:
    leader, decisions = ScriptedLeader(), SeenDecisions(lambda: 0.0)
    leader.refusal = response
    leader.answers["/explain/v1/namespaces"] = answer(200, {"version": 2, "name": "web"})
    async with linked(leader, decisions) as page:
        assert page.link.state == LeaderState(state, WHO, f"The leader {text}{SEEN}")
        assert not decisions.leader_reports
        found = await page.link.explain("shop", "web", None)
        assert found == {"version": 2, "answeredBy": WHO, "name": "web"}
        leader.refusal = None
        await page.clock.move(LAST_PAUSE)
        assert page.link.state.state == LIVE


@pytest.mark.parametrize(
    ("lease", "advice"),
    [
        pytest.param(
            answer(404, failure(404, "NotFound")),
            "there is no Lease kube-system/kube-scheduler. If one leads elsewhere, name it with "
            "--lease or --scheduler.",
            id="no lease",
        ),
        pytest.param(
            answer(403, failure(403, "Forbidden")),
            "the Lease kube-system/kube-scheduler may not be read. The right to get leases in its "
            "namespace is needed; or name it with --scheduler.",
            id="no right to read it",
        ),
    ],
)
async def test_without_a_leader_one_line_says_what_to_do(lease: Any, advice: str) -> None:
    leader = ScriptedLeader()
    leader.answers = {"/explain/v1": NO_PATH, LEASES: lease}
    async with linked(leader) as page:
        text = f"No Mooring that leads was found: {advice} {SEEN}"
        assert page.link.state == LeaderState(ABSENT, text=text)
        assert await page.link.explain("shop", "web", None) == NoLeader(text)
        assert await page.link.places() == {}
        asked = len(leader.asked)
        await page.clock.move(ABSENT_PAUSE - 1)
        assert len(leader.asked) == asked
        leader.answers["/explain/v1"] = ScriptedLeader().answers["/explain/v1"]
        await page.clock.move(1)
        assert page.link.state.state == LIVE


async def test_schedulers_of_the_pods_are_looked_for_as_they_come() -> None:
    leader = ScriptedLeader()
    leader.answers = {"/explain/v1": NO_PATH, LEASES: answer(404, failure(404, "NotFound"))}
    names = ["default-scheduler"]

    def asked_for() -> Sequence[str]:
        return names

    async with linked(leader, names=asked_for) as page:
        names.append("gpu")
        await page.clock.move(ABSENT_PAUSE)
        leases = [one.removeprefix(LEASES) for one in leader.asked if one.startswith(LEASES)]
        assert leases == ["kube-scheduler", "kube-scheduler", "gpu"]


async def test_questions_are_sent_at_a_limited_rate() -> None:
    leader = ScriptedLeader()
    unknown = ours(404, "NotFound", "no pod", "pods")
    leader.answers["/explain/v1/namespaces"] = unknown
    async with linked(leader) as page:
        tasks = [asyncio.create_task(page.link.explain("shop", "web", n)) for n in (1, 2, 3)]
        await settle()
        pods = "/explain/v1/namespaces/shop/pods/web?attempt="
        for count in (1, 2, 3):
            asked = [one.removeprefix(pods) for one in leader.asked if one.startswith(pods)]
            assert asked == ["1", "2", "3"][:count]
            await page.clock.move(QUESTION_SECONDS)
        assert [await task for task in tasks] == [NotKnown("no pod")] * 3


async def test_a_busy_leader_is_not_asked_before_the_time_it_names() -> None:
    leader = ScriptedLeader()
    busy = ours(429, "TooManyRequests", "too many questions", Retry_After="7")
    leader.answers["/explain/v1/namespaces"] = busy
    async with linked(leader) as page:
        with pytest.raises(LeaderBusyError) as raised:
            await page.link.explain("shop", "web", None)
        assert str(raised.value) == (
            "the leader answers too many questions already; asked again in 7 s"
        )
        asked = len(leader.asked)
        await page.clock.move(5)
        for question in (page.link.explain("shop", "web", None), page.link.places()):
            with pytest.raises(LeaderBusyError, match="asked again in 2 s"):
                await question
        assert len(leader.asked) == asked
        leader.answers["/explain/v1/namespaces"] = answer(200, {"version": 2})
        await page.clock.move(2)
        assert isinstance(await page.link.explain("shop", "web", None), dict)


async def test_places_in_the_queue_are_asked_for_at_a_limited_rate() -> None:
    leader = ScriptedLeader()
    place = {"namespace": "shop", "name": "web", "uid": "u", "place": "active", "position": 1}
    leader.answers["/explain/v1/queue"] = answer(200, {**EMPTY_QUEUE, "items": [place]})
    async with linked(leader) as page:
        for _ in range(3):
            assert list(await page.link.places()) == ["shop/web"]
        queue = "/explain/v1/queue?limit=5000"
        assert leader.asked.count(queue) == 1
        leader.answers["/explain/v1/queue"] = answer(200, EMPTY_QUEUE)
        await page.clock.move(QUEUE_SECONDS)
        assert await page.link.places() == {}
        assert leader.asked.count(queue) == 2


async def test_a_queue_that_may_not_be_read_is_asked_for_once() -> None:
    leader = ScriptedLeader()
    leader.answers["/explain/v1/queue"] = ours(403, "Forbidden", "forbidden")
    async with linked(leader) as page:
        for _ in range(2):
            with pytest.raises(UnansweredError, match="forbidden; get /explain/"):
                await page.link.places()
            await page.clock.move(QUEUE_SECONDS)
        assert leader.asked.count("/explain/v1/queue?limit=5000") == 1


async def test_a_decision_that_cannot_be_read_is_a_failure_in_one_line() -> None:
    leader = ScriptedLeader()
    async with linked(leader) as page:
        await leader.say("decision", {"sequence": "x"})
        assert page.link.state.state == LOST
        assert "a decision cannot be read: " in page.link.state.text


async def test_a_link_without_a_lease_is_not_looked_for_again() -> None:
    leader = ScriptedLeader()
    async with linked(leader) as page:
        await page.clock.move(LEASE_SECONDS)
        await page.clock.move(LEASE_SECONDS)
        assert page.link.state.state == LIVE
        assert not [one for one in leader.asked if one.startswith(LEASES)]


async def test_an_api_server_that_does_not_answer_is_asked_again() -> None:
    leader = ScriptedLeader()
    leader.answers["/explain/v1"] = GONE
    async with linked(leader) as page:
        text = f"The leader cannot be followed: connection refused. Asked again in 1 s. {SEEN}"
        assert page.link.state == LeaderState(LOST, text=text)
        leader.answers["/explain/v1"] = ScriptedLeader().answers["/explain/v1"]
        await page.clock.move(FIRST_PAUSE)
        assert page.link.state.state == LIVE


# Leaders that are found by their Lease.


@asynccontextmanager
async def scheduler(folder: Path, records: list[Any], got: list[str]) -> AsyncIterator[Any]:
    """Serve decisions with a certificate of its own; yield the port and the SHA-256."""

    async def handle(request: web.Request) -> web.StreamResponse:
        got.append(f"{request.path_qs} {request.headers.get('Authorization', '')}")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b":\n\n")
        for one in records:
            text = msgspec.json.encode(one)
            await response.write(b"event: decision\ndata: %s\n\n" % text)
        await asyncio.Event().wait()
        return response

    pair = Authority(folder).server("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    async with serving(handle, ssl_context=context, handler_cancellation=True) as url:
        sha256 = fingerprint_of(pair.certificate.read_bytes())
        yield int(url.rpartition(":")[2]), sha256


def held(holder: str, sha256: str) -> Any:
    """Return the response with a Lease that a Mooring holds."""
    notes = annotated({}, ExplainAddress(holder, 10259, sha256))
    return answer(200, lease(holder, annotations=notes))


def cluster(*first: Any) -> ScriptedLeader:
    """Return an API server that is not Mooring's local one."""
    api = ScriptedLeader()
    api.answers = {"/explain/v1": NO_PATH, LEASES: first[0]}
    api.answers["/api/v1/namespaces/kube-system/pods/"] = answer(200, pod("sched-0"))
    return api


async def until(page: Any, holds: Any) -> None:
    """Wait until a condition holds for the link."""
    async with asyncio.timeout(PATIENCE):
        while not holds(page.link.state):
            await asyncio.sleep(0.01)


async def test_the_new_holder_of_the_lease_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl, got, decisions = FakeKubectl(tmp_path / "bin", monkeypatch), [], SeenDecisions(int)
    one, other = [record(7, 1)], [record(1, 1, "other")]
    async with (
        scheduler(tmp_path / "one", one, got) as (port, sha256),
        scheduler(tmp_path / "other", other, got) as (other_port, other_sha256),
    ):
        kubectl.forward_to(port)
        api = cluster(held("sched-0_a", sha256))
        async with linked(api, decisions, connection=CONNECTION, start=NOW) as page:
            await until(page, lambda state: state.state == LIVE)
            assert page.link.state.who == (
                "the leader sched-0_a (Lease kube-system/kube-scheduler)"
            )
            # The API server does not answer for a moment; the leader is still followed.
            api.answers[LEASES] = GONE
            await page.clock.move(LEASE_SECONDS)
            assert page.link.state.state == LIVE
            kubectl.forward_to(other_port)
            api.answers[LEASES] = held("sched-1_b", other_sha256)
            await page.clock.move(LEASE_SECONDS)
            await until(page, lambda state: "sched-1_b" in state.who)
            async with asyncio.timeout(PATIENCE):
                while len(told(decisions)) < 2:
                    await asyncio.sleep(0.01)
    # The sequence numbers of the first leader are not used for the second.
    assert got == [f"{STREAM}0 Bearer secret"] * 2
    assert told(decisions) == [("other", 1), ("web", 1)]


async def test_nothing_is_sent_to_a_server_with_another_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl, got = FakeKubectl(tmp_path / "bin", monkeypatch), []
    async with scheduler(tmp_path / "one", [], got) as (port, sha256):
        kubectl.forward_to(port)
        api = cluster(held("sched-0_a", "0" * 64))
        async with linked(api, connection=CONNECTION, start=NOW) as page:
            await until(page, lambda state: state.state == LOST)
            assert f"the server's certificate has the SHA-256 {sha256}" in page.link.state.text
    assert got == []


async def test_a_port_that_cannot_be_forwarded_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeKubectl(tmp_path / "bin", monkeypatch).fail("error: pods is forbidden")
    api = cluster(held("sched-0_a", "0" * 64))
    async with linked(api, connection=CONNECTION, start=NOW) as page:
        await until(page, lambda state: state.state == LOST)
        assert page.link.state.text == (
            "The leader cannot be followed: kubectl cannot forward port 10259 of pod "
            "kube-system/sched-0: error: pods is forbidden; the right to create pods/portforward "
            f"is needed, or name its port with --scheduler. Asked again in 1 s. {SEEN}"
        )

"""The lock that replicas share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mooring.api.events import LeaseSpec
from mooring.api.lease_numbers import MOST_IN_LEASE
from mooring.app.lease_lock import NO_ROOM, LeaseLock, Record, check_lock_kind, make_identity
from mooring.errors import ApiError, ConfigError, NoAnswerError
from mooring.explain.lease_annotations import ExplainAddress, annotated
from tests.app.lease_server import Server
from tests.support.virtual_loop import LoopClock, run_virtually


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("endpoints", "endpoints lock is removed, migrate to leases"),
        ("configmapsleases", "configmapsleases lock is removed, migrated to leases"),
        ("sheep", "Invalid lock-type sheep"),
    ],
)
def test_locks_other_than_leases_are_refused(kind: str, message: str) -> None:
    check_lock_kind("leases")
    with pytest.raises(ConfigError) as caught:
        check_lock_kind(kind)
    assert str(caught.value) == f"couldn't create resource lock: {message}"


def test_identities_differ_even_on_one_host() -> None:
    one, two = make_identity(), make_identity()
    assert one != two
    assert one.rpartition("_")[0] == two.rpartition("_")[0]


def lock_on(
    server: Server,
    *,
    timeout: float = 5.0,
    address: Callable[[], ExplainAddress] | None = None,
) -> LeaseLock:
    return LeaseLock(
        server,  # type: ignore[arg-type]
        "kube-system",
        "kube-scheduler",
        identity="me",
        component="default-scheduler",
        timeout=timeout,
        clock=LoopClock(),
        address=address,
    )


RECORD = Record(holder="me", lease_seconds=15, acquire_time="a", renew_time="b", transitions=2)


def test_a_record_is_created_read_and_replaced() -> None:
    server = Server()

    async def use() -> None:
        lock = lock_on(server)
        assert str(lock) == "kube-system/kube-scheduler"
        with pytest.raises(ApiError) as missing:
            await lock.get()
        assert missing.value.is_not_found
        await lock.create(RECORD)
        assert await lock.get() == RECORD
        await lock.update(replace(RECORD, holder="", renew_time=""))
        assert await lock.get() == replace(RECORD, holder="", renew_time="")

    run_virtually(use())
    assert [spec.renew_time for spec in server.writes] == ["b", None]


def test_a_write_after_anothers_is_a_conflict() -> None:
    server = Server()

    async def use() -> None:
        lock = lock_on(server)
        await lock.create(RECORD)
        server.hold("another")
        with pytest.raises(ApiError) as refused:
            await lock.update(RECORD)
        assert refused.value.is_conflict

    run_virtually(use())


def test_a_request_that_hangs_is_given_up() -> None:
    server = Server()
    server.trouble = lambda verb: asyncio.Event().wait()

    async def use() -> None:
        with pytest.raises(NoAnswerError, match=r"no answer within 2\.5 s") as given_up:
            await lock_on(server, timeout=2.5).get()
        assert given_up.value.sent

    run_virtually(use())


def test_the_time_has_microseconds() -> None:
    async def use() -> str:
        await asyncio.sleep(1.25)
        return lock_on(Server()).now()

    assert run_virtually(use()).endswith(".250000Z")


def test_an_event_that_cannot_be_written_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Closed(Server):
        async def request(self, method: str, target: str, body: bytes = b"") -> bytes:
            raise ApiError(403, "may not")

    async def use() -> None:
        lock = lock_on(Closed())
        await lock.create(RECORD)
        lock.record_event("became leader")
        await asyncio.sleep(1)

    run_virtually(use())
    assert "Unable to record event" in caplog.text


def test_the_lease_says_where_its_holder_answers() -> None:
    server = Server()
    address = [ExplainAddress("me", 10259, "0f" * 32)]

    async def use() -> list[dict[str, str]]:
        lock = lock_on(server, address=lambda: address[-1])
        found: list[dict[str, str]] = []

        async def wrote(record: Record) -> None:
            await (lock.update(record) if found else lock.create(record))
            assert server.lease is not None
            found.append(server.lease.metadata.annotations)

        await wrote(RECORD)
        await wrote(replace(RECORD, renew_time="c"))
        address.append(ExplainAddress("me", 10259, "aa" * 32))
        await wrote(replace(RECORD, renew_time="d"))
        await wrote(replace(RECORD, holder=""))
        return found

    first, renewed, rotated, released = run_virtually(use())
    assert first == renewed == annotated({}, address[0])
    assert rotated == annotated({}, address[1]), "the certificate was replaced"
    assert released == {}


def test_what_others_wrote_into_the_annotations_is_kept_but_not_where_they_answer() -> None:
    server = Server()

    async def use() -> None:
        server.hold("another")
        assert server.lease is not None
        theirs = annotated({"team": "a"}, ExplainAddress("another", 1, "0f" * 32))
        server.put(
            replace(server.lease, metadata=replace(server.lease.metadata, annotations=theirs))
        )
        lock = lock_on(server)
        await lock.get()
        await lock.update(RECORD)

    run_virtually(use())
    assert server.lease is not None
    assert server.lease.metadata.annotations == {"team": "a"}


def test_a_lease_without_room_for_annotations_is_written_without_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    lock = lock_on(server, address=lambda: ExplainAddress("me", 10259, "0f" * 32))

    async def scenario() -> None:
        await lock.create(RECORD)
        full = {"stranger": "x" * 262_140}
        assert server.lease is not None
        server.put(replace(server.lease, metadata=replace(server.lease.metadata, annotations=full)))

        def refuse(verb: str) -> None:
            if verb == "update" and sum(map(len, server.sent_annotations.values())) > 262_144:
                raise ApiError(422, "metadata.annotations: Too long", reason="Invalid")

        server.trouble = refuse
        for _ in range(3):
            await lock.get()
            await lock.update(RECORD)
        assert server.lease.spec.holder_identity == "me"
        assert server.lease.metadata.annotations == full
        # One refusal shows it; it is tried again when the annotations have changed.
        assert server.calls.count("update") == 4
        server.put(replace(server.lease, metadata=replace(server.lease.metadata, annotations={})))
        await lock.get()
        await lock.update(RECORD)
        assert len(server.lease.metadata.annotations) == 3

    run_virtually(scenario())
    assert [record.getMessage() for record in caplog.records] == [NO_ROOM]


def test_other_refusals_of_an_update_are_the_callers() -> None:
    server = Server()
    lock = lock_on(server, address=lambda: ExplainAddress("me", 10259, "0f" * 32))

    async def scenario() -> None:
        await lock.create(RECORD)

        def refuse(verb: str) -> None:
            raise ApiError(422, "spec.leaseTransitions: Invalid value", reason="Invalid")

        server.trouble = refuse
        with pytest.raises(ApiError, match="leaseTransitions"):
            await lock.update(RECORD)
        assert server.calls.count("update") == 1

    run_virtually(scenario())


def test_numbers_beyond_those_of_the_api_are_cut() -> None:
    server = Server()
    lock = lock_on(server)

    async def scenario() -> None:
        await lock.create(RECORD)
        assert server.lease is not None
        for number, kept in ((10**400, MOST_IN_LEASE), (-1, 0), (7, 7)):
            spec = LeaseSpec(lease_duration_seconds=number, lease_transitions=number)
            server.put(replace(server.lease, spec=spec))
            record = await lock.get()
            assert (record.lease_seconds, record.transitions) == (kept, kept)

    run_virtually(scenario())

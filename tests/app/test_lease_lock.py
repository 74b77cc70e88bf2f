"""The lock that replicas share."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from mooring.app.lease_lock import LeaseLock, Record, check_lock_kind, make_identity
from mooring.errors import ApiError, ConfigError, NoAnswerError
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


def lock_on(server: Server, *, timeout: float = 5.0) -> LeaseLock:
    return LeaseLock(
        server,  # type: ignore[arg-type]
        "kube-system",
        "kube-scheduler",
        identity="me",
        component="default-scheduler",
        timeout=timeout,
        clock=LoopClock(),
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

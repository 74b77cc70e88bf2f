"""LeaderElector: holds a lease, and notices when it is lost.

Only changes of the record count, and they are timed by the clock of this process. The times that
others wrote into it are ignored, so clocks may differ arbitrarily. They must run at about the same
rate: rates may differ by at most the ratio of lease duration to renew deadline.

In client-go, a leader that reads another holder in the record keeps trying until the renew
deadline, and acts as leader meanwhile. Here that ends leadership at once, and a `LeaseFence` ends
it even earlier: the scheduler sends no write once the last renewal is older than the lease. In
client-go, a candidate that finds the Lease deleted leads immediately, beside the holder. Here it
waits for as long as the holder may lead, and the holder creates the Lease again meanwhile.
"""

# client-go: tools/leaderelection/leaderelection.go

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from msgspec.structs import replace

from mooring.api.lease_numbers import MOST_IN_LEASE
from mooring.app.lease_fence import LeaseFence
from mooring.app.lease_lock import LeaseLock, Record
from mooring.config.types import LeaderElection
from mooring.errors import ApiError, ConfigError, cut_text
from mooring.observe.clock import boot_time
from mooring.observe.logs import kv, log_error, vlog
from mooring.serve.health import Check

log = logging.getLogger(__name__)

NAME = "kube-scheduler"
JITTER = 1.2
#: How much longer than a lease a leader may go without a renewal before it counts as unhealthy:
#: it should have ended by itself long before.
TOLERATED_SECONDS = 20.0

#: Seconds between two warnings that another process holds the lease.
WARN_SECONDS = 60.0

_HELD = (
    "Another process holds the lease: no pod is scheduled here until it stops. To run beside it, "
    "choose another --leader-elect-resource-name and another schedulerName"
)
#: How many bytes of a holder's name are logged; a stranger may have written any.
_LONGEST_NAME = 512
_WRONG = "couldn't create leader elector: "


class LeaderMetrics(Protocol):
    """A receiver of leader election metrics."""

    def leading(self, name: str, leads: bool) -> None:
        """Record whether this process leads."""
        ...

    def slow_path(self, name: str) -> None:
        """Count a renewal that had to read the record first."""
        ...


def check_timing(settings: LeaderElection) -> None:
    """Raise ConfigError if the durations do not fit together."""
    lease, renew, retry = settings.lease_duration, settings.renew_deadline, settings.retry_period
    for wrong, message in (
        (lease <= renew, "leaseDuration must be greater than renewDeadline"),
        (
            renew <= int(JITTER * retry),
            "renewDeadline must be greater than retryPeriod*JitterFactor",
        ),
        (lease < 1, "leaseDuration must be greater than zero"),
        (renew < 1, "renewDeadline must be greater than zero"),
        (retry < 1, "retryPeriod must be greater than zero"),
    ):
        if wrong:
            raise ConfigError(_WRONG + message)


def make_fence(settings: LeaderElection, clock: Callable[[], float] = boot_time) -> LeaseFence:
    """Return the fence of a lease; it lasts the whole seconds that the record tells others."""
    return LeaseFence(int(settings.lease_duration.seconds), clock)


class LeaderElector:
    """A candidate that acquires a lease, renews it, and releases it when asked to stop.

    Belongs to the loop on which `run` runs; `stop` may be called on any thread. `on_new_leader` is
    called with the new holder when the leader changes. `fence` is open while the lease is certainly
    held. With `warns`, a log line every minute says who holds the lease that a scheduler awaits.
    `name` is that of the component, in metrics and in the health check.
    """

    def __init__(
        self,
        settings: LeaderElection,
        lock: LeaseLock,
        *,
        fence: LeaseFence,
        metrics: LeaderMetrics | None = None,
        on_new_leader: Callable[[str], None] | None = None,
        rng: random.Random | None = None,
        warns: bool = False,
        name: str = NAME,
    ) -> None:
        check_timing(settings)
        self._name = name
        self._lease_seconds = settings.lease_duration.seconds
        self._renew_seconds = settings.renew_deadline.seconds
        self._retry_seconds = settings.retry_period.seconds
        self._lock = lock
        self._fence = fence
        self._metrics = metrics
        self._on_new_leader = on_new_leader
        self._random = rng or random.Random()
        self._warns = warns
        self._next_warning = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._observed = Record()
        self._observed_at = 0.0
        #: Since when there has been no Lease.
        self._missing_since: float | None = None
        #: The record as last read, to notice renewals.
        self._read: Record | None = None
        self._reported = ""
        #: Whether stopping has interrupted an attempt, so that its outcome is unknown.
        self._cut_short = False
        #: Whether another holder was read in the record while this process led.
        self._overtaken = False
        self._show(leads=False)

    @property
    def is_leader(self) -> bool:
        """Return whether the last seen record names this process; any thread may call this."""
        return self._observed.holder == self._lock.identity

    @property
    def leader(self) -> str:
        """Return the holder in the last seen record, "" if none; any thread may call this."""
        return self._observed.holder

    @property
    def check(self) -> Check:
        """Return the health check: it fails if a leader no longer renews but has not ended."""
        return Check("leaderElection", self._problem)

    async def run(
        self, on_started_leading: Callable[[], None], on_lost: Callable[[], None]
    ) -> bool:
        """Lead until the lease is lost (False) or `stop` was called (True).

        `on_started_leading` is called when this process begins to lead, `on_lost` as soon as it
        must stop. When this returns, the lease is released if this process still held it. The fence
        is closed before the release.
        """
        self._loop = asyncio.get_running_loop()
        if not await self._acquire():
            if self._cut_short:
                # client-go does not release it here: the next leader may wait for a whole lease.
                await self._release()
            return True
        on_started_leading()
        try:
            await self._renew()
        finally:
            self._fence.close()
        stopped = self._stopping.is_set()
        if not stopped:
            on_lost()
        if not self._overtaken:
            await self._release()
        return stopped

    def stop(self) -> None:
        """Ask `run` to release the lease and return; any thread may call this."""
        if self._loop is None:
            self._stopping.set()
        else:
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def _acquire(self) -> bool:
        """Try until the lease is acquired; False if asked to stop before that."""
        lock = str(self._lock)
        log.info("Attempting to acquire leader lease...", extra=kv(lock=lock))
        while not self._stopping.is_set():
            acquired = await self._until_stopped(self._try())
            self._report_transition()
            if acquired:
                self._lock.record_event("became leader")
                self._show(leads=True)
                log.info("Successfully acquired lease", extra=kv(lock=lock))
                return True
            vlog(log, 4, "Failed to acquire lease", lock=lock)
            self._warn_of_holder(lock)
            # Jitter, so that candidates that started together do not keep sending together.
            pause = self._retry_seconds * (1 + JITTER * self._random.random())
            await self._pause(pause)
        return False

    def _warn_of_holder(self, lock: str) -> None:
        assert self._loop is not None
        holder, now = self._observed.holder, self._loop.time()
        if self._warns and holder and self._is_valid() and now >= self._next_warning:
            self._next_warning = now + WARN_SECONDS
            pairs: dict[str, Any] = {
                "lock": lock,
                "holder": cut_text(holder, _LONGEST_NAME),
                "since": cut_text(self._observed.acquire_time, _LONGEST_NAME),
            }
            if self._observed.lease_seconds > self._lease_seconds:
                pairs["leaseDurationSeconds"] = self._observed.lease_seconds
            log.warning(_HELD, extra=kv(**pairs))

    async def _renew(self) -> None:
        """Renew until that fails for the renew deadline, or until asked to stop."""
        lock = str(self._lock)
        while True:
            problem = await self._renew_once()
            self._report_transition()
            if problem:
                self._show(leads=False)
                log.info("Failed to renew lease", extra=kv(lock=lock, err=problem))
                return
            vlog(log, 5, "Successfully renewed lease", lock=lock)
            # A response that arrived after the lease had ended does not prove that we hold it now.
            await self._pause(self._retry_seconds if self._fence.is_open else 0.0)

    async def _renew_once(self) -> str:
        """Renew, with retries until the deadline; return what went wrong, or ""."""
        assert self._loop is not None
        try:
            async with asyncio.timeout(self._renew_seconds):
                next_try = self._loop.time()
                while not self._stopping.is_set():
                    if await self._until_stopped(self._try()):
                        return ""
                    if self._overtaken:
                        holder = cut_text(self._observed.holder, _LONGEST_NAME) or "nobody"
                        return f"the lease is held by {holder}"
                    next_try = max(next_try + self._retry_seconds, self._loop.time())
                    await self._pause(next_try - self._loop.time())
        except TimeoutError:
            return "context deadline exceeded"
        return "context canceled"

    async def _release(self) -> None:
        """Release the lease, so that another process need not wait until it expires."""
        try:
            async with asyncio.timeout(self._renew_seconds):
                try:
                    old = await self._lock.get()
                except ApiError as error:
                    if error.is_not_found:
                        log.info("lease lock not found", extra=kv(lock=str(self._lock)))
                    else:
                        self._log_failure(error, "error retrieving resource lock")
                    return
                self._observe_read(old)
                if not self.is_leader:
                    return
                now = self._lock.now()
                record = Record(
                    lease_seconds=1,
                    acquire_time=now,
                    renew_time=now,
                    transitions=old.transitions,
                )
                await self._lock.update(record)
                self._observe(record)
        except TimeoutError:
            self._log_failure("context deadline exceeded", "Failed to release lease")
        except ApiError as error:
            self._log_failure(error, "Failed to release lease")

    async def _try(self) -> bool:
        """Acquire or renew the lease; return whether this process holds it."""
        assert self._loop is not None
        sent = self._fence.clock()
        now = self._lock.now()
        record = Record(
            holder=self._lock.identity,
            lease_seconds=int(self._lease_seconds),
            acquire_time=now,
            renew_time=now,
        )
        # 1. A leader writes without reading: most likely it still holds the lease.
        if self.is_leader and self._is_valid():
            mine = replace(
                record,
                acquire_time=self._observed.acquire_time,
                transitions=self._observed.transitions,
            )
            try:
                await self._lock.update(mine)
            except ApiError as error:
                vlog(
                    log,
                    2,
                    "Failed to update lease optimistically, falling back to slow path",
                    lock=str(self._lock),
                    err=_words(error),
                )
            else:
                self._observe(mine)
                self._fence.renew(sent)
                return True
        # 2. Read the record, or create it.
        try:
            old = await self._lock.get()
        except ApiError as error:
            if not error.is_not_found:
                self._log_failure(error, "Error retrieving lease lock")
                return False
            if self._may_be_held():
                vlog(log, 2, "Lease was deleted before it expired", lock=str(self._lock))
                return False
            return await self._create(record)
        self._missing_since = None
        # 3. Another process may hold the lease, or may have held it.
        if self.is_leader and old.holder != self._lock.identity:
            self._fence.close()
            self._observe(old)
            self._overtaken = True
            return False
        self._observe_read(old)
        if old.holder and self._is_valid() and not self.is_leader:
            vlog(
                log,
                4,
                "Lease is held by and has not yet expired",
                lock=str(self._lock),
                holder=cut_text(old.holder, _LONGEST_NAME),
            )
            return False
        # 4. Write the record, as a renewal or as a takeover. The time is taken again: if the first
        # write was applied but its response was lost, writing the same record again would change
        # nothing, and for others the lease would expire. (client-go writes the same record again.)
        sent = self._fence.clock()
        now = self._lock.now()
        record = replace(record, acquire_time=now, renew_time=now)
        if self.is_leader:
            record = replace(record, acquire_time=old.acquire_time, transitions=old.transitions)
            if self._metrics is not None:
                self._metrics.slow_path(self._name)
        else:
            transitions = min(old.transitions + 1, MOST_IN_LEASE)
            record = replace(record, transitions=transitions)
        try:
            await self._lock.update(record)
        except ApiError as error:
            self._log_failure(error, "Failed to update lease")
            return False
        self._observe(record)
        self._fence.renew(sent)
        return True

    def _may_be_held(self) -> bool:
        """Return whether the holder of a Lease that was deleted may not know yet, and still write.

        It is waited for no longer than for the duration of a lease of this process: a stranger's
        Lease may have named any duration, and deleting it must end that.
        """
        assert self._loop is not None
        now = self._loop.time()
        if self._missing_since is None:
            self._missing_since = now
        if self.is_leader or not self._observed.holder or not self._is_valid():
            return False
        return now - self._missing_since < self._lease_seconds

    async def _create(self, record: Record) -> bool:
        sent = self._fence.clock()
        try:
            await self._lock.create(record)
        except ApiError as error:
            self._log_failure(error, "Error initially creating lease lock")
            return False
        self._observe(record)
        self._fence.renew(sent)
        return True

    def _observe(self, record: Record) -> None:
        assert self._loop is not None
        self._observed = record
        self._observed_at = self._loop.time()

    def _observe_read(self, record: Record) -> None:
        """Observe a record that was read; an unchanged one is not a renewal."""
        if record != self._read:
            self._observe(record)
            self._read = record

    def _is_valid(self) -> bool:
        assert self._loop is not None
        return self._observed_at + self._observed.lease_seconds > self._loop.time()

    def _report_transition(self) -> None:
        if self._observed.holder != self._reported:
            self._reported = self._observed.holder
            if self._on_new_leader is not None:
                self._on_new_leader(self._reported)

    def _problem(self) -> str | None:
        if self._loop is None or not self.is_leader:
            return None
        late = self._loop.time() - self._observed_at
        if late > self._lease_seconds + TOLERATED_SECONDS:
            return f"failed election to renew leadership on lease {self._name}"
        return None

    async def _until_stopped(self, attempt: Coroutine[Any, Any, bool]) -> bool:
        """Run an attempt; if stopping interrupts it, that counts as a failure."""
        trying = asyncio.ensure_future(attempt)
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((trying, stopping), return_when=asyncio.FIRST_COMPLETED)
            self._cut_short = not trying.done()
            return False if self._cut_short else trying.result()
        finally:
            for task in (trying, stopping):
                task.cancel()
            await asyncio.gather(trying, stopping, return_exceptions=True)

    async def _pause(self, seconds: float) -> None:
        """Wait for some seconds, or until asked to stop."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass

    def _show(self, *, leads: bool) -> None:
        if self._metrics is not None:
            self._metrics.leading(self._name, leads)

    def _log_failure(self, error: ApiError | str, message: str) -> None:
        if isinstance(error, ApiError) and error.repeated:
            vlog(log, 2, message, err=_words(error), lock=str(self._lock))
        else:
            log_error(log, _words(error), message, lock=str(self._lock))


def _words(error: ApiError | str) -> str:
    """Return the server's message, as client-go logs it."""
    return error if isinstance(error, str) else error.message or str(error)

"""RecordedAnswers: gives plugins the recorded answers of servers, at the recorded times.

PreBind plugins write to the API server and keep its answer, or undo their changes if it refuses;
periodic work fetches measurements. In a replay, such a coroutine suspends when it sends a request,
and continues when the replay reaches the answer in the journal.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import logging
import re
from collections import deque
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

import msgspec

from mooring.api import Pod
from mooring.client.resources import find_resource
from mooring.errors import ApiError
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import abandon, error_text, raise_if_external
from mooring.journal.entries import Fetched
from mooring.journal.left_out import SECRETS
from mooring.replay.discarding_writers import DiscardingClient
from mooring.replay.recorded_informers import RecordedInformers, decode_object
from mooring.virtual.memory_client import MemoryList

log = logging.getLogger(__name__)

T = TypeVar("T")

#: The text of an ApiError: the request, the status with its reason, and the message.
_FAILURE = re.compile(r"(?:.*?: )?(\d{3})(?: (\w+))?(?:: (.*))?", re.DOTALL)


class RecordedRequest:
    """A request to await: `text` is that of its `Fetched` entry.

    `whole` is the text with the whole URL, as journals of versions 1 to 3 have it.
    """

    def __init__(self, text: str, whole: str = "") -> None:
        self.text = text
        self.whole = whole or text

    def __await__(self) -> Generator[RecordedRequest, Fetched, Fetched]:
        return (yield self)


class RecordedSleep:
    """A number of seconds to await."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __await__(self) -> Generator[RecordedSleep, Fetched | None, None]:
        yield self


class RecordedAnswers:
    """The coroutines of a replay that wait, by what they wait for."""

    def __init__(self) -> None:
        self._time = 0.0
        self._requests: dict[str, deque[Coroutine[Any, Any, Any]]] = {}
        #: The request that each of them waits for, the oldest first.
        self._asked: dict[Coroutine[Any, Any, Any], RecordedRequest] = {}
        self._sleepers: list[tuple[float, int, Coroutine[Any, Any, Any]]] = []
        self._order = itertools.count()
        #: The names of the coroutines that are runs of periodic work.
        self._names: dict[Coroutine[Any, Any, Any], str] = {}
        #: The name of the periodic work that is running right now; "" if none is.
        self.running_work = ""
        #: The names of the plugins that got an answer whose content the journal leaves out; "" if
        #: it is not known which plugin read it.
        self.lacking: set[str] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str = "") -> bool:
        """Run a coroutine until it waits for an answer; return whether it has ended.

        `name` is the name of the periodic work that the coroutine runs, if it does.
        """
        if name:
            self._names[work] = name
        return self._step(work)

    def drop(self, work: Coroutine[Any, Any, Any]) -> None:
        """End a coroutine that waits."""
        self._sleepers = [one for one in self._sleepers if one[2] is not work]
        heapq.heapify(self._sleepers)
        if work in self._asked:
            self._requests[self._asked.pop(work).text].remove(work)
        self._names.pop(work, None)
        abandon(work)

    def answer(self, entry: Fetched) -> None:
        """Give an answer to the coroutine that sent the request.

        If several did, the one that has waited longest gets the answer. If the periodic work has
        another name here, because other rules apply, any periodic work with this request gets it.
        """
        waiting = self._requests.get(entry.request) or [
            one for one, asked in self._asked.items() if asked.whole == entry.request
        ]
        names = {one: self._names.get(one, "") for one in waiting}
        work = next((one for one in names if names[one] == entry.work), None)
        if work is None and entry.work:
            work = next((one for one in names if names[one]), None)
        if work is None:
            return
        self._requests[self._asked.pop(work).text].remove(work)
        if not entry.error:
            self._step(work, entry)
            return
        failure = _FAILURE.fullmatch(entry.error)
        if failure is None:
            self._step(work, error=ApiError(0, entry.error))
        else:
            status, reason, message = failure.groups()
            self._step(work, error=ApiError(int(status), message or "", reason=reason or ""))

    def note_read(self, kind: Any, plugin: str = "") -> None:
        """Take note that a plugin reads a kind; a journal leaves out the values of Secrets."""
        if find_resource(kind).name == SECRETS:
            self.lacking.add(plugin)

    def move_to(self, time: float) -> None:
        """Continue with the coroutines that have slept long enough."""
        self._time = time
        while self._sleepers and self._sleepers[0][0] <= time:
            self._step(heapq.heappop(self._sleepers)[2])

    def _step(
        self,
        work: Coroutine[Any, Any, Any],
        answer: Fetched | None = None,
        error: ApiError | None = None,
    ) -> bool:
        outer, self.running_work = self.running_work, self._names.get(work, "")
        try:
            asked = work.send(answer) if error is None else work.throw(error)
        except StopIteration:
            self._names.pop(work, None)
            return True
        except BaseException as found:
            self._names.pop(work, None)
            raise_if_external(found)
            log.warning("A plugin failed in a replay: %s", error_text(found))
            return True
        finally:
            self.running_work = outer
        if isinstance(asked, RecordedRequest):
            self._asked[work] = asked
            self._requests.setdefault(asked.text, deque()).append(work)
        elif isinstance(asked, RecordedSleep):
            moment = self._time + asked.seconds
            heapq.heappush(self._sleepers, (moment, next(self._order), work))
        else:
            # It waits for something of its own, which does not happen here.
            self._names.pop(work, None)
            abandon(work)
            return True
        return False


class RecordedClient(DiscardingClient):
    """A client that gives the recorded answers of the API server.

    Requests about pods are not recorded; they succeed without effect. With `lenient`, which is for
    rules other than the recorded ones, only requests of periodic work get recorded answers.
    """

    def __init__(
        self, informers: RecordedInformers, answers: RecordedAnswers, *, lenient: bool = False
    ) -> None:
        super().__init__(informers)
        self._answers = answers
        self._lenient = lenient
        self._plugin = ""

    def for_plugin(self, plugin: type[Plugin]) -> RecordedClient:
        """Return the client of a plugin, which knows of the writes of all plugins."""
        made = copy.copy(self)
        made._plugin = plugin.name
        return made

    def _asks(self, kind: Any) -> bool:
        """Return whether a request waits for its recorded answer."""
        if kind is Pod:
            return False
        return not self._lenient or bool(self._answers.running_work)

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """Read one object."""
        if not self._asks(kind):
            return await super().get(kind, name, namespace)
        self._answers.note_read(kind, self._plugin)
        return await recorded_object_of("get", kind, namespace, name)

    async def list(
        self,
        kind: type[Any] | str,
        namespace: str = "",
        *,
        timeout: float = 0.0,
        retries: int = 0,
        max_bytes: int = 0,
    ) -> MemoryList:
        """Read all objects of a kind."""
        if self._lenient and not self._answers.running_work:
            return await super().list(kind, namespace)
        self._answers.note_read(kind, self._plugin)
        return await recorded_list(kind, namespace)

    async def create(self, obj: T) -> T:
        """Create an object."""
        if not self._asks(type(obj)):
            return await super().create(obj)
        return await self._ask_about("create", obj)

    async def update(self, obj: T) -> T:
        """Replace an object."""
        if not self._asks(type(obj)):
            return await super().update(obj)
        return await self._ask_about("update", obj)

    async def patch(
        self,
        kind: type[T],
        name: str,
        namespace: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> T:
        """Apply a strategic merge patch."""
        if not self._asks(kind):
            return await super().patch(kind, name, namespace, patch, subresource=subresource)
        return await recorded_object_of("patch", kind, namespace, name)

    async def add_finalizer(self, obj: T, finalizer: str) -> T:
        """Add a finalizer to an object."""
        if not self._asks(type(obj)):
            return await super().add_finalizer(obj, finalizer)
        return await self._ask_about("finalize", obj)

    async def _ask_about(self, verb: str, obj: T) -> T:
        meta = obj.metadata  # type: ignore[attr-defined]
        return await recorded_object_of(verb, type(obj), meta.namespace, meta.name)


async def recorded_list(kind: type[Any] | str, namespace: str = "") -> MemoryList:
    """Return the recorded answer to a list."""
    resource = find_resource(kind)
    found = await RecordedRequest(f"list {resource.name} {namespace}".rstrip())
    items = msgspec.json.decode(found.body, type=list[msgspec.Raw])
    return MemoryList([decode_object(resource.name, item) for item in items])


async def recorded_object_of(verb: str, kind: type[T], namespace: str, name: str) -> T:
    """Return the recorded answer to a request about one object."""
    key = f"{namespace}/{name}" if namespace else name
    resource = find_resource(kind)
    answer = await RecordedRequest(f"{verb} {resource.name} {key}")
    found: T = decode_object(resource.name, msgspec.Raw(answer.body.encode()))
    return found

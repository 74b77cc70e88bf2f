"""LoadWatcher: measurements from the HTTP API of a load watcher."""

# load-watcher: pkg/watcher/api/client.go

from __future__ import annotations

from mooring import ApiError, Handle
from mooring.contrib.load.load_provider import MAX_ANSWER, TIMEOUT, LoadAnswer
from mooring.contrib.load.measurements import read_measurements, without_implausible
from mooring.errors import safe_url

#: Seconds between two fetches.
# scheduler-plugins: pkg/trimaran/collector.go
WATCHER_PERIOD = 30.0
#: The path of the API.
WATCHER_PATH = "/watcher"


class LoadWatcher:
    """A load watcher at an address."""

    period = WATCHER_PERIOD

    def __init__(self, address: str, handle: Handle) -> None:
        self.name = safe_url(address)
        self._address = address
        self._handle = handle

    async def fetch(self) -> LoadAnswer:
        """Return what the load watcher measured last."""
        answer = await self._handle.http.get(
            self._address + WATCHER_PATH, timeout=TIMEOUT, max_bytes=MAX_ANSWER
        )
        if answer.status != 200:
            raise ApiError(answer.status, f"received status code {answer.status} from watcher")
        return LoadAnswer(*without_implausible(read_measurements(answer.body)))

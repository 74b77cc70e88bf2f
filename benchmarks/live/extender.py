"""`mooring extender` beside an extender that loops over the nodes, request by request.

The time of a request is that of a client which waits for it, in units of one bare Python loop over
as many numbers as there are nodes, timed in the same run.
"""

from __future__ import annotations

import http.client
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.live.schedulers import cpu_seconds
from benchmarks.measure import time_loop
from benchmarks.objects import PodTemplate
from mooring.api import Node
from mooring.api.kinds import encode
from mooring.extenders.extender_documents import pod_json
from tests.support.control_plane import ControlPlane
from tests.support.processes import LOOPBACK, Process, free_port

#: Most loops over the nodes that a request may take at 5,000 nodes: the median, the 99th of 100.
P50 = 25.0
P99 = 60.0

_LARGE = 5000
_VERBS = ("filter", "prioritize")
_WARM = 20
_MEASURED = 300
_PATIENCE = 60.0
_HERE = Path(__file__).parent
#: The loop is timed after this many requests.
_LOOP_EVERY = 20


class RequestTimes(msgspec.Struct, frozen=True):
    """The requests of one verb: times and CPU in loops over the nodes, and the loop in seconds."""

    p50: float
    p99: float
    cpu: float
    loop: float


def run_extender(plane: ControlPlane, folder: Path, nodes: Sequence[Node]) -> list[str]:
    """Measure both extenders; print a table, and return the targets that were missed."""
    names = [node.metadata.name for node in nodes]
    file = folder / "nodes.json"
    file.write_bytes(msgspec.json.encode([encode(node) for node in nodes]))
    port = free_port()
    ours = Process(
        Path(sys.executable).with_name("mooring"),
        [
            "extender",
            f"--plugin={_HERE / 'extender_plugin.py'}:OpenZones",
            f"--kubeconfig={plane.scheduler_kubeconfig}",
            f"--bind-address={LOOPBACK}",
            f"--port={port}",
            "--http",
        ],
        folder / "extender.log",
    )
    other = free_port()
    looping = Process(
        Path(sys.executable),
        [str(_HERE / "looping_extender.py"), str(file), str(other)],
        folder / "looping_extender.log",
    )
    try:
        for process, at in ((ours, port), (looping, other)):
            process.wait_until(lambda at=at: _is_ready(at), _PATIENCE)
        clients = [_Client("http.server", looping, other), _Client("mooring", ours, port)]
        found = {verb: _measure(clients, verb, names) for verb in _VERBS}
    finally:
        ours.stop()
        looping.stop()
    return _report(len(names), found)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


class _Client:
    """One connection to an extender, and the times of its requests."""

    def __init__(self, label: str, process: Process, port: int) -> None:
        self.label = label
        self._pid = process.pid
        self._connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_PATIENCE)
        self._seconds: list[float] = []
        self._cpu = 0.0

    def begin(self) -> None:
        """Forget the requests so far."""
        self._seconds.clear()
        self._cpu = cpu_seconds(self._pid)

    def ask(self, verb: str, body: bytes) -> None:
        """Send a request and wait for the whole response."""
        start = time.perf_counter()
        self._connection.request("POST", f"/{verb}", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = response.read()
        self._seconds.append(time.perf_counter() - start)
        if response.status != 200:
            raise RuntimeError(f"{verb}: {response.status}: {answer[:300].decode()}")

    def times(self, loop: float) -> RequestTimes:
        """Return the figures since `begin`."""
        percentiles = statistics.quantiles(self._seconds, n=100)
        cpu = (cpu_seconds(self._pid) - self._cpu) / len(self._seconds)
        return RequestTimes(percentiles[49] / loop, percentiles[98] / loop, cpu / loop, loop)


def _measure(
    clients: Sequence[_Client], verb: str, names: list[str]
) -> list[tuple[str, RequestTimes]]:
    """Ask the extenders in turn, so that other work on the machine delays both alike."""
    pod = msgspec.Raw(pod_json(PodTemplate().make("pod", "default")))
    body = msgspec.json.encode({"Pod": pod, "Nodes": None, "NodeNames": names})
    loops: list[float] = []
    for index in range(_WARM + _MEASURED):
        if index == _WARM:
            for client in clients:
                client.begin()
        for client in clients:
            client.ask(verb, body)
        if index % _LOOP_EVERY == 0:
            loops.append(time_loop(len(names)))
    loop = statistics.median(loops)
    return [(client.label, client.times(loop)) for client in clients]


def _report(nodes: int, found: dict[str, list[tuple[str, RequestTimes]]]) -> list[str]:
    head = f"extender, {nodes} nodes by name"
    print(f"\n{head:<36}{'p50 loops':>10}{'p99 loops':>10}{'CPU loops':>10}{'p50 ms':>9}")
    missed = []
    for verb, rows in found.items():
        for label, times in rows:
            print(
                f"{label:<18}{verb:<18}{times.p50:>10.1f}{times.p99:>10.1f}{times.cpu:>10.1f}"
                f"{times.p50 * times.loop * 1e3:>9.2f}",
                flush=True,
            )
            if label == "mooring" and nodes >= _LARGE:
                for name, value, most in (("p50", times.p50, P50), ("p99", times.p99, P99)):
                    if value > most:
                        missed.append(f"extender {verb}: {name} {value:.1f} loops, to reach {most}")
    return missed

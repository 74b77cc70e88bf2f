"""Starting: the CPU of commands and of `mooring up`, and the memory of idle nodes.

The unit is the CPU of a Python that imports numpy, msgspec and aiohttp, in the same run, so that
figures of different machines compare.
"""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.local.objects import NODES
from benchmarks.local.servers import local
from benchmarks.local.wire import Wire
from mooring.client.transport import Request

_UNIT = (sys.executable, "-c", "import numpy, msgspec, aiohttp")
_COMMANDS = (
    "mooring --version",
    "mooring --help",
    "mooring explain --help",
    "mooring run --help",
    "mooring completion bash",
    "mooring schedule --wrong",
    "mooring-kube-scheduler --help",
    "mooring-kube-scheduler --version",
)
_MOST_OF_A_COMMAND = 0.3
_FEW_NODES = 3
_MOST_OF_A_CLUSTER = 3.0
#: Seconds after which nodes that nobody uses have settled.
_SETTLED = 10.0
#: Without files of bytecode each command would compile its modules again.
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


class Start(msgspec.Struct):
    """What starting costs, in units."""

    nodes: int
    #: Seconds of CPU of one unit.
    unit: float
    commands: dict[str, float]
    #: CPU of `mooring up` when its first request was served.
    cluster: float = 0.0
    megabytes: float = 0.0

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        yield f"1 unit: {self.unit * 1e3:.0f} ms of CPU, to import numpy, msgspec and aiohttp"
        for command, units in self.commands.items():
            yield f"  {command:<33} {units:.2f} units, to stay below {_MOST_OF_A_COMMAND}"
        yield (
            f"  first request of mooring up, {_FEW_NODES} nodes  {self.cluster:.2f} units, "
            f"to stay below {_MOST_OF_A_CLUSTER:.0f}"
        )
        yield f"  {self.nodes} idle nodes hold {self.megabytes:.0f} MiB"


async def measure(folder: Path, nodes: int, *, rounds: int = 5, settled: float = _SETTLED) -> Start:
    """Measure commands and clusters in turn; return the medians."""
    os.environ.pop(_NO_BYTECODE, None)
    scripts = Path(sys.executable).parent
    lines = {line: [str(scripts / line.split()[0]), *line.split()[1:]] for line in _COMMANDS}
    seconds: dict[str, list[float]] = {line: [] for line in lines}
    units, clusters = [], []
    for line in (_UNIT, *lines.values()):
        _cpu(line)
    for number in range(rounds):
        units.append(_cpu(_UNIT))
        for line, command in lines.items():
            seconds[line].append(_cpu(command))
        clusters.append(await _first_request(folder / f"start-{number}"))
    unit = statistics.median(units)
    found = Start(nodes, unit, {line: statistics.median(seconds[line]) / unit for line in lines})
    found.cluster = statistics.median(clusters) / unit
    with local(folder, nodes) as server:
        await asyncio.sleep(settled)
        found.megabytes = server.megabytes()
    return found


def _cpu(command: Sequence[str]) -> float:
    """Run a command; return its CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def _first_request(folder: Path) -> float:
    """Start a small cluster; return its CPU time when it has served a request."""
    folder.mkdir()
    with local(folder, _FEW_NODES) as server:
        wire = Wire(server.kubeconfig)
        try:
            await wire.send(Request("GET", NODES))
            return server.cpu_seconds()
        finally:
            await wire.close()

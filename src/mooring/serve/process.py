"""The start time of this process."""

from __future__ import annotations

import os
import time
from pathlib import Path

_IMPORTED = time.time()


def process_start_time(proc: Path = Path("/proc")) -> float:
    """Return seconds since the epoch; without /proc, about the time when Mooring was loaded."""
    try:
        # The program's name may contain anything; it ends at the last parenthesis.
        fields = (proc / "self" / "stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[19])
        for line in (proc / "stat").read_text().splitlines():
            if line.startswith("btime "):
                return int(line.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        pass
    return _IMPORTED

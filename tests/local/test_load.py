"""Many nodes and pods, with several clients at once; `make bench-local` measures more of them.

These tests do not check how long it takes.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.local import load

NODES = 50
PODS = 400


async def test_all_pods_of_a_crowd_run(tmp_path: Path) -> None:
    # `measure` returns when all pods run; half are plain, half belong to Deployments.
    found = await load.measure(tmp_path, NODES, PODS, idle=0.0)
    assert found.plain == PODS // 2
    assert found.megabytes < 1024
    assert found.waits
    (_, everything), (_, few) = found.lists.values()
    assert everything > PODS * 1000 > few

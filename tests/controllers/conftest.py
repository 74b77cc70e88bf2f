"""API servers for the controllers: a real kube-apiserver and Mooring's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.apiserver.api_server import ApiServer, ServerSettings
from mooring.observe.clock import Clock, SystemClock
from tests.support.controllers import Workbench


@pytest.fixture
def clock() -> Clock:
    """Return the clock of controllers and fake nodes; a test module may override it."""
    return SystemClock()


@pytest.fixture(params=["local", "kube-apiserver"])
async def workbench(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncIterator[Workbench]:
    """Yield controllers and fake nodes that use an API server."""
    local = None
    if request.param == "local":
        kubeconfig = tmp_path / "kubeconfig"
        local = ApiServer(ServerSettings(kubeconfig=kubeconfig))
        await local.start()
        local.write_kubeconfig()
    else:
        kubeconfig = request.getfixturevalue("control_plane").admin_kubeconfig
    bench = Workbench(kubeconfig, clock=clock)
    try:
        await bench.start()
        yield bench
    finally:
        await bench.close()
        if local is not None:
            await local.stop()

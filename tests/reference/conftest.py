"""Both sides, and what was observed of them in one scenario."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from urllib3.exceptions import InsecureRequestWarning

from tests.reference.scenario import Observed, observe
from tests.reference.sides import Side, mooring, reference
from tests.support.api import Api
from tests.support.cluster import Cluster, turn_on
from tests.support.control_plane import ControlPlane, GivenCluster


@pytest.fixture(scope="session")
def sides(kube_scheduler: Path) -> tuple[Side, Side]:
    """Return the reference and Mooring."""
    return reference(kube_scheduler), mooring()


@pytest.fixture(scope="session")
def observed(
    sides: tuple[Side, Side],
    control_plane: ControlPlane | GivenCluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Observed, Observed]:
    """Return what was observed of the reference and of Mooring, run one after the other."""
    folder = tmp_path_factory.mktemp("schedulers")
    found = []
    with warnings.catch_warnings(), turn_on(control_plane):
        # Both serve with self-signed certificates.
        warnings.simplefilter("ignore", InsecureRequestWarning)
        for side in sides:
            with Api(control_plane.access) as api:
                cluster = Cluster(control_plane, api)
                try:
                    found.append(observe(side, cluster, folder))
                finally:
                    cluster.wipe()
    return found[0], found[1]

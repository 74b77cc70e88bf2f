from __future__ import annotations

import pytest

from mooring.plugins.args import UtilizationShapePoint
from mooring.plugins.volumes.capacity_score import CapacityScore
from mooring.plugins.volumes.pod_volume_claims import Binding, PodVolumes, Provision
from tests.plugins.volumes.storage import capacity, claim, volume

DOWN = ((0, 10), (100, 0))
UP = ((0, 0), (100, 10))
BENT = ((0, 0), (50, 8), (100, 3))


def _bind(asked: str, has: str, name: str = "local") -> Binding:
    return Binding(claim("c", asked, name), volume("v", has, name))


def _make(asked: str, has: str | None, name: str = "dyn") -> Provision:
    found = None if has is None else capacity("x", name, has, {})
    return Provision(claim("c", asked, name), found)


@pytest.mark.parametrize(
    ("shape", "volumes", "score"),
    [
        pytest.param(UP, PodVolumes(), 0, id="nothing to do"),
        pytest.param(UP, PodVolumes([_bind("1Gi", "4Gi")]), 25, id="a quarter full"),
        pytest.param(DOWN, PodVolumes([_bind("1Gi", "4Gi")]), 75, id="three quarters free"),
        pytest.param(UP, PodVolumes([_bind("4Gi", "0")]), 100, id="no capacity counts as full"),
        pytest.param(BENT, PodVolumes([_bind("25", "100")]), 40, id="on the first line"),
        pytest.param(
            BENT, PodVolumes([_bind("75", "100")]), 55, id="on the falling line, cut toward zero"
        ),
        pytest.param(
            UP,
            PodVolumes([_bind("1", "2"), _bind("1", "6")]),
            25,
            id="volumes of a class are added up",
        ),
        pytest.param(
            UP,
            PodVolumes([_bind("1", "2", "a"), _bind("1", "4", "b")]),
            38,
            id="classes are averaged, half goes up",
        ),
        pytest.param(
            UP,
            PodVolumes([], [_make("25", "100"), _make("25", "100")]),
            50,
            id="the storage of new volumes is counted once",
        ),
        pytest.param(
            UP,
            PodVolumes([], [_make("25", None)]),
            0,
            id="new volumes without known storage do not count",
        ),
        pytest.param(
            UP,
            PodVolumes([_bind("1", "4")], [_make("100", "100")]),
            25,
            id="volumes that exist count alone",
        ),
    ],
)
def test_scores(shape: tuple[tuple[int, int], ...], volumes: PodVolumes, score: int) -> None:
    points = [UtilizationShapePoint(utilization=at, score=score) for at, score in shape]
    assert CapacityScore(points).of(volumes) == score

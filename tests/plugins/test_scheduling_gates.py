from __future__ import annotations

import pytest

from mooring.framework.status import Status
from mooring.plugins.scheduling_gates import SchedulingGates
from tests.plugins.cluster import hints, make_pod


def gated(*names: str, uid: str = "pod"):
    return make_pod(uid=uid, spec={"schedulingGates": [{"name": name} for name in names]})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param((), None, id="a pod without gates passes"),
        pytest.param(("foo",), "waiting for scheduling gates: [foo]", id="one gate is named"),
        pytest.param(
            ("foo", "bar"), "waiting for scheduling gates: [foo bar]", id="all gates are named"
        ),
    ],
)
def test_gates_hold_a_pod_back(names: tuple[str, ...], message: str | None) -> None:
    status = SchedulingGates().pre_enqueue(gated(*names))
    assert status == (None if message is None else Status.unresolvable(message))


def test_only_its_own_update_wakes_a_pod() -> None:
    assert hints(SchedulingGates()) == {("TargetPod", "UpdatePodSchedulingGatesEliminated"): None}

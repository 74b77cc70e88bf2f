"""The quality-of-service class of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod, decode_as, qos_class


def pod(*resources: dict[str, Any], recorded: str = "", whole: dict[str, Any] | None = None) -> Pod:
    containers = [{"name": f"c{i}", "resources": one} for i, one in enumerate(resources)]
    spec: dict[str, Any] = {"containers": containers}
    if whole is not None:
        spec["resources"] = whole
    return decode_as({"spec": spec, "status": {"qosClass": recorded} if recorded else {}}, Pod)


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(pod({}), "BestEffort", id="nothing"),
        pytest.param(pod({"requests": {"cpu": "0"}}), "BestEffort", id="a request of 0"),
        pytest.param(pod({"requests": {"gpu": "1"}}), "BestEffort", id="another resource"),
        pytest.param(pod({"requests": {"cpu": "1"}}), "Burstable", id="a request"),
        pytest.param(pod({"limits": BOTH, "requests": BOTH}), "Guaranteed", id="equal limits"),
        pytest.param(
            pod({"limits": BOTH, "requests": BOTH}, {}), "Burstable", id="one container without"
        ),
        pytest.param(
            pod({"limits": BOTH, "requests": {"cpu": "500m", "memory": "1Gi"}}),
            "Burstable",
            id="a lower request",
        ),
        pytest.param(
            pod({}, whole={"limits": BOTH, "requests": BOTH}), "Guaranteed", id="the pod's"
        ),
        pytest.param(pod({}, recorded="Burstable"), "Burstable", id="what the server recorded"),
    ],
)
def test_the_class(given: Pod, expected: str) -> None:
    assert qos_class(given) == expected

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.api_server import PODS, ApiServer, pod


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
)
async def test_a_pod_has_its_quality_of_service(resources: dict[str, Any], expected: str) -> None:
    container = {"name": "c", "image": "i", "resources": resources}
    made = await ApiServer().ask("POST", PODS, pod("p", containers=[container]))
    assert made["status"]["qosClass"] == expected


async def test_label_keys_become_part_of_selectors() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"a": "b"}},
        "matchLabelKeys": ["app", "absent"],
        "mismatchLabelKeys": ["tier"],
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    body = pod("p", affinity=affinity)
    body["metadata"]["labels"]["tier"] = "x"
    made = await ApiServer().ask("POST", PODS, body)
    stored = made["spec"]["affinity"]["podAntiAffinity"]
    selector = stored["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
    assert selector["matchExpressions"] == [
        {"key": "app", "operator": "In", "values": ["p"]},
        {"key": "tier", "operator": "NotIn", "values": ["x"]},
    ]

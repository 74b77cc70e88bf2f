from __future__ import annotations

from typing import Any

import pytest

from mooring.api import DeviceClass
from mooring.plugins.dynamic_resources.extended import (
    is_in_memory,
    may_be_backed,
    special_claim,
    with_requests,
)
from tests.plugins.dynamic_resources.devices import GPU, device_class, pod

FPGA = "example.com/fpga"
CLASSES = {GPU: device_class("gpu"), FPGA: device_class("fpga")}


def _class_of(resource: str) -> DeviceClass | None:
    return CLASSES.get(resource)


def _container(name: str, always: bool = False, **requests: str) -> dict[str, Any]:
    names = {"gpu": GPU, "fpga": FPGA, "cpu": "cpu"}
    found: dict[str, Any] = {
        "name": name,
        "resources": {"requests": {names[key]: amount for key, amount in requests.items()}},
    }
    return {**found, "restartPolicy": "Always"} if always else found


@pytest.mark.parametrize(
    ("starters", "containers", "requests", "mappings"),
    [
        pytest.param(
            [],
            [_container("a", cpu="1", gpu="2"), _container("b"), _container("c", gpu="1")],
            [("container-0-request-1", 2), ("container-2-request-0", 1)],
            [("a", "container-0-request-1"), ("c", "container-2-request-0")],
            id="each container gets its own",
        ),
        pytest.param(
            [_container("i", gpu="1")],
            [_container("a", gpu="2")],
            [("container-1-request-0", 2)],
            [("a", "container-1-request-0"), ("i", "container-1-request-0")],
            id="a starter borrows what comes later",
        ),
        pytest.param(
            [_container("i", gpu="3")],
            [_container("a", gpu="2")],
            [("container-0-request-0", 1), ("container-1-request-0", 2)],
            [
                ("a", "container-1-request-0"),
                ("i", "container-1-request-0"),
                ("i", "container-0-request-0"),
            ],
            id="a starter asks for what it lacks",
        ),
        pytest.param(
            [_container("i", gpu="1"), _container("j", gpu="4"), _container("k", gpu="2")],
            [_container("a")],
            [("container-1-request-0", 4)],
            [
                ("i", "container-1-request-0"),
                ("j", "container-1-request-0"),
                ("k", "container-1-request-0"),
            ],
            id="starters share the largest request",
        ),
        pytest.param(
            [_container("s", always=True, gpu="1"), _container("i", gpu="1")],
            [_container("a", gpu="1")],
            [("container-0-request-0", 1), ("container-2-request-0", 1)],
            [
                ("s", "container-0-request-0"),
                ("a", "container-2-request-0"),
                ("i", "container-2-request-0"),
            ],
            id="a sidecar keeps its devices",
        ),
    ],
)
def test_containers_are_served(
    starters: list[Any],
    containers: list[Any],
    requests: list[tuple[str, int]],
    mappings: list[tuple[str, str]],
) -> None:
    asking = pod("pod", initContainers=starters, containers=containers)
    claim, served = with_requests(special_claim(asking), asking, [GPU], _class_of)
    found = []
    for request in claim.spec.devices.requests:
        assert request.exactly is not None and request.exactly.device_class_name == "gpu"
        found.append((request.name, request.exactly.count))
    assert found == requests
    assert [(one.container_name, one.request_name) for one in served] == mappings
    assert {one.resource_name for one in served} == {GPU}


def test_only_the_resources_that_are_needed_are_asked_for() -> None:
    asking = pod("pod", containers=[_container("a", gpu="1", fpga="1")])
    claim, _ = with_requests(special_claim(asking), asking, [FPGA, "example.com/no"], _class_of)
    assert [request.name for request in claim.spec.devices.requests] == ["container-0-request-0"]
    assert is_in_memory(claim)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (GPU, True),
        ("deviceclass.resource.kubernetes.io/gpu", True),
        ("cpu", False),
        ("kubernetes.io/batch", False),
        ("requests.example.com/gpu", False),
    ],
)
def test_what_a_class_can_stand_for(resource: str, expected: bool) -> None:
    assert may_be_backed(resource) is expected

from __future__ import annotations

import pytest

from tests.apiserver.validation.objects import Object, container, pod, refusals

RESOURCES: dict[str, tuple[Object, Object, list[str]]] = {
    "as much as the containers": (
        {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
        {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
        [],
    ),
    "fewer requests than the containers": (
        {"requests": {"cpu": "1"}},
        {"requests": {"cpu": "1500m"}},
        [
            'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or '
            "equal to aggregate container requests of 1500m"
        ],
    ),
    "the sum is printed in the containers' format": (
        {"requests": {"memory": "1000"}},
        {"requests": {"memory": "2Ki"}},
        [
            'spec.resources.requests[memory]: Invalid value: "1k": must be greater than '
            "or equal to aggregate container requests of 2Ki"
        ],
    ),
    "a limit below that of a container": (
        {"limits": {"cpu": "1"}},
        {"limits": {"cpu": "2"}},
        [
            'spec.resources.requests: Invalid value: "2": must be less than or equal to '
            "cpu limit of 1",
            'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less '
            "than or equal to pod limits of 1",
        ],
    ),
    "fewer huge pages than the containers": (
        {"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}},
        {"requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}},
        [
            'spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be '
            "greater than or equal to aggregate container requests of 4Mi",
            'spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater '
            "than or equal to aggregate container limits of 4Mi",
            'spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": '
            "must be less than or equal to pod limits of 2Mi",
        ],
    ),
    "a resource that pods do not have as a whole": (
        {"requests": {"ephemeral-storage": "1Gi"}},
        {},
        [
            "spec.resources.requests[ephemeral-storage]: Unsupported value: "
            '"ephemeral-storage": supported values: "cpu", "hugepages-", "memory"'
        ],
    ),
    "claims": (
        {"claims": [{"name": "a"}]},
        {},
        [
            "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
            'spec.resources.claims[0]: Not found: "a": must be one of the names in '
            "pod.spec.resourceClaims which is empty",
        ],
    ),
}


@pytest.mark.parametrize(("whole", "own", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_resources_of_whole_pods(whole: Object, own: Object, expected: list[str]) -> None:
    assert refusals(pod(resources=whole, containers=[container(resources=own)])) == expected


def test_init_containers_count_too() -> None:
    init = container(name="i", resources={"requests": {"cpu": "2"}})
    found = refusals(pod(resources={"requests": {"cpu": "1"}}, initContainers=[init]))
    assert found == [
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to '
        "aggregate container requests of 2"
    ]


def test_not_on_windows() -> None:
    found = refusals(pod(resources={"requests": {"cpu": "1"}}, os={"name": "windows"}))
    assert found == ["spec.resources: Forbidden: may not be set for a windows pod"]

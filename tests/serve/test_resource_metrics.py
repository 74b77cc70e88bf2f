from __future__ import annotations

from typing import Any

from mooring.api import Pod, decode_as
from mooring.serve.resource_metrics import expose_resources


def pod(name: str, spec: dict[str, Any], phase: str = "Running") -> Pod:
    data = {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"schedulerName": "default-scheduler", **spec},
        "status": {"phase": phase},
    }
    return decode_as(data, Pod)


def container(requests: dict[str, str], limits: dict[str, str] | None = None) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests, "limits": limits or {}}}


def series(*pods: Pod) -> list[str]:
    lines = expose_resources(pods).decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_requests_and_limits_with_their_units() -> None:
    resources = {
        "cpu": "1500m",
        "memory": "1Gi",
        "ephemeral-storage": "2",
        "hugepages-2Mi": "4Mi",
        "attachable-volumes-x": "3",
        "example.com/gpu": "1",
        "zero": "0",
    }
    found = series(
        pod(
            "a",
            {
                "nodeName": "n",
                "priority": 7,
                "containers": [container(resources, {"cpu": "2"})],
            },
        )
    )
    rest = (
        'namespace="ns",node="n",pod="a",priority="7",resource="{}",scheduler="default-scheduler"'
    )

    def line(metric: str, resource: str, unit: str, value: str) -> str:
        return f'kube_pod_resource_{metric}{{{rest.format(resource)},unit="{unit}"}} {value}'

    assert found == [
        line("limit", "cpu", "cores", "2"),
        line("request", "attachable-volumes-x", "integer", "3"),
        line("request", "cpu", "cores", "1.5"),
        line("request", "ephemeral-storage", "bytes", "2"),
        line("request", "example.com/gpu", "", "1"),
        line("request", "hugepages-2Mi", "bytes", "4.194304e+06"),
        line("request", "memory", "bytes", "1.073741824e+09"),
    ]


def test_overhead_counts_for_requests_and_for_limits_that_exist() -> None:
    found = series(
        pod(
            "a",
            {
                "containers": [container({"cpu": "1"}, {"memory": "10"})],
                "overhead": {"cpu": "250m", "memory": "5"},
            },
        )
    )
    values = [line.split()[-1] for line in found]
    assert values == ["15", "1.25", "5"]


def test_what_the_pod_itself_asks_for_stands_over_its_containers() -> None:
    found = series(
        pod(
            "a",
            {
                "containers": [container({"cpu": "1"}, {"cpu": "1"})],
                "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "4", "odd": "9"}},
            },
        )
    )
    assert [line.split()[-1] for line in found] == ["4", "3"]


def test_pods_that_ended_on_a_node_are_left_out() -> None:
    running = {"containers": [container({"cpu": "1"})]}
    assert series(pod("a", {**running, "nodeName": "n"}, "Succeeded")) == []
    assert len(series(pod("a", running, "Failed"))) == 1


def test_without_pods_there_is_nothing_to_say() -> None:
    assert expose_resources([]) == b""


def test_series_come_in_the_order_of_their_labels() -> None:
    one = {"containers": [container({"cpu": "1"})]}
    found = series(pod("b", one), pod("a", {**one, "nodeName": "z"}), pod("a", one))
    places = [line.split('",priority')[0].partition("namespace=")[2] for line in found]
    assert places == sorted(places)

"""Events against a real kube-apiserver, which validates them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mooring.api import Node, Pod, decode_as
from mooring.binding.broadcaster import EventBroadcaster
from mooring.client.client import Client
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.transports import make_transport
from mooring.observe.clock import SystemClock
from tests.support.cluster import Cluster


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    made = Client(make_transport(load_kubeconfig(cluster.plane.admin_kubeconfig)))
    yield made
    await made.close()


def events(cluster: Cluster, namespace: str, reason: str) -> list[dict[str, Any]]:
    path = f"apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return [item for item in cluster.api.request("GET", path)["items"] if item["reason"] == reason]


async def test_the_server_takes_events_and_series(cluster: Cluster, client: Client) -> None:
    namespace = cluster.namespace
    metadata = {"name": "web", "namespace": namespace, "uid": "u1", "resourceVersion": "7"}
    pod = decode_as({"metadata": metadata}, Pod)
    broadcaster = EventBroadcaster(client, SystemClock(), random=random.Random(1))
    recorder = broadcaster.recorder("my-scheduler")
    for _ in range(3):
        recorder.event(pod, "Warning", "FailedScheduling", "Scheduling", "é" * 2000)
    recorder.event(pod, "Normal", "Scheduled", "Binding", "Successfully assigned", related=pod)
    node = decode_as({"metadata": {"name": f"{namespace}:node"}}, Node)
    recorder.event(
        node, "Normal", f"OfNode{namespace}", "Testing", "a name that Events cannot have"
    )
    await broadcaster.close()

    (failed,) = events(cluster, namespace, "FailedScheduling")
    assert failed["series"]["count"] == 3
    assert failed["series"]["lastObservedTime"]
    assert failed["eventTime"]
    assert failed["note"] == "é" * 510 + " ..."
    assert failed["regarding"] == {"apiVersion": "v1", "kind": "Pod", **metadata}
    assert failed["reportingController"] == "my-scheduler"
    assert failed["reportingInstance"].startswith("my-scheduler-")
    (scheduled,) = events(cluster, namespace, "Scheduled")
    assert scheduled["related"]["name"] == "web"
    assert scheduled["metadata"]["name"].startswith("web.")
    assert "series" not in scheduled
    assert len(events(cluster, "default", f"OfNode{namespace}")) == 1

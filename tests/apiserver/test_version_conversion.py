from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.apiserver.resource_store import Stored
from mooring.apiserver.version_conversion import data_of, to_served, to_stored
from tests.apiserver.api_server import GROUP_GATES, ApiServer

EVENTS = "events.k8s.io/v1/events"
SCALERS = "autoscaling/v1/horizontalpodautoscalers"


def test_a_newer_event_is_stored_as_one_of_the_core_group() -> None:
    event = {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod"},
        "note": "bound",
        "reportingController": "c",
        "eventTime": "t",
    }
    assert to_stored(ApiServer().served(EVENTS), event) == {
        "involvedObject": {
            "kind": "Pod",
        },
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": "t",
        "reportingComponent": "c",
        "reportingInstance": "",
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {
            "name": "e",
        },
        "message": "bound",
    }


def test_a_core_event_is_shown_as_a_newer_one() -> None:
    event = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod"},
        "message": "bound",
        "reportingComponent": "",
        "source": {"component": "c"},
        "firstTimestamp": None,
        "lastTimestamp": "t",
        "count": 3,
    }
    assert to_served(ApiServer().served(EVENTS), event) == {
        "eventTime": None,
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {
            "name": "e",
        },
        "regarding": {
            "kind": "Pod",
        },
        "note": "bound",
        "deprecatedSource": {
            "component": "c",
        },
        "deprecatedLastTimestamp": "t",
        "deprecatedCount": 3,
        "deprecatedFirstTimestamp": None,
    }
    assert event["apiVersion"] == "v1"


def test_other_objects_are_stored_as_they_are() -> None:
    pod = {"kind": "Pod", "apiVersion": "v1"}
    assert to_stored(ApiServer().served("/v1/pods"), pod) is pod
    assert to_served(ApiServer().served("/v1/pods"), pod) is pod
    core = {"kind": "Event", "apiVersion": "v1"}
    assert to_stored(ApiServer().served("/v1/events"), core) is core


SCALED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "with a share of processors": (
        {"spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 80}},
        {
            "apiVersion": "autoscaling/v2",
            "spec": {
                "maxReplicas": 3,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {
                                "type": "Utilization",
                                "averageUtilization": 80,
                            },
                        },
                    }
                ],
            },
            "status": {
                "currentMetrics": None,
                "desiredReplicas": 0,
            },
        },
    ),
    "without": (
        {
            "spec": {"maxReplicas": 3},
            "status": {"currentCPUUtilizationPercentage": 5, "desiredReplicas": 2},
        },
        {
            "apiVersion": "autoscaling/v2",
            "spec": {
                "maxReplicas": 3,
            },
            "status": {
                "currentMetrics": None,
                "desiredReplicas": 2,
            },
        },
    ),
}


@pytest.mark.parametrize(("given", "expected"), SCALED.values(), ids=SCALED)
def test_autoscalers_are_stored_in_the_newer_version(
    given: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert (
        to_stored(ApiServer().served(SCALERS), {"apiVersion": "autoscaling/v1"} | given) == expected
    )


def test_an_autoscaler_in_the_older_version() -> None:
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 70}}}
    other = {"type": "Pods", "pods": {}}
    seen = {"resource": {"name": "cpu", "current": {"averageUtilization": 30}}}
    stored = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "spec": {"maxReplicas": 3, "metrics": [other, metric], "behavior": {}},
        "status": {"currentMetrics": [seen], "conditions": [], "currentReplicas": 2},
    }
    assert to_served(ApiServer().served(SCALERS), stored) == {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "spec": {
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 70,
        },
        "status": {
            "currentReplicas": 2,
            "desiredReplicas": 0,
            "currentCPUUtilizationPercentage": 30,
        },
    }


def test_pod_groups_are_stored_in_their_beta_version() -> None:
    server = ApiServer(features=GROUP_GATES)
    alpha = server.served("scheduling.k8s.io/v1alpha3/podgroups")
    group = {"kind": "PodGroup", "apiVersion": "scheduling.k8s.io/v1alpha3", "spec": {}}
    stored = to_stored(alpha, group)
    assert stored == group | {"apiVersion": "scheduling.k8s.io/v1beta1"}
    assert to_served(alpha, stored) == group
    composites = server.served("scheduling.k8s.io/v1alpha3/compositepodgroups")
    composite = group | {"kind": "CompositePodGroup"}
    assert to_stored(composites, composite) == composite


def test_data_of_another_version_is_made_once() -> None:
    obj = {"kind": "Event", "apiVersion": "v1", "metadata": {"name": "e"}, "message": "m"}
    stored = Stored("default/e", obj, 1)
    plain = data_of(ApiServer().served("/v1/events"), stored)
    assert plain is data_of(ApiServer().served("/v1/events"), stored)
    newer = data_of(ApiServer().served(EVENTS), stored)
    assert json.loads(newer)["note"] == "m"
    assert data_of(ApiServer().served(EVENTS), stored) is newer


def test_an_object_without_a_version_gets_the_served_one() -> None:
    served = ApiServer().served("/v1/pods")
    assert to_served(served, {"metadata": {}}) == {
        "metadata": {},
        "apiVersion": "v1",
        "kind": "Pod",
    }

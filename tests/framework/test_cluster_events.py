"""Cluster events, and the registrations that cover them."""

from __future__ import annotations

import pytest

from mooring.framework.cluster_events import (
    ALL_EVENTS,
    ActionType,
    ClusterEvent,
    EventResource,
)

POD, NODE = EventResource.POD, EventResource.NODE
LABEL, TAINT = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_TAINT


@pytest.mark.parametrize(
    ("registered", "happened", "covered"),
    [
        pytest.param((NODE, LABEL), (NODE, LABEL), True, id="the same"),
        pytest.param((NODE, LABEL | TAINT), (NODE, LABEL), True, id="one of several actions"),
        pytest.param(
            (NODE, LABEL), (NODE, LABEL | TAINT), False, id="only a part of what happened"
        ),
        pytest.param((NODE, LABEL), (NODE, TAINT), False, id="another action"),
        pytest.param((NODE, LABEL), (POD, LABEL), False, id="another resource"),
        pytest.param((NODE, ActionType.UPDATE), (NODE, LABEL), True, id="any update"),
        pytest.param((NODE, LABEL), (NODE, ActionType.UPDATE), False, id="a general update"),
        pytest.param(
            (POD, ActionType.ADD),
            (EventResource.ASSIGNED_POD, ActionType.ADD),
            True,
            id="an assigned pod is a pod",
        ),
        pytest.param(
            (POD, ActionType.ADD),
            (EventResource.UNSCHEDULED_POD, ActionType.ADD),
            True,
            id="so is an unscheduled one",
        ),
        pytest.param(
            (POD, ActionType.UPDATE),
            (EventResource.TARGET_POD, ActionType.UPDATE),
            True,
            id="so is the pod itself",
        ),
        pytest.param(
            (EventResource.TARGET_POD, ActionType.UPDATE),
            (EventResource.ASSIGNED_POD, ActionType.UPDATE),
            False,
            id="an assigned pod is not the pod itself",
        ),
        pytest.param(
            (EventResource.WILDCARD, ActionType.ADD),
            (NODE, ActionType.ADD),
            True,
            id="any resource",
        ),
        pytest.param(
            (EventResource.WILDCARD, ActionType.ADD),
            (NODE, ActionType.DELETE),
            False,
            id="any resource, another action",
        ),
        pytest.param(
            ("crews.v1.x.io", ActionType.ADD),
            ("crews.v1.x.io", ActionType.ADD),
            True,
            id="a custom resource",
        ),
        pytest.param((NODE, ActionType.NONE), (NODE, ActionType.ADD), False, id="no action"),
    ],
)
def test_what_a_registration_covers(registered, happened, covered):
    assert ClusterEvent(*registered).matches(ClusterEvent(*happened)) is covered


def test_all_events_cover_everything():
    assert ALL_EVENTS.is_wildcard
    assert ALL_EVENTS.matches(ClusterEvent(NODE, LABEL))
    assert ALL_EVENTS.matches(ClusterEvent(NODE, ActionType.NONE))
    assert not ClusterEvent(EventResource.WILDCARD, ActionType.ADD).is_wildcard
    assert not ClusterEvent(NODE, ActionType.ALL).is_wildcard


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ClusterEvent(NODE, ActionType.UPDATE_NODE_ALLOCATABLE), "NodeUpdateNodeAllocatable"),
        (ClusterEvent(EventResource.CSI_NODE, ActionType.ADD), "storage.k8s.io/CSINodeAdd"),
        (ClusterEvent("crews.v1.x.io", ActionType.UPDATE), "crews.v1.x.ioUpdate"),
        (ClusterEvent(NODE, ActionType.ALL), "NodeAll"),
        (ClusterEvent(NODE, LABEL | TAINT), "Node"),
        (ClusterEvent(NODE, ActionType.ALL, custom_label="ForceActivate"), "ForceActivate"),
    ],
)
def test_the_name_of_an_event_in_metrics(event, label):
    assert event.label == label


def test_updates_are_all_that_is_neither_an_addition_nor_a_deletion():
    specific = ActionType.NONE
    for action in ActionType:
        if action.name.startswith("UPDATE_"):
            specific |= action
    assert specific == ActionType.UPDATE
    assert ActionType.UPDATE | ActionType.ADD | ActionType.DELETE == ActionType.ALL

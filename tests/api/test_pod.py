"""Pods."""

from __future__ import annotations

import pytest

from mooring.api import Pod, decode_as


@pytest.mark.parametrize(
    ("given", "priority"), [({}, 0), ({"priority": 0}, 0), ({"priority": -5}, -5)]
)
def test_a_priority_that_is_absent_is_zero(given, priority):
    assert decode_as({"spec": given}, Pod).priority == priority


def test_a_pending_pod_has_no_node():
    assert decode_as({}, Pod).node_name == ""
    assert decode_as({"spec": {"nodeName": "n"}}, Pod).node_name == "n"


@pytest.mark.parametrize(
    ("metadata", "is_terminating"),
    [
        ({"deletionTimestamp": "2024-01-01T00:00:00Z"}, True),
        ({"deletionTimestamp": None}, False),
        ({"finalizers": ["a"]}, False),
    ],
)
def test_a_pod_with_a_deletion_timestamp_is_terminating(metadata, is_terminating):
    assert decode_as({"metadata": metadata}, Pod).is_terminating is is_terminating


@pytest.mark.parametrize(
    ("phase", "is_finished"),
    [
        ("Succeeded", True),
        ("Failed", True),
        ("Running", False),
        ("Pending", False),
        ("Unknown", False),
        ("", False),
    ],
)
def test_a_pod_is_finished_once_its_containers_have_ended(phase, is_finished):
    assert decode_as({"status": {"phase": phase}}, Pod).is_finished is is_finished

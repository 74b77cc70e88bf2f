"""Containers."""

from __future__ import annotations

import pytest

from mooring.api import Pod, decode_as


@pytest.mark.parametrize(
    ("container", "is_sidecar"),
    [
        pytest.param({"restartPolicy": "Always"}, True, id="it is always restarted"),
        pytest.param({"restartPolicy": "OnFailure"}, False, id="it is restarted on failure"),
        pytest.param({}, False, id="the pod decides"),
        pytest.param({"restartPolicy": None}, False, id="null is absent"),
    ],
)
def test_an_init_container_that_keeps_running_is_a_sidecar(container, is_sidecar):
    pod = decode_as({"spec": {"initContainers": [{"name": "a", **container}]}}, Pod)
    assert pod.spec.init_containers[0].is_sidecar is is_sidecar


def test_an_ephemeral_container_has_what_containers_have_and_a_target():
    raw = {"spec": {"ephemeralContainers": [{"image": "b", "targetContainerName": "c"}]}}
    (found,) = decode_as(raw, Pod).spec.ephemeral_containers
    assert (found.image, found.target_container_name, found.ports) == ("b", "c", ())


def test_a_status_keeps_states_as_they_are():
    state = {"waiting": {"reason": "ImagePullBackOff"}}
    raw = {"status": {"containerStatuses": [{"name": "a", "state": state, "imageID": "x"}]}}
    (status,) = decode_as(raw, Pod).status.container_statuses
    assert (status.state, status.last_state, status.image_id) == (state, {}, "x")
    assert status.started is None

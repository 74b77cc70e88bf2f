"""The status of a pod, as its kubelet would report it."""

# kubernetes: pkg/kubelet/kubelet_pods.go, pkg/kubelet/status/generate.go

from __future__ import annotations

import uuid
from typing import Any

from mooring.api import Container, Pod
from mooring.kubelet.commands import exit_code

Object = dict[str, Any]

_RUNTIME = "containerd"


def running(pod: Pod, host_ip: str, pod_ip: str, when: str) -> Object:
    """Return the status of a pod whose containers have just started."""
    ready = _gates_hold(pod)
    reason = "" if ready else "ReadinessGatesNotReady"
    return {
        "phase": "Running",
        "observedGeneration": pod.metadata.generation,
        "conditions": [
            condition(pod, "PodReadyToStartContainers", True, when),
            condition(pod, "Initialized", True, when),
            condition(pod, "Ready", ready, when, reason, closed_gates(pod)),
            condition(pod, "ContainersReady", True, when),
        ],
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": when,
        "initContainerStatuses": [initial(pod, one, when) for one in pod.spec.init_containers],
        "containerStatuses": [running_container(pod, one, when) for one in pod.spec.containers],
    }


def ready(pod: Pod, when: str) -> Object | None:
    """Return the status change if readiness gates opened or closed; None if none did."""
    holds = _gates_hold(pod)
    for known in pod.status.conditions:
        if known.type == "Ready" and (known.status == "True") != holds:
            reason = "" if holds else "ReadinessGatesNotReady"
            return {"conditions": [condition(pod, "Ready", holds, when, reason, closed_gates(pod))]}
    return None


def finished(pod: Pod, when: str, *, code: int | None = None) -> Object:
    """Return the status of a pod whose containers have ended.

    They have the exit codes that their commands imply, or all have `code`.
    """
    statuses = []
    failed = False
    known = {one.name: one for one in pod.status.container_statuses}
    for container in pod.spec.containers:
        ended = exit_code(container) if code is None else code
        failed = failed or ended != 0
        before = known.get(container.name)
        started = (before.state.get("running") or {}).get("startedAt") if before else None
        terminated = {
            "exitCode": ended,
            "reason": "Error" if ended else "Completed",
            "startedAt": started or when,
            "finishedAt": when,
            "containerID": container_id(pod, container),
        }
        status = container_status(pod, container, {"terminated": terminated}, ready=False)
        statuses.append({**status, "started": False})
    phase, reason = ("Failed", "PodFailed") if failed else ("Succeeded", "PodCompleted")
    return {
        "phase": phase,
        "conditions": [
            condition(pod, "PodReadyToStartContainers", False, when),
            condition(pod, "Initialized", True, when, "" if failed else reason),
            condition(pod, "Ready", False, when, reason),
            condition(pod, "ContainersReady", False, when, reason),
        ],
        "containerStatuses": statuses,
    }


def condition(
    pod: Pod, type: str, holds: bool, when: str, reason: str = "", message: str = ""
) -> Object:
    """Return a condition; its transition time is kept if its status has not changed."""
    made: Object = {
        "type": type,
        "status": "True" if holds else "False",
        "lastProbeTime": None,
        "lastTransitionTime": when,
        "observedGeneration": pod.metadata.generation,
        "reason": reason or None,
        "message": None if holds or not message else message,
    }
    for known in pod.status.conditions:
        if known.type == type and known.status == made["status"] and known.last_transition_time:
            made["lastTransitionTime"] = known.last_transition_time
    return made


def _gates_hold(pod: Pod) -> bool:
    return not closed_gates(pod)


def closed_gates(pod: Pod) -> str:
    """Return a message that names the closed readiness gates; "" if none is."""
    states = {one.type: one.status for one in pod.status.conditions}
    texts = []
    for gate in pod.spec.readiness_gates:
        name = gate["conditionType"]
        if name not in states:
            texts.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif states[name] != "True":
            texts.append(
                f'the status of pod readiness gate "{name}" is not "True", but {states[name]}'
            )
    return ", ".join(texts)


def running_container(pod: Pod, container: Container, when: str) -> Object:
    """Return the status of a container that runs for the first time."""
    return container_status(pod, container, {"running": {"startedAt": when}}, ready=True)


def initial(pod: Pod, container: Container, when: str) -> Object:
    """Return the status of a completed init container, or of a running sidecar."""
    if container.is_sidecar:
        return running_container(pod, container, when)
    terminated = {
        "exitCode": 0,
        "reason": "Completed",
        "startedAt": when,
        "finishedAt": when,
        "containerID": container_id(pod, container),
    }
    status = container_status(pod, container, {"terminated": terminated}, ready=True)
    return {**status, "started": False}


def container_status(
    pod: Pod, container: Container, state: Object, *, ready: bool, restarts: int = 0
) -> Object:
    """Return the status of one container, without a last state."""
    return {
        "name": container.name,
        "state": state,
        "lastState": {},
        "ready": ready,
        "started": True,
        "restartCount": restarts,
        "image": container.image,
        "imageID": "",
        "containerID": container_id(pod, container, restarts),
    }


def container_id(pod: Pod, container: Container, restarts: int = 0) -> str:
    """Return the id of one run of a container; it is always the same for that run."""
    run = f"#{restarts}" if restarts else ""
    made = uuid.uuid5(uuid.NAMESPACE_OID, f"{pod.metadata.uid}/{container.name}{run}")
    again = uuid.uuid5(made, container.name)
    return f"{_RUNTIME}://{made.hex}{again.hex}"

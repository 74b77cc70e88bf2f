"""The status of a pod, as its kubelet would report it."""

# kubernetes: pkg/kubelet/kubelet_pods.go, pkg/kubelet/status/generate.go

from __future__ import annotations

import uuid
from typing import Any

from mooring.api import Container, Pod
from mooring.local.nodes.commands import exit_code

Object = dict[str, Any]

_RUNTIME = "containerd"


def running(pod: Pod, host_ip: str, pod_ip: str, when: str) -> Object:
    """Return the status of a pod whose containers have just started."""
    ready = _gates_hold(pod)
    return {
        "phase": "Running",
        "observedGeneration": pod.metadata.generation,
        "conditions": [
            _condition(pod, "PodReadyToStartContainers", True, when),
            _condition(pod, "Initialized", True, when),
            _condition(
                pod, "Ready", ready, when, "" if ready else "ReadinessGatesNotReady", _gates(pod)
            ),
            _condition(pod, "ContainersReady", True, when),
        ],
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": when,
        "initContainerStatuses": [_initial(pod, one, when) for one in pod.spec.init_containers],
        "containerStatuses": [_running(pod, one, when) for one in pod.spec.containers],
    }


def ready(pod: Pod, when: str) -> Object | None:
    """Return what changes where readiness gates open or close; None where nothing does."""
    holds = _gates_hold(pod)
    for condition in pod.status.conditions:
        if condition.type == "Ready" and (condition.status == "True") != holds:
            reason = "" if holds else "ReadinessGatesNotReady"
            return {"conditions": [_condition(pod, "Ready", holds, when, reason, _gates(pod))]}
    return None


def finished(pod: Pod, when: str, *, code: int | None = None) -> Object:
    """Return the status of a pod whose containers have ended, by themselves or with a code."""
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
            "containerID": _container_id(pod, container),
        }
        status = _container(pod, container, {"terminated": terminated}, ready=False)
        statuses.append({**status, "started": False})
    phase, reason = ("Failed", "PodFailed") if failed else ("Succeeded", "PodCompleted")
    return {
        "phase": phase,
        "conditions": [
            _condition(pod, "PodReadyToStartContainers", False, when),
            _condition(pod, "Initialized", True, when, "" if failed else reason),
            _condition(pod, "Ready", False, when, reason),
            _condition(pod, "ContainersReady", False, when, reason),
        ],
        "containerStatuses": statuses,
    }


def _condition(
    pod: Pod, type: str, holds: bool, when: str, reason: str = "", message: str = ""
) -> Object:
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
    return not _gates(pod)


def _gates(pod: Pod) -> str:
    """Say which readiness gates are closed."""
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


def _running(pod: Pod, container: Container, when: str) -> Object:
    return _container(pod, container, {"running": {"startedAt": when}}, ready=True)


def _initial(pod: Pod, container: Container, when: str) -> Object:
    if container.is_sidecar:
        return _running(pod, container, when)
    terminated = {
        "exitCode": 0,
        "reason": "Completed",
        "startedAt": when,
        "finishedAt": when,
        "containerID": _container_id(pod, container),
    }
    status = _container(pod, container, {"terminated": terminated}, ready=True)
    return {**status, "started": False}


def _container(pod: Pod, container: Container, state: Object, *, ready: bool) -> Object:
    return {
        "name": container.name,
        "state": state,
        "lastState": {},
        "ready": ready,
        "started": True,
        "restartCount": 0,
        "image": container.image,
        "imageID": "",
        "containerID": _container_id(pod, container),
    }


def _container_id(pod: Pod, container: Container) -> str:
    made = uuid.uuid5(uuid.NAMESPACE_OID, f"{pod.metadata.uid}/{container.name}")
    again = uuid.uuid5(made, container.name)
    return f"{_RUNTIME}://{made.hex}{again.hex}"

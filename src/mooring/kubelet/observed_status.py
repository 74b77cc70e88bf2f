"""The status of a pod whose containers really run, computed from their states."""

# kubernetes: pkg/kubelet/kubelet_pods.go (getPhase), pkg/kubelet/status/generate.go

from __future__ import annotations

from typing import Any

from mooring.api import Pod
from mooring.api.go_format import go_text
from mooring.kubelet.pod_status import closed_gates, condition, initial

Object = dict[str, Any]

_NOT_READY = "ContainersNotReady"


def observed(
    pod: Pod, addresses: tuple[str, str], when: str, statuses: list[Object], *, sandbox: bool
) -> Object:
    """Return a pod's status; `addresses` are its node's and its own.

    Without `sandbox` no container could start yet, because a volume is missing.
    """
    phase = phase_of(pod, statuses)
    host, own = addresses
    status: Object = {
        "phase": phase,
        "observedGeneration": pod.metadata.generation,
        "conditions": _conditions(pod, phase, when, statuses, sandbox),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "startTime": pod.status.start_time or when,
        "containerStatuses": statuses,
    }
    if sandbox:
        status["podIP"], status["podIPs"] = own, [{"ip": own}]
        first = pod.status.start_time or when
        status["initContainerStatuses"] = [
            initial(pod, one, first) for one in pod.spec.init_containers
        ]
    return status


def phase_of(pod: Pod, statuses: list[Object]) -> str:
    """Return the phase that follows from the states of a pod's containers."""
    running = ended = failed = 0
    for status in statuses:
        state, last = status["state"], status["lastState"].get("terminated")
        if "running" in state:
            running += 1
        elif "terminated" in state or last:
            ended += 1
            found = state.get("terminated") or last
            failed += found["exitCode"] != 0 or "terminated" not in state
        else:
            return "Pending"
    policy = pod.spec.restart_policy or "Always"
    if running or not ended or policy == "Always":
        return "Running"
    if not failed:
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _conditions(
    pod: Pod, phase: str, when: str, statuses: list[Object], sandbox: bool
) -> list[Object]:
    done = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase)
    unready = [status["name"] for status in statuses if not status["ready"]]
    gates = closed_gates(pod)
    if done is not None:
        reason, message = done, ""
    elif unready:
        reason, message = _NOT_READY, f"containers with unready status: {go_text(unready)}"
    else:
        reason, message = "", ""
    ready_reason, ready_message = reason, message
    if not reason and gates:
        ready_reason, ready_message = "ReadinessGatesNotReady", gates
    initialized = done if phase == "Succeeded" else ""
    return [
        condition(pod, "PodReadyToStartContainers", sandbox and done is None, when),
        condition(pod, "Initialized", True, when, initialized or ""),
        condition(pod, "Ready", not ready_reason, when, ready_reason, ready_message),
        condition(pod, "ContainersReady", not reason, when, reason, message),
    ]

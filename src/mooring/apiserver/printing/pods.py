"""The printer of pods."""

# kube-apiserver: pkg/printers/internalversion/printers.go, printPod

from __future__ import annotations

import datetime
from typing import Any

from mooring.apiserver.printing.printer import NONE, Printer, age, at, columns, name, since

Object = dict[str, Any]

_SUCCEEDED = [
    {
        "type": "Completed",
        "status": "True",
        "reason": "Succeeded",
        "message": "The pod has completed successfully.",
    }
]
_FAILED = [
    {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
]


class _Count:
    """The number of restarts, and the time of the last one."""

    def __init__(self) -> None:
        self.restarts = 0
        self.last = ""

    def add(self, status: Object) -> None:
        self.restarts += int(status.get("restartCount") or 0)
        finished = at(status, "lastState.terminated.finishedAt", "")
        self.last = max(self.last, finished)

    def text(self, now: datetime.datetime) -> str:
        if self.restarts and self.last:
            return f"{self.restarts} ({since(self.last, now)} ago)"
        return str(self.restarts)


def _ended(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _has(status: Object, type: str) -> bool:
    return any(
        one.get("type") == type and one.get("status") == "True"
        for one in status.get("conditions") or ()
    )


class _Pod:
    """The status, readiness and restarts that a pod's row shows."""

    def __init__(self, pod: Object) -> None:
        self.spec: Object = pod.get("spec") or {}
        self.status: Object = pod.get("status") or {}
        self.phase = str(self.status.get("phase") or "")
        self.reason = str(self.status.get("reason") or self.phase)
        self.ready = 0
        self.total = len(self.spec.get("containers") or ())
        self.count = _Count()
        for one in self.status.get("conditions") or ():
            if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
                self.reason = "SchedulingGated"
        sidecars = _Count()
        if not self._init(sidecars) or _has(self.status, "Initialized"):
            self.count = sidecars
            self._main()
        if pod["metadata"].get("deletionTimestamp"):
            if self.status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif self.phase not in ("Succeeded", "Failed"):
                self.reason = "Terminating"

    def _init(self, sidecars: _Count) -> bool:
        """Evaluate the init containers; return whether initialization is still in progress."""
        specs = self.spec.get("initContainers") or ()
        restartable = {one["name"] for one in specs if one.get("restartPolicy") == "Always"}
        self.total += len(restartable)
        for i, one in enumerate(self.status.get("initContainerStatuses") or ()):
            self.count.add(one)
            is_sidecar = one.get("name") in restartable
            if is_sidecar:
                sidecars.add(one)
            state = one.get("state") or {}
            terminated = state.get("terminated")
            if terminated and not terminated.get("exitCode"):
                continue
            if is_sidecar and one.get("started"):
                self.ready += bool(one.get("ready"))
                continue
            waiting = at(state, "waiting.reason", "")
            if terminated:
                self.reason = f"Init:{_ended(terminated)}"
            elif waiting and waiting != "PodInitializing":
                self.reason = f"Init:{waiting}"
            else:
                self.reason = f"Init:{i}/{len(specs)}"
            return True
        return False

    def _main(self) -> None:
        running = False
        failed = ""
        for one in reversed(self.status.get("containerStatuses") or ()):
            self.count.add(one)
            state = one.get("state") or {}
            if at(state, "waiting.reason"):
                self.reason = state["waiting"]["reason"]
            elif state.get("terminated") is not None:
                self.reason = _ended(state["terminated"])
                if state["terminated"].get("exitCode"):
                    failed = self.reason
            elif one.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and _has(self.status, "Ready"):
                self.reason = "Running"
            elif failed:
                self.reason = failed
            elif running:
                self.reason = "NotReady"

    def gates(self) -> str:
        gates = self.spec.get("readinessGates") or ()
        if not gates:
            return NONE
        true = sum(_has(self.status, gate["conditionType"]) for gate in gates)
        return f"{true}/{len(gates)}"


def _row(pod: Object, now: datetime.datetime) -> list[Any]:
    seen = _Pod(pod)
    ips = seen.status.get("podIPs") or ()
    return [
        name(pod),
        f"{seen.ready}/{seen.total}",
        seen.reason,
        seen.count.text(now),
        age(pod, now),
        (ips[0].get("ip") if ips else "") or NONE,
        seen.spec.get("nodeName") or NONE,
        seen.status.get("nominatedNodeName") or NONE,
        seen.gates(),
    ]


def _conditions(pod: Object) -> list[Object]:
    phase = at(pod, "status.phase")
    return {"Succeeded": _SUCCEEDED, "Failed": _FAILED}.get(phase, [])


PRINTERS = {
    "/Pod": Printer(
        columns("Name, Ready, Status, Restarts, Age; IP, Node, Nominated Node, Readiness Gates"),
        _row,
        _conditions,
    )
}

"""RealContainer: the successive runs of one container."""

from __future__ import annotations

from typing import Any

from mooring.api import Container, Pod
from mooring.api.durations import Duration
from mooring.api.timestamps import format_time
from mooring.kubelet.container_log import ContainerLog
from mooring.kubelet.container_process import ContainerProcess
from mooring.kubelet.image_contents import Image
from mooring.kubelet.pod_status import container_id, container_status

Object = dict[str, Any]

CREATING = "ContainerCreating"
CRASH_LOOP = "CrashLoopBackOff"
# kubelet: initialCrashLoopBackOff, MaxContainerBackOff
FIRST_BACKOFF = 10
LAST_BACKOFF = 300
# kubelet: how much of the end of a container's log becomes its termination message
_MESSAGE_LINES, _MESSAGE_BYTES = 80, 2048
# The reason and exit code of a container that ended while no kubelet was running.
_LOST, _LOST_CODE = "ContainerStatusUnknown", 137


class RealContainer:
    """A container with the results of its runs, and the time when the next may begin."""

    def __init__(self, spec: Container, image: Image) -> None:
        self.spec = spec
        self.image = image
        self.process: ContainerProcess | None = None
        self.restarts = 0
        #: The reason and message why it does not run; None once it does.
        self.waiting: tuple[str, str] | None = (CREATING, "")
        #: The log of the present run, or of the last one, and of the one before.
        self.log: ContainerLog | None = None
        self.log_before: ContainerLog | None = None
        #: How the present run ended, and the one before.
        self.ended: Object | None = None
        self.ended_before: Object | None = None
        self._started = ""
        self._finished = 0.0
        self._backoff = 0
        self._backed_off = 0.0

    @property
    def runs(self) -> bool:
        """Return whether the container's process is running."""
        return self.process is not None and self.process.exit_code is None

    def remember(self, pod: Pod, now: float) -> None:
        """Restore state from the pod's status after a restart, which ended all processes."""
        for known in pod.status.container_statuses:
            if known.name == self.spec.name and known.container_id:
                self.restarts = known.restart_count
                running = known.state.get("running") or {}
                self._started = running.get("startedAt") or format_time(now)
                self._finished = now
                found = known.state.get("terminated") or known.last_state.get("terminated")
                self.ended = (None if running else found) or self._terminated(
                    pod, _LOST_CODE, _LOST
                )

    def begin(self, process: ContainerProcess, log: ContainerLog, when: str) -> None:
        """Record that a run has begun."""
        self._next_run()
        self.log = log
        self.process = process
        self.waiting = None
        self._started = when

    def _next_run(self) -> None:
        if self.ended is not None:
            self.restarts += 1
            self.ended_before, self.ended = self.ended, None
        if self.log_before is not None:
            self.log_before.remove()
        self.log_before, self.log = self.log, None

    def fail(self, pod: Pod, message: str, now: float) -> None:
        """Record a run that could not be started."""
        self._next_run()
        self.process, self.waiting = None, None
        self._started, self._finished = "1970-01-01T00:00:00Z", now
        self.ended = {**self._terminated(pod, 128, "StartError"), "message": message}

    def note_exit(self, pod: Pod, now: float) -> bool:
        """Record the end of the process, if it has ended; return whether it just did."""
        if self.process is None or self.process.exit_code is None:
            return False
        code = self.process.exit_code
        self.process = None
        self._finished = now
        self.ended = self._terminated(pod, code, "Error" if code else "Completed")
        if code and self.log and self.spec.termination_message_policy == "FallbackToLogsOnError":
            self.ended["message"] = self.log.tail_text(_MESSAGE_LINES, _MESSAGE_BYTES)
        return True

    def _terminated(self, pod: Pod, code: int, reason: str) -> Object:
        return {
            "exitCode": code,
            "reason": reason,
            "startedAt": self._started,
            "finishedAt": format_time(self._finished),
            "containerID": container_id(pod, self.spec, self.restarts),
        }

    def restarts_by(self, policy: str) -> bool:
        """Return whether a restart policy asks for another run."""
        if self.runs or self.ended is None:
            return not self.runs
        return policy == "Always" or (policy == "OnFailure" and self.ended["exitCode"] != 0)

    def hold_back(self, pod: Pod, now: float) -> float | None:
        """Return when the next run may begin; None if now, which also extends the backoff."""
        # client-go: util/flowcontrol/backoff.go, kubelet: kuberuntime_manager.go (doBackOff)
        if self.ended is None:
            return None
        expired = self._finished - self._backed_off > 2 * LAST_BACKOFF
        due = self._finished + self._backoff
        if self._backoff and not expired and now < due:
            text = f"back-off {Duration.from_seconds(self._backoff)} restarting failed container="
            self.waiting = (CRASH_LOOP, f"{text}{self.spec.name} pod={pod_text(pod)}")
            return due
        longer = min(2 * self._backoff, LAST_BACKOFF)
        self._backoff = FIRST_BACKOFF if expired or not self._backoff else longer
        self._backed_off = now
        return None

    def status(self, pod: Pod) -> Object:
        """Return the status of the container."""
        state: Object
        last = self.ended_before
        if self.runs:
            state = {"running": {"startedAt": self._started}}
        elif self.waiting is not None:
            reason, message = self.waiting
            state = {"waiting": {"reason": reason} | ({"message": message} if message else {})}
            last = self.ended or last
        else:
            state = {"terminated": self.ended}
        made = container_status(pod, self.spec, state, ready=self.runs, restarts=self.restarts)
        made["started"] = self.runs
        if last is not None:
            made["lastState"] = {"terminated": last}
        if self.waiting is not None and self.ended is None:
            made["containerID"] = ""
        return made

    def discard(self) -> None:
        """Delete the logs."""
        for log in (self.log, self.log_before):
            if log is not None:
                log.remove()


def pod_text(pod: Pod) -> str:
    """Return a pod's name, namespace and uid in the kubelet's format."""
    # kubernetes: pkg/kubelet/util/format/pod.go
    metadata = pod.metadata
    return f"{metadata.name}_{metadata.namespace}({metadata.uid})"

"""SySched: place pods beside pods that need the same system calls."""

# scheduler-plugins: pkg/sysched/sysched.go

from __future__ import annotations

import msgspec

from mooring import CycleState, NodeInfo, Nodes, Plugin
from mooring.api import Pod, SeccompProfile
from mooring.contrib.score_ranges import reverse_by_highest
from mooring.contrib.sysched.hosts import Hosts
from mooring.contrib.sysched.syscalls import SyscallSets
from mooring.typing import Ints, Scores

#: The raw score of all nodes for a pod of which no system calls are known.
NOTHING_KNOWN = 2**63 - 1


class SySched(Plugin):
    """The plugin that places pods beside pods that need the same system calls.

    Choose it if pods have seccomp profiles of the Security Profiles Operator and an attacker in one
    pod must find as few system calls open on its host as possible: a node scores better the fewer
    calls its pods, or the new pod, can make that the others do not need.

    A pod without a profile gets the default one of the arguments. A pod counts on its node once it
    runs there.
    """

    name = "SySched"

    class Args(msgspec.Struct, frozen=True, rename="camel"):
        """The profile of pods that have none: one that allows every system call."""

        #: The namespace of the profile of pods that name none.
        default_profile_namespace: str = "default"
        #: The name of that profile.
        default_profile_name: str = "all-syscalls"

    def start(self) -> None:
        """Watch profiles, and count the pods of each node."""
        args = self.args
        default = args.default_profile_namespace, args.default_profile_name
        self._syscalls = SyscallSets(self.handle.lister(SeccompProfile), default)
        self._hosts = Hosts(self._syscalls.of)
        #: The version of the profiles with which hosts were counted.
        self._counted = self._syscalls.version
        self.handle.watch(
            Pod, added=self._pod_added, updated=self._pod_updated, deleted=self._hosts.remove
        )

    def _pod_added(self, pod: Pod) -> None:
        if pod.status.phase == "Running":
            self._hosts.add(pod)

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        # The kubelet sets the host IP of a pod that is still pending; the next change counts it.
        if old.status.phase == "Pending" and old.status.host_ip:
            self._hosts.add(old)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Scores | int:
        """Return how many needless system calls each node would have: the lower, the better."""
        syscalls = self._syscalls.of(pod)
        if not syscalls:
            return NOTHING_KNOWN
        slots = nodes.gather(nodes.derive((self.name, id(self)), self._slots))
        return self._scores(syscalls).take(slots)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Return how many needless system calls one node would have."""
        syscalls = self._syscalls.of(pod)
        if not syscalls:
            return NOTHING_KNOWN
        slot = self._hosts.slot(node.name)
        return int(self._scores(syscalls)[slot])

    def _scores(self, syscalls: int) -> Ints:
        if self._counted != self._syscalls.version:
            self._counted = self._syscalls.version
            self._hosts.count_all()
        return self._hosts.scores(syscalls)

    def _slots(self, nodes: Nodes) -> Ints:
        return self._hosts.slots(nodes.names)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Scores) -> Scores:
        """Scale so that 0 becomes 100 and the highest score 0."""
        return reverse_by_highest(scores)

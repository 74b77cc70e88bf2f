"""SIGSTOP and SIGCONT of a leader: only the replica that took the lease meanwhile may bind.

Two replicas share a lease of 3 s. In every round the leader is stopped in the middle of a burst of
pods, while more are created, and continued after the other has taken the lease. Every round has new
nodes with room for exactly its number of pods. The API server's audit log shows who wrote what, and
who held the lease at that time.

    make frozen-leader ROUNDS=20
    make frozen-leader ROUNDS=20 SCHEDULER=reference
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import msgspec
import pytest

from tests.support.api import Api
from tests.support.control_plane import ControlPlane
from tests.support.crowded_nodes import (
    PODS_PER_NODE,
    StartableScheduler,
    make_node,
    make_pod,
)
from tests.support.real_parts import locate
from tests.support.schedulers import SCHEDULER_PROGRAM
from tests.support.waiting import eventually

ROUNDS = int(os.environ.get("MOORING_FROZEN_ROUNDS", "3"))
SEED = int(os.environ.get("MOORING_FROZEN_SEED", "1"))
REFERENCE = os.environ.get("MOORING_FROZEN_SCHEDULER") == "reference"

NODES_PER_ROUND = 20
PODS_PER_ROUND = NODES_PER_ROUND * PODS_PER_NODE
#: How many pods of a round are created at once when a leader is stopped; the others follow at
#: `PACE` per second.
BURST = 250
PACE = 60.0
RETRY_SECONDS = 0.5
NAMESPACE = "frozen"
#: Timeout of every wait, in seconds.
PATIENCE = 90.0
#: Late writes allowed per takeover: if a process is stopped between the check of a request and its
#: first byte, that request is sent when the process is continued.
IN_FLIGHT = 1

ELECTION = {
    "leaderElect": "true",
    "leaseDuration": "3s",
    "renewDeadline": "2s",
    "retryPeriod": "500ms",
}

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create, update]
  namespaces: [kube-system]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
# What leader election says of itself is no write of the scheduler.
- level: None
  namespaces: [kube-system]
- level: Metadata
  users: [replica-one, replica-two]
  verbs: [create, update, patch, delete]
- level: None
"""


class Creator:
    """A creator of pods, in a burst and then at a pace, up to the capacity of the nodes."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._numbers = iter(range(0))
        self._local = threading.local()
        self._apis: list[Api] = []
        self._pool = ThreadPoolExecutor(4)
        self._finished = threading.Event()
        self._steady = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._steady.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        self._steady.join()
        self._pool.shutdown(cancel_futures=True)
        for api in self._apis:
            api.__exit__()

    def begin(self, numbers: range) -> None:
        """Start to create pods, many at once and the others one by one, without waiting."""
        self._numbers = iter(numbers)
        for _ in range(BURST):
            self._pool.submit(self._create_next)

    def finish(self) -> None:
        """Create the remaining pods."""
        for made in [self._pool.submit(self._create, number) for number in self._numbers]:
            made.result()

    def _run(self) -> None:
        while not self._finished.wait(1.0 / PACE):
            self._create_next()

    def _create_next(self) -> None:
        # The iterator's step is one C call, so no two threads get the same number.
        number = next(self._numbers, None)
        if number is not None:
            self._create(number)

    def _create(self, number: int) -> None:
        if not hasattr(self._local, "api"):
            self._local.api = Api(self._plane.access)
            self._apis.append(self._local.api)
        self._local.api.create(make_pod(number), NAMESPACE)


class Replica(StartableScheduler):
    """A scheduler replica: its user at the API server, and its current process."""

    def __init__(self, name: str, plane: ControlPlane, folder: Path, program: Path) -> None:
        self.user = f"replica-{name}"
        # Each replica is a separate administrator, so that the audit log tells them apart.
        kubeconfig = plane.kubeconfig(self.user, groups=("system:masters",))
        super().__init__(program, folder, name, kubeconfig, **ELECTION)
        self.start()


class Stage:
    """A control plane with an audit log, and two replicas on one lease."""

    def __init__(
        self, plane: ControlPlane, api: Api, audit: Path, folder: Path, program: Path
    ) -> None:
        self.api = api
        self._audit = audit
        self._nodes = 0
        self.replicas = [Replica(name, plane, folder, program) for name in ("one", "two")]

    def keep_running(self) -> None:
        """Restart replicas that have ended; on a slow machine others than the stopped one may."""
        for replica in self.replicas:
            if replica.process.has_left:
                replica.start()

    def lease(self) -> dict[str, Any]:
        self.keep_running()
        found = self.api.find("Lease", "kube-scheduler", "kube-system")
        return {} if found is None else found["spec"]

    def leader(self) -> tuple[Replica, str]:
        """Return the replica that last wrote the lease, and the holder name that it wrote."""
        last = [entry for entry in read_audit(self._audit) if entry.took_lease][-1]
        (leader,) = [one for one in self.replicas if one.user == last.user]
        return leader, last.holder or ""

    def renewal(self) -> None:
        """Wait for the next change of the lease."""
        before = self.lease()
        eventually(lambda: self.lease() != before, "the lease is renewed", PATIENCE)

    def add_nodes(self) -> None:
        for _ in range(NODES_PER_ROUND):
            self.api.create(make_node(self._nodes))
            self._nodes += 1

    def wait_until_full(self) -> None:
        pods = self._nodes * PODS_PER_NODE
        eventually(lambda: self.bound().total() == pods, f"{pods} pods are bound", PATIENCE)

    def bound(self) -> Counter[str]:
        self.keep_running()
        pods = self.api.list("Pod", NAMESPACE, resourceVersion="0")
        return Counter(
            pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName") is not None
        )


class Entry(msgspec.Struct, frozen=True):
    """A write that was applied or refused, with times from the audit log."""

    user: str
    received: str
    answered: str
    status: int
    is_bind: bool
    #: The holder that a write of the lease sets; None for other writes.
    holder: str | None

    @property
    def took_lease(self) -> bool:
        return bool(self.holder) and self.status < 300


def read_audit(path: Path) -> list[Entry]:
    """Return all entries in the order in which the server received them."""
    entries = []
    complete, _, _ = path.read_text().rpartition("\n")
    for line in complete.splitlines():
        event = json.loads(line)
        written = event.get("requestObject")
        if written is not None and written["metadata"]["name"] != "kube-scheduler":
            # A lease of the API server itself.
            continue
        entries.append(
            Entry(
                event["user"]["username"],
                event["requestReceivedTimestamp"],
                event["stageTimestamp"],
                event["responseStatus"]["code"],
                event["objectRef"].get("subresource") == "binding",
                None if written is None else written["spec"].get("holderIdentity", ""),
            )
        )
    return sorted(entries, key=lambda entry: entry.received)


def late_writes(entries: list[Entry]) -> list[list[Entry]]:
    """Return, for each takeover of the lease, the late writes of the previous holder.

    A write is late if the server received it after it had responded to the takeover, and before
    its sender got the lease again.
    """
    writes = [entry for entry in entries if entry.took_lease]
    takeovers = [(old.user, new) for old, new in pairwise(writes) if old.user != new.user]
    late = []
    for number, (old, taken) in enumerate(takeovers):
        end = takeovers[number + 1][1].received if number + 1 < len(takeovers) else "~"
        late.append(
            [
                entry
                for entry in entries
                if entry.holder is None
                and entry.user == old
                and taken.answered < entry.received < end
            ]
        )
    return late


def describe(write: Entry) -> str:
    if not write.is_bind:
        return "other writes"
    return "binds carried out" if write.status < 300 else "binds refused"


@pytest.fixture
def audited(tmp_path: Path) -> Iterator[tuple[ControlPlane, Path]]:
    """Yield a control plane that logs the writes of schedulers, and the log's path."""
    folder = tmp_path / "control-plane"
    folder.mkdir()
    policy, log = folder / "audit-policy.yaml", folder / "audit.log"
    policy.write_text(POLICY)
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={log}")
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"), flags=flags)
    try:
        plane.start()
        yield plane, log
    finally:
        plane.stop()


def wait_for_moment(stage: Stage, moment: str, rng: random.Random) -> None:
    if moment == "at random":
        time.sleep(rng.uniform(0.1, 0.8))
        return
    stage.renewal()
    if moment == "right before a renewal":
        time.sleep(RETRY_SECONDS - rng.uniform(0.0, 0.05))


def play_round(stage: Stage, begin: Callable[[], None], moment: str, rng: random.Random) -> None:
    """Stop the leader, continue it when the other replica has the lease, and wait for its end."""
    stage.renewal()
    leader, holder = stage.leader()
    begin()
    wait_for_moment(stage, moment, rng)
    stopped = leader.process
    stopped.send(signal.SIGSTOP)
    try:
        eventually(
            lambda: stage.lease().get("holderIdentity") not in ("", holder),
            f"another took the lease of {holder}",
            PATIENCE,
        )
        time.sleep(rng.uniform(0.0, 1.0))
    finally:
        stopped.send(signal.SIGCONT)
    status = stopped.wait(PATIENCE)
    assert status == 1, f"{leader.user} left with status {status}:\n{stopped.tail()}"


def test_a_leader_that_was_stopped_and_continued_writes_nothing_more(
    audited: tuple[ControlPlane, Path], tmp_path: Path
) -> None:
    plane, audit = audited
    rng = random.Random(SEED)
    moments = ("at random", "right before a renewal", "right after a renewal")
    program = locate("KUBE_SCHEDULER") if REFERENCE else SCHEDULER_PROGRAM
    with Api(plane.access) as api:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        stage = Stage(plane, api, audit, tmp_path, program)
        try:
            with Creator(plane) as creator:
                for number in range(ROUNDS):
                    stage.add_nodes()
                    numbers = range(number * PODS_PER_ROUND, (number + 1) * PODS_PER_ROUND)
                    begin = partial(creator.begin, numbers)
                    play_round(stage, begin, moments[number % len(moments)], rng)
                    creator.finish()
                    stage.wait_until_full()
            bound = stage.bound()
        finally:
            for replica in stage.replicas:
                replica.process.stop()
    late = late_writes(read_audit(audit))
    counts = [Counter(map(describe, writes)) for writes in late]
    overcommitted = {name: pods for name, pods in bound.items() if pods > PODS_PER_NODE}
    told = (
        f"{ROUNDS} rounds of seed {SEED}; what the old leader sent after another had the lease: "
        f"{[dict(one) for one in counts]}; in all: {dict(sum(counts, Counter()))}; "
        f"overcommitted: {overcommitted}"
    )
    print(told)
    assert len(late) >= ROUNDS, told
    assert max(map(len, late)) <= IN_FLIGHT, told
    assert not overcommitted, told

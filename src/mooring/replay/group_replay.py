"""GroupReplay: replays the attempts of pod groups and trees of groups as a whole.

A group is tried in placements, and PodGroupPostFilter tries it without some other pods. These
trials are not in the journal, so the whole attempt runs again. Then its pods are placed on the
nodes that the journal names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from mooring.api import CompositePodGroup, Pod, WorkloadPodGroup
from mooring.framework.decision import Decision
from mooring.framework.nodes import Rows
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.pod_groups import PodGroups
from mooring.framework.tried_groups import GroupLine
from mooring.journal.entries import Failed, GaveBack, Permitted, Reserved
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.replay.engine import ReplayEngine
from mooring.replay.recorded_steps import RecordedAttempt, RecordedGroup
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.scheduler.taps import SilentTap, make_taps
from mooring.virtual.driving import drive

#: Called with a recorded attempt, the engine that is about to decide it, and the pod.
BeforeAttempt = Callable[[RecordedAttempt, ReplayEngine, Pod], None]


class GroupReplay(SilentTap):
    """The repetition of groups' attempts on an engine.

    `before_attempt` is called before each cycle with what was recorded of it.
    """

    def __init__(
        self,
        engine: ReplayEngine,
        groups: PodGroups,
        before_attempt: BeforeAttempt | None = None,
    ) -> None:
        scheduler = engine.scheduler
        self._engine = engine
        self._groups = groups
        self._before_attempt = before_attempt
        engine.attempts.taps = make_taps([self], engine.random)
        assert scheduler.group_attempts is not None
        self._attempts = scheduler.group_attempts
        #: The attempts of the recorded group, and what was decided for each so far.
        self._recorded: list[RecordedAttempt] = []
        self._decisions: list[Decision] = []
        self._running = False
        #: The groups of the tree that was replayed last; empty if the last group had no tree.
        self.tree: Sequence[GroupLine] = ()

    def repeat(
        self, group: RecordedGroup
    ) -> Sequence[tuple[RecordedAttempt | None, Decision | None]]:
        """Replay the attempt of a group; return pairs of recorded cycles and new decisions.

        If one of a pair is missing, it is None.
        """
        self._recorded = [step for step in group.steps if isinstance(step, RecordedAttempt)]
        self._decisions = []
        engine = self._engine
        engine.set_time(group.time)
        engine.scheduler.on_the_way.expire(group.time)
        info = self._info(group)
        placed: dict[str, SchedulingAttempt] = {}
        if info is not None:
            placed = {attempt.info.uid: attempt for attempt in self._run(info, group)}
        self.tree = () if info is None or info.tree is None else info.tree.lines()
        self._follow(group, placed)
        return list(zip_longest(self._recorded, self._decisions))

    def _info(self, group: RecordedGroup) -> QueuedPodGroupInfo | None:
        begins = group.begins
        kind = CompositePodGroup if begins.composite else WorkloadPodGroup
        found = self._engine.informers.store(kind).get(begins.name, begins.namespace)
        # Members of one priority are tried in the order of their times.
        members = [
            QueuedPodInfo(pod, float(place), place)
            for place, uid in enumerate(begins.members)
            for pod in self._engine.pods_of(uid)
        ]
        if found is None or not members:
            return None
        info = QueuedPodGroupInfo(found, members[0], begins.time, 0)
        for member in members:
            member.attempts = 1
            info.add(member)
        return info

    def _run(self, info: QueuedPodGroupInfo, group: RecordedGroup) -> Sequence[SchedulingAttempt]:
        engine = self._engine
        for extender in engine.extenders:
            extender.expect([answer for one in self._recorded for answer in one.answers])
        engine.random.state = group.begins.seed
        if self._recorded:
            search = engine.scheduler.cycle.search
            search.next_start_node_index = self._recorded[0].begins.sampling_start
        self._running = True
        try:
            return drive(self._attempts.schedule(info, timed=False))
        except BaseException as error:
            raise_if_external(error)
            self._attempts.fail(info, error_text(error))
            return ()
        finally:
            self._running = False

    def _follow(self, group: RecordedGroup, placed: dict[str, SchedulingAttempt]) -> None:
        """Put every pod where the journal says that it went."""
        engine = self._engine
        nodes: dict[str, str] = {}
        permitted: set[str] = set()
        failed: dict[str, Failed] = {}
        for step in group.steps:
            match step:
                case Reserved():
                    nodes[step.uid] = step.node
                case GaveBack():
                    nodes.pop(step.uid, None)
                    permitted.discard(step.uid)
                case Permitted():
                    permitted.add(step.uid)
                case Failed():
                    failed[step.uid] = step
                case _:
                    continue
        for uid, attempt in placed.items():
            assumed = attempt.assumed
            if assumed is not None and nodes.get(uid) == assumed.node_name:
                engine.adopt(attempt)
                del nodes[uid]
            else:
                engine.drop(attempt)
        for uid, node_name in nodes.items():
            engine.forget(uid)
            engine.reserve(group.time, uid, node_name)
        for entry in failed.values():
            engine.failed(entry)

    # The tap.

    def deciding(
        self,
        info: QueuedPodInfo,
        start: float,
        within: Rows | None,
        seed: int,
        sampling_start: int,
    ) -> None:
        """Set the clock to the time of the recorded cycle."""
        place = len(self._decisions)
        if not self._running or place >= len(self._recorded):
            return
        recorded = self._recorded[place]
        self._engine.clock.time = recorded.time
        if self._before_attempt is not None:
            self._before_attempt(recorded, self._engine, info.pod)

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """Take note of a decision."""
        if self._running:
            self._decisions.append(decision)


def make_group_replay(
    engine: ReplayEngine, before_attempt: BeforeAttempt | None = None
) -> GroupReplay | None:
    """Return what repeats the attempts for groups; None if there are no pod groups."""
    groups = engine.scheduler.pod_groups
    return None if groups is None else GroupReplay(engine, groups, before_attempt)

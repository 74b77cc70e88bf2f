"""The scheduling cycle: from a pod to the chosen node, or to the reasons why there is none.

# kube-scheduler: schedule_one.go (schedulingAlgorithm, schedulePod, findNodesThatFitPod)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mooring.api import Pod
from mooring.cycle.extender_calls import (
    EXTENDER_NAME,
    filter_by_extenders,
    prioritize_by_extenders,
)
from mooring.cycle.message import NO_NODES_AVAILABLE, fit_error
from mooring.cycle.node_search import NodeSearch
from mooring.cycle.placement_search import PlacementSearch, Trial
from mooring.cycle.post_filter import run_post_filter
from mooring.cycle.pre_filter import PreFilterResult, run_pre_filter
from mooring.cycle.profile import Profile
from mooring.cycle.reuse import Remembered, Reuse
from mooring.cycle.scoring import Ranking, rank
from mooring.framework.decision import Decision, NodeStatuses, Outcome
from mooring.framework.extender import Extender
from mooring.framework.handle import Nominator
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.plugin_errors import abandon, error_message, raise_if_external
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.observe.metrics import PRIORITIZING_EXTENDER

#: Picks one of the positions of the best nodes; the last argument is the seed of the attempt.
Choose = Callable[[Nodes, Rows, int], int]


def by_seed(nodes: Nodes, best: Rows, seed: int) -> int:
    """Pick one of the best nodes, each with equal probability."""
    return int(best[seed % len(best)])


def by_name(nodes: Nodes, best: Rows, seed: int) -> int:
    """Pick the best node whose name sorts first: the same choice every time."""
    names = nodes.all.names
    rows = best if nodes.rows is None else nodes.rows[best]
    first: int = min(zip(map(names.__getitem__, rows.tolist()), best.tolist(), strict=True))[1]
    return first


class Cycle:
    """The scheduling cycle of a set of profiles, run for one pod after another.

    Apart from extenders and async `post_filter` it does no I/O.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        *,
        snapshot: Callable[[], Nodes],
        node_order: Callable[[], Rows],
        nominator: Nominator,
        extenders: Sequence[Extender] = (),
        percentage_of_nodes_to_score: int = 0,
        random: random.Random,
        choose: Choose = by_seed,
        reuse: bool | None = None,
        keep_raw: bool = False,
    ) -> None:
        """Prepare cycles for these profiles.

        `reuse` says whether identical pods reuse one another's plugin answers, which is faster
        and leads to the same decisions. None leaves it to the gate OpportunisticBatching. With
        `keep_raw`, decisions have the raw scores even of plugins that normalise in place.
        """
        self.profiles = profiles
        self._nominator = nominator
        self._reuse = {
            name: Reuse(profile)
            for name, profile in profiles.items()
            if profile.score and not extenders and (_gate(profile) if reuse is None else reuse)
        }
        self.search = NodeSearch(nominator, node_order, percentage_of_nodes_to_score)
        self._snapshot = snapshot
        self._extenders = extenders
        self._extenders_filter = any(extender.is_filter for extender in extenders)
        self._extenders_score = any(extender.is_prioritizer for extender in extenders)
        self._random = random
        self._choose = choose
        self._keep_raw = keep_raw

    def run_sync(
        self,
        pod: Pod,
        state: CycleState | None = None,
        *,
        examine: bool = False,
        post_filter: bool = True,
    ) -> Decision:
        """Run a cycle without an event loop; raise RuntimeError if it would have to wait."""
        attempt = self.run(pod, state, examine=examine, post_filter=post_filter)
        try:
            attempt.send(None)
        except StopIteration as done:
            decision: Decision = done.value
            return decision
        abandon(attempt)
        raise RuntimeError(
            f"the scheduling cycle of pod {pod.key} waits for an extender or an async post_filter; "
            "run it in an event loop"
        )

    async def run(
        self,
        pod: Pod,
        state: CycleState | None = None,
        *,
        examine: bool = False,
        post_filter: bool = True,
        within: Rows | None = None,
    ) -> Decision:
        """Decide where a pod goes.

        `state` carries what plugins computed to Reserve and the binding points. With `examine`,
        all nodes are filtered and scored even if the decision does not need it; the decision is
        the same. Without `post_filter`, PostFilter does not run: the pod of a group does not
        preempt for itself. With `within`, only these rows of the snapshot are in question.
        """
        state = CycleState() if state is None else state
        profile = self.profiles[pod.spec.scheduler_name]
        nodes = self._snapshot()
        size = len(nodes) if within is None else len(within)
        decision = Decision(pod, profile.name, num_nodes=size)
        if not size:
            decision.outcome = Outcome.UNSCHEDULABLE
            decision.message = NO_NODES_AVAILABLE
            return decision
        before = run_pre_filter(profile, state, pod, nodes)
        decision.pre_filter = before.status
        decision.pre_filter_nodes = before.node_names
        decision.unschedulable_plugins = before.narrowed_by
        decision.skipped_filter = state.skip_filter_plugins
        if before.status is not None:
            if not before.status.is_rejected:
                return _error(decision, before.status)
            statuses = _statuses(nodes, within)
            statuses.absent = before.status
            _note_refusal(decision, before.status)
            return await self._give_up(
                decision, profile, state, statuses, before.status.message, post_filter
            )
        remembered = None
        if not examine and within is None:
            remembered = self._recall(profile, state, pod, nodes, before)
        if remembered is not None:
            feasible, statuses = remembered.feasible, remembered.statuses
            decision.statuses = statuses
            decision.evaluated_nodes = len(nodes)
        else:
            statuses = decision.statuses = _statuses(nodes, within)
            asked = nodes if within is None else nodes.select(within)
            feasible, status = await self._feasible(
                decision, profile, state, asked, before, statuses, examine
            )
            if status is not None:
                return _error(decision, status)
            decision.evaluated_nodes = len(feasible) + statuses.refused
        decision.feasible = feasible
        if not len(feasible):
            for status, _ in statuses.groups():
                _note_refusal(decision, status)
            if remembered is not None:
                # PostFilter plugins may change the statuses; the cached ones must stay.
                statuses = decision.statuses = statuses.copy()
            return await self._give_up(decision, profile, state, statuses, "", post_filter)
        if len(feasible) > 1 or examine:
            if remembered is not None:
                ranking = remembered.rank(state, pod)
                decision.skipped_score = state.skip_score_plugins
            else:
                ranking = await self._rank(decision, profile, state, feasible, examine)
            decision.scores = ranking.scores
            if ranking.error is not None:
                return _error(decision, ranking.error)
            decision.totals = ranking.totals
            totals = ranking.totals
            best = (totals == np.maximum.reduce(totals)).nonzero()[0]
            decision.seed = self._random.getrandbits(32)
            chosen = self._choose(feasible, best, decision.seed)
            decision.chosen, decision.best_count = chosen, len(best)
        else:
            chosen = 0
        decision.node_name = feasible.info(chosen).name
        decision.outcome = Outcome.SCHEDULED
        return decision

    def search_placements(
        self,
        profile: Profile,
        pods: Sequence[Pod],
        trials: Sequence[Trial],
        new_state: Callable[[], CycleState],
        refusers: set[str],
    ) -> bool:
        """Find nodes for the pods of a group in several placements at once.

        Return False if these pods must be tried in one placement after another. Add the plugins
        that refused a node for any pod to `refusers`.
        """
        reuse = self._reuse.get(profile.name)
        if reuse is None:
            return False
        search = PlacementSearch(
            profile,
            self._snapshot(),
            pods,
            trials,
            recall=self._recall,
            sign=reuse.signer.sign,
            pick=self._pick,
            new_state=new_state,
        )
        searched = search.run()
        refusers |= search.refusers
        return searched

    def _pick(self, nodes: Nodes, best: Rows) -> int:
        return self._choose(nodes, best, self._random.getrandbits(32))

    def _recall(
        self,
        profile: Profile,
        state: CycleState,
        pod: Pod,
        nodes: Nodes,
        before: PreFilterResult,
    ) -> Remembered | None:
        """Filter with the cached answers of identical pods; None if that is not possible."""
        reuse = self._reuse.get(profile.name)
        if (
            reuse is None
            or before.node_names is not None
            or pod.status.nominated_node_name
            or any(True for _ in self._nominator.nodes())
            or self.search.enough(profile, state, len(nodes)) < len(nodes)
        ):
            return None
        return reuse.recall(state, pod, nodes)

    async def _feasible(
        self,
        decision: Decision,
        profile: Profile,
        state: CycleState,
        nodes: Nodes,
        before: PreFilterResult,
        statuses: NodeStatuses,
        examine: bool,
    ) -> tuple[Nodes, Status | None]:
        """Return the nodes that pass Filter and the extenders."""
        pod = profile.handle.pod_info(decision.pod)
        search = self.search
        nominated: Nodes | None = None
        if decision.pod.status.nominated_node_name:
            nominated = await self._nominated_node(profile, state, decision.pod, nodes, statuses)
            if nominated is not None and not examine:
                return nominated, None
        asked = nodes
        if before.node_names is not None:
            rows = sorted(row for name in before.node_names if (row := nodes.row(name)) >= 0)
            narrowed = np.array(rows, dtype=np.intp)
            if nodes.rows is not None:
                narrowed = np.intersect1d(narrowed, nodes.rows)
            asked = nodes.select(narrowed)
            statuses.absent = before.outside
        enough = search.enough(profile, state, len(asked))
        if not profile.score and not self._extenders_score and not self._extenders_filter:
            enough = 1
        if examine:
            enough = len(asked)
        feasible, status = search.find(profile, state, pod, asked, statuses, enough)
        if nominated is not None:
            return nominated, None
        search.advance(len(feasible) + statuses.refused, len(nodes))
        if status is None and self._extenders_filter:
            passed = len(feasible)
            try:
                feasible = await filter_by_extenders(
                    self._extenders, decision.pod, feasible, statuses
                )
            except BaseException as error:
                raise_if_external(error)
                return feasible, Status.error(error_message(error))
            if len(feasible) != passed:
                decision.unschedulable_plugins |= {EXTENDER_NAME}
        return feasible, status

    async def _nominated_node(
        self,
        profile: Profile,
        state: CycleState,
        pod: Pod,
        nodes: Nodes,
        statuses: NodeStatuses,
    ) -> Nodes | None:
        """Return the pod's nominated node if it passes; most likely no other node does."""
        row = nodes.row(pod.status.nominated_node_name)
        if row < 0 or (nodes.rows is not None and row not in nodes.rows):
            return None
        one = nodes.select(np.array([row], dtype=np.intp))
        info = profile.handle.pod_info(pod)
        found, status = self.search.find(profile, state, info, one, statuses, len(one))
        if status is not None:
            return None
        if self._extenders_filter:
            try:
                found = await filter_by_extenders(self._extenders, pod, found, statuses)
            except BaseException as error:
                raise_if_external(error)
                return None
        return found if len(found) else None

    async def _rank(
        self,
        decision: Decision,
        profile: Profile,
        state: CycleState,
        feasible: Nodes,
        examine: bool,
    ) -> Ranking:
        if not profile.score and not self._extenders:
            return Ranking({}, np.ones(len(feasible), dtype=np.int64))
        ranking = rank(profile, state, decision.pod, feasible, keep_raw=examine or self._keep_raw)
        decision.skipped_score = state.skip_score_plugins
        if self._extenders_score and ranking.error is None:
            asking = profile.handle.metrics.goroutines[PRIORITIZING_EXTENDER]
            await prioritize_by_extenders(self._extenders, decision.pod, feasible, ranking, asking)
        return ranking

    async def _give_up(
        self,
        decision: Decision,
        profile: Profile,
        state: CycleState,
        statuses: NodeStatuses,
        pre_filter_message: str,
        post_filter: bool,
    ) -> Decision:
        """Run PostFilter and set the message of the failed attempt."""
        decision.outcome = Outcome.UNSCHEDULABLE
        tail = ""
        if post_filter and profile.post_filter:
            result = await run_post_filter(profile, state, decision.pod, statuses)
            decision.post_filter = result
            tail = result.status.message
            if result.status.is_error:
                decision.errors = (result.status,)
        decision.message = fit_error(statuses, pre_filter_message, tail)
        return decision


def _statuses(nodes: Nodes, within: Rows | None) -> NodeStatuses:
    statuses = NodeStatuses(nodes)
    if within is not None:
        statuses.confine(within)
    return statuses


def _gate(profile: Profile) -> bool:
    return profile.handle.features.enabled("OpportunisticBatching")


def _note_refusal(decision: Decision, status: Status) -> None:
    # kube-scheduler: framework/types.go (Diagnosis.AddPluginStatus)
    if status.plugin:
        decision.unschedulable_plugins |= {status.plugin}
        if status.code is Code.PENDING:
            decision.pending_plugins |= {status.plugin}


def _error(decision: Decision, status: Status) -> Decision:
    decision.outcome = Outcome.ERROR
    decision.message = status.message
    decision.errors = (status,)
    return decision

"""Checks of dry runs: adding or removing a pod on trial must equal really doing so."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from mooring.api import Pod
from mooring.framework.node_info import NodeInfo
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.testing.bench import Answers, Bench, Workbench
from mooring.testing.plugin_answers import Case
from mooring.testing.scenes import Scene

ADD_POD = "add_pod equals a recompute"
REMOVE_POD = "remove_pod equals a recompute"
ORIGINAL = "a dry run leaves the original state alone"
UNDONE = "remove_pod undoes add_pod"

_WORDS = (
    "{} after a pod was {done} node {node} on trial, {} where it is so; what pre_filter works out "
    "from pods has to be kept up to date by add_pod and remove_pod"
)
_BEFORE = "{} before a dry run on a clone of the state, {} after it; give what is written clone()"
_BACK = "{} before a pod was added and removed on trial, {} after it"


class DryRuns:
    """Dry runs of one pod in one cluster."""

    def __init__(self, workbench: Workbench, bench: Bench, scene: Scene, case: Case) -> None:
        self._workbench = workbench
        self._bench = bench
        self._scene = scene
        self._case = case
        self._state = CycleState()
        before = bench.pre_filter(self._state, case.pod)
        #: Whether Filter runs at all: a dry run only calls plugins whose Filter runs.
        self.applies = (
            bool(bench.profile.filter)
            and before.status is None
            and before.node_names is None
            and bench.plugin.name not in self._state.skip_filter_plugins
        )

    def check(self, rng: random.Random) -> int:
        """Add and remove some pods on trial; return how many."""
        if not self.applies:
            return 0
        before = self._ask(self._state)
        others = [
            pod
            for pod in (*self._scene.pending, *self._scene.placed)
            if pod.uid != self._case.pod.uid
        ]
        tried = 0
        for other in rng.sample(others, min(2, len(others))):
            if other in self._scene.placed:
                self._remove(other, before)
            else:
                self._add(other, rng.choice(self._scene.nodes).name, before)
            tried += 1
        return tried

    def _add(self, other: Pod, node_name: str, before: Answers) -> None:
        bench = self._bench
        placed = replace(other, spec=replace(other.spec, node_name=node_name))
        info = bench.profile.handle.pod_info(placed)
        view, position = self._view(node_name)
        if any(view.info(position).port_conflicts(port) for port in info.host_ports):
            # Removing such a pod again would also free the other pod's port, as in kube-scheduler.
            return
        trial = self._state.clone()
        view.add(position, info)
        self._tell("add_pod", trial, info, view.info(position))
        objects = self._scene.objects_with(add=[placed])
        words = _WORDS.replace("{done}", "put on").replace("{node}", node_name)
        self._compare(ADD_POD, words, trial, view, self._workbench.place(objects))
        view.remove(position, info)
        self._tell("remove_pod", trial, info, view.info(position))
        self._compare_to(UNDONE, _BACK, before, self._ask(trial, view))
        self._compare_to(ORIGINAL, _BEFORE, before, self._ask(self._state))

    def _remove(self, other: Pod, before: Answers) -> None:
        view, position = self._view(other.node_name)
        info = view.info(position).pods[other.uid]
        trial = self._state.clone()
        view.remove(position, info)
        self._tell("remove_pod", trial, info, view.info(position))
        objects = self._scene.objects_with(without=other)
        words = _WORDS.replace("{done}", "taken off").replace("{node}", other.node_name)
        self._compare(REMOVE_POD, words, trial, view, self._workbench.place(objects))
        self._compare_to(ORIGINAL, _BEFORE, before, self._ask(self._state))

    def _view(self, node_name: str) -> tuple[WhatIf, int]:
        nodes = self._bench.nodes
        view = WhatIf(nodes, np.arange(len(nodes), dtype=np.intp))
        return view, nodes.row(node_name)

    def _tell(self, method: str, state: CycleState, other: PodInfo, node: NodeInfo) -> None:
        call: Callable[..., Status | None] | None = getattr(self._bench.plugin, method, None)
        if call is not None:
            status = self._case.call(
                "PreFilter", node.name, call, state, self._case.pod, other, node
            )
            if status is not None and not status.is_success:
                raise self._case.fail(method, status.message, point="PreFilter", node=node.name)

    def _ask(self, state: CycleState, view: WhatIf | None = None) -> Answers:
        return self._bench.ask_nodes(
            state, self._case.pod, self._bench.nodes if view is None else view
        )

    def _compare(
        self, check: str, words: str, trial: CycleState, view: WhatIf, afresh: Bench
    ) -> None:
        names = self._bench.nodes.names
        expected = dict(
            zip(afresh.nodes.names, afresh.filter(CycleState(), self._case.pod), strict=True)
        )
        wanted = [expected[name] for name in names]
        self._case.compare_filter(check, names, self._ask(trial, view), wanted, words)
        each = self._bench.ask_each(trial, self._case.pod, view)
        self._case.compare_filter(check, names, each, wanted, words)

    def _compare_to(self, check: str, words: str, before: Answers, after: Answers) -> None:
        self._case.compare_filter(check, self._bench.nodes.names, before, after, words)

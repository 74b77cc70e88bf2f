"""Checks of signatures: the scheduler reuses answers for pods with the same signature."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mooring.api import Pod
from mooring.framework.state import CycleState
from mooring.testing.bench import Bench
from mooring.testing.plugin_answers import Case, Said, feasible_nodes, verdict
from mooring.testing.scenes import Scene

SIGNED_ALIKE = "pods that are signed alike get the same answer"
HASHABLE = "a signature is hashable"
READS_NO_PODS = "a plugin that reads no pods answers the same without them"
READS_NO_LABELS = "a plugin that reads no labels of pods answers the same with other labels"

_ALIKE = "{{}} for pod {}, {{}} for a pod that sign_pod cannot tell from it"
_WITHOUT_PODS = "{} with pods on the nodes, {} without; see reads_pods"
_RELABELLED = "{} with the labels of pods on the nodes, {} with others; see reads_pod_labels"


def check_signatures(bench: Bench, scene: Scene, seed: int) -> int:
    """Compare the answers for pods with the same signature; return how many were compared."""
    plugin: Any = bench.plugin
    # The answers of a plugin with add_pod are never reused, whatever its signature.
    if not hasattr(plugin, "sign_pod") or hasattr(plugin, "add_pod"):
        return 0
    first: dict[Hashable, tuple[Pod, Said]] = {}
    compared = 0
    for pod in scene.asked:
        case = Case(plugin.name, pod, seed)
        fragment = case.call("Sign", None, plugin.sign_pod, pod)
        if fragment is None:
            continue
        try:
            hash(fragment)
        except TypeError as error:
            raise case.fail(HASHABLE, f"{error}, got {fragment!r}", point="Sign") from None
        said = _said(bench, pod)
        if said is None:
            continue
        other, before = first.setdefault(fragment, (pod, said))
        if other is not pod:
            case.compare_said(SIGNED_ALIKE, *_on_both(before, said), _ALIKE.format(other.key))
            compared += 1
    return compared


def check_reads_no_pods(bench: Bench, empty: Bench, scene: Scene, seed: int) -> None:
    """If a plugin says it reads no pods, compare its answers with those without pods."""
    if bench.plugin.reads_pods:
        return
    for pod in scene.asked:
        with_pods, without = _said(bench, pod), _said(empty, pod)
        if with_pods is not None and without is not None:
            case = Case(bench.plugin.name, pod, seed)
            case.compare_said(READS_NO_PODS, *_on_both(with_pods, without), _WITHOUT_PODS)


def check_reads_no_labels(bench: Bench, relabelled: Bench, scene: Scene, seed: int) -> None:
    """If a plugin has `reads_pod_labels = False`, compare its results under other labels."""
    plugin: Any = bench.plugin
    if plugin.reads_pod_labels or not hasattr(plugin, "sign_pod"):
        return
    for pod in scene.asked:
        if plugin.sign_pod(pod) is None:
            continue
        before, after = _said(bench, pod), _said(relabelled, pod)
        if before is not None and after is not None:
            case = Case(plugin.name, pod, seed)
            case.compare_said(READS_NO_LABELS, *_on_both(before, after), _RELABELLED)


def _said(bench: Bench, pod: Pod) -> Said | None:
    """Return the answers of Filter and Score; None if PreFilter refuses or restricts nodes."""
    state = CycleState()
    before = bench.pre_filter(state, pod)
    if before.status is not None or before.node_names is not None:
        return None
    answers = bench.ask_nodes(state, pod, bench.nodes)
    filtered = {}
    if bench.plugin.name not in state.skip_filter_plugins:
        names = bench.nodes.names
        filtered = {name: verdict(one) for name, one in zip(names, answers, strict=True)}
    feasible = feasible_nodes(bench, answers)
    raw: dict[str, int] = {}
    if bench.profile.score and len(feasible):
        found = bench.rank(state, pod, feasible).scores.get(bench.plugin.name)
        if found is not None:
            raw = dict(zip(feasible.names, found.raw.tolist(), strict=True))
    return Said(filtered, raw, {})


def _on_both(first: Said, second: Said) -> tuple[Said, Said]:
    """Keep the nodes that both have answers for: a plugin that skips gives none."""
    verdicts = first.filter.keys() & second.filter.keys()
    scores = first.raw.keys() & second.raw.keys()
    one, other = (
        Said(
            {name: said.filter[name] for name in verdicts},
            {name: said.raw[name] for name in scores},
            {},
        )
        for said in (first, second)
    )
    return one, other

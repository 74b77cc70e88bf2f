"""The checks of `check_plugin`: a plugin in generated clusters, called in every way."""

from __future__ import annotations

import random

import msgspec
from msgspec.structs import replace

from mooring.api import KubeObject, Node, Pod
from mooring.framework.pod_groups import has_pod_groups
from mooring.framework.points import Point, points_of
from mooring.testing.bench import Answers, Bench, Workbench
from mooring.testing.check import CheckReport
from mooring.testing.diagnoses import check_diagnoses
from mooring.testing.forms import check_filter, check_score
from mooring.testing.group_checks import check_groups, has_group_points
from mooring.testing.plugin_answers import Case, ask
from mooring.testing.plugin_constants import words_of
from mooring.testing.plugin_lifecycle import (
    DETERMINISTIC,
    check_args,
    check_args_kept,
    check_attempts,
    check_queue_sort,
    check_reserve,
)
from mooring.testing.scenes import Scene, SceneMaker
from mooring.testing.signatures import (
    check_reads_no_labels,
    check_reads_no_pods,
    check_signatures,
)
from mooring.testing.trial import DryRuns

ROW_ORDER = "the order of nodes does not matter"
CHANGES_SEEN = "a change of the cluster is seen"

_ORDERS = "{} in one order of the nodes, {} in another"
_INSTANCES = "{} from one instance, {} from another in an equal cluster"
_CHANGED = "{} from an instance that saw the cluster change, {} from a new one"
_TWICE = "{} the first time, {} the second"


class GivenObjects(msgspec.Struct, frozen=True):
    """The caller's objects, which are in every generated cluster."""

    nodes: list[Node]
    pods: list[Pod]
    objects: list[KubeObject]


def check_contract_of(workbench: Workbench, given: GivenObjects, seeds: range) -> CheckReport:
    """Check a plugin in one generated cluster per seed; raise PluginError if a check fails."""
    check_args(workbench)
    before = repr(workbench.args)
    words = words_of(workbench.kind, workbench.args)
    report = CheckReport()
    for seed in seeds:
        rng = random.Random(seed)
        scene = SceneMaker(rng, words).make(given.nodes, given.pods, given.objects)
        _check_scene(workbench, scene, seed, rng, report)
        check_args_kept(workbench, before)
    return report


def _check_scene(
    workbench: Workbench, scene: Scene, seed: int, rng: random.Random, report: CheckReport
) -> None:
    bench = workbench.place(scene.objects_with())
    another = workbench.place(scene.objects_with())
    shuffled = rng.sample(scene.nodes, len(scene.nodes))
    other_order = workbench.place(scene.objects_with(shuffled))
    if Point.QUEUE_SORT in points_of(workbench.kind):
        check_queue_sort(bench.plugin, scene.pending, rng)
    for pod in scene.asked:
        case = Case(workbench.kind.name, pod, seed)
        _check_said(bench, another, other_order, case)
        answers = check_filter(bench, case, rng)
        _count(report, bench, answers)
        report.diagnosed += check_diagnoses(bench, case)
        report.scored += check_score(bench, case, answers, rng)
        report.tried += DryRuns(workbench, bench, scene, case).check(rng)
        report.reserved += check_reserve(workbench, bench, scene, case, answers)
    report.signed += check_signatures(bench, scene, seed)
    empty = workbench.place([*scene.nodes, *scene.objects])
    check_reads_no_pods(bench, empty, scene, seed)
    relabelled = workbench.place(map(_relabelled, scene.objects_with()))
    check_reads_no_labels(bench, relabelled, scene, seed)
    _check_changes(workbench, bench, scene, seed, rng)
    report.attempts += check_attempts(workbench, scene, seed)
    if has_group_points(workbench.kind) and has_pod_groups(workbench.features):
        placements, tried = check_groups(workbench, scene, seed, rng)
        report.placements += placements
        report.group_attempts += tried


def _relabelled(obj: KubeObject) -> KubeObject:
    """Replace the labels of a pod that has a node; return any other object as it is."""
    if not isinstance(obj, Pod) or not obj.spec.node_name:
        return obj
    return replace(obj, metadata=replace(obj.metadata, labels={"topology": "relabelled"}))


def _check_changes(
    workbench: Workbench, bench: Bench, scene: Scene, seed: int, rng: random.Random
) -> None:
    """Change the cluster after an instance has given answers about it, and compare."""
    cluster = bench.cluster
    coming, changing = rng.choice(scene.pending), rng.choice(scene.nodes)
    placed = replace(coming, spec=replace(coming.spec, node_name=changing.name))
    changed = replace(changing, metadata=scene.nodes[0].metadata, spec=scene.nodes[0].spec)
    changed = replace(
        changed, metadata=replace(changed.metadata, name=changing.name, uid=changing.uid)
    )
    cluster.delete(coming)
    cluster.add(placed)
    cluster.add(changed)
    gone = rng.choice(scene.placed) if scene.placed else None
    if gone is not None:
        cluster.delete(gone)
    nodes = [changed if node is changing else node for node in scene.nodes]
    afresh = workbench.place(scene.objects_with(nodes, add=[placed], without=gone))
    for pod in scene.asked:
        if pod is not coming:
            case = Case(workbench.kind.name, pod, seed)
            case.compare_said(CHANGES_SEEN, ask(bench, pod), ask(afresh, pod), _CHANGED)


def _check_said(bench: Bench, another: Bench, other_order: Bench, case: Case) -> None:
    first = ask(bench, case.pod)
    case.compare_said(DETERMINISTIC, first, ask(bench, case.pod), _TWICE)
    case.compare_said(DETERMINISTIC, first, ask(another, case.pod), _INSTANCES)
    case.compare_said(ROW_ORDER, first, ask(other_order, case.pod), _ORDERS)


def _count(report: CheckReport, bench: Bench, answers: Answers) -> None:
    if bench.profile.filter or bench.profile.pre_filter:
        refused = sum(answer is not None for answer in answers)
        report.refused += refused
        report.passed += len(answers) - refused

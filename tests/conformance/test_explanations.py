"""On every recorded scenario the explanation says what was recorded from kube-scheduler."""

from __future__ import annotations

from typing import Any

from mooring.explain.data import explanation_data
from mooring.explain.examination import Answers, ask_filters, examine
from mooring.framework.diagnosis import Detail, Shortfall
from mooring.framework.nodes import Nodes
from mooring.virtual.driving import drive
from tests.conformance import replay
from tests.conformance.batches import in_batches
from tests.conformance.recordings import SCENARIOS, record

SINGLE = [scenario for scenario in SCENARIOS if "podSequence" not in record(*scenario[:3])[0]]


def explained(
    scenario: dict[str, Any], release: str
) -> tuple[replay.Replay, Answers, dict[str, Any]]:
    """Return a scenario, the answers of its Filter plugins, and the explanation of its pod."""
    run = replay.Replay(scenario, release)
    (pod,) = run.pods
    scheduler = run.scheduler
    if not pod.spec.node_name:
        scheduler.cluster.add(pod)
    profile = scheduler.profiles[pod.spec.scheduler_name]
    answers = ask_filters(profile, scheduler.nominator, pod, scheduler.cache.nodes)
    attempt = drive(scheduler.decide(pod, examine=True))
    data = explanation_data([examine(answers, attempt.decision)])
    scheduler.discard(attempt)
    return run, answers, data


@in_batches(SINGLE)
def test_the_explanation_is_what_was_recorded(release: str, group: str, index: int) -> None:
    scenario, expected = record(release, group, index)
    _, _, data = explained(scenario, release)
    assert data["outcome"] == expected["outcome"]
    if expected["preEnqueue"] is None:
        assert data["message"] == expected["message"]
    if expected["best"] is not None:
        assert sorted(data["bestNodes"]) == expected["best"]
    if expected["outcome"] in ("scheduled", "unschedulable") and expected["filter"] is not None:
        asked = dict(zip(data["nodes"], data["asked"], strict=True))
        for name, status in first_refusals(data).items():
            if asked[name]:
                assert status == expected["filter"][name], name
    if expected["scores"] is not None:
        totals = dict(zip(data["nodes"], data["totals"], strict=True))
        assert {name: total for name, total in totals.items() if total is not None} == (
            expected["total"]
        )
        assert scores(data) == expected["scores"]


def first_refusals(data: dict[str, Any]) -> dict[str, Any]:
    """Return each node's first refusal; None for a node that passes."""
    found: dict[str, Any] = {}
    for row, name in enumerate(data["nodes"]):
        codes = [plugin["verdicts"][row] for plugin in data["filterPlugins"]]
        code = next((code for code in codes if code is not None), None)
        found[name] = None if code is None else data["statuses"][code]
    return found


def scores(data: dict[str, Any]) -> dict[str, Any]:
    """Return the scores in the recorder's form."""
    return {
        plugin["name"]: {
            name: {"raw": raw, "normalized": normalized, "weight": plugin["weight"]}
            for name, raw, normalized in zip(
                data["nodes"], plugin["raw"], plugin["normalized"], strict=True
            )
            if raw is not None
        }
        for plugin in data["scorePlugins"]
    }


@in_batches(SINGLE)
def test_what_is_short_makes_the_node_pass_once_it_is_added(
    release: str, group: str, index: int
) -> None:
    run, answers, _ = explained(record(release, group, index)[0], release)
    nodes: Nodes = run.scheduler.cache.nodes
    (pod,) = run.pods
    for name, codes in answers.verdicts.codes.items():
        plugin: Any = answers.profile.plugins[name]
        if not hasattr(plugin, "diagnose"):
            continue
        for row in (codes >= 0).nonzero()[0].tolist():
            node = nodes.info(row)
            found = plugin.diagnose(answers.state, pod, node)
            if isinstance(found, Detail):
                assert found.text
                continue
            if found is None or isinstance(found, str):
                assert found != ""
                continue
            larger = node.clone()
            larger.allocatable = dict(node.allocatable)
            for short in found:
                assert isinstance(short, Shortfall)
                offered = larger.allocatable.get(short.resource, 0)
                larger.allocatable[short.resource] = offered + short.missing
            if found:
                assert plugin.filter(answers.state, pod, larger) is None

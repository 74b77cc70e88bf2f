"""Attempts for pod groups, repeated as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.config import to_v1
from mooring.config.load import load_config_data
from mooring.framework.features import FeatureGates
from mooring.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Entry,
    GroupBegins,
    GroupEnds,
    Permitted,
    SegmentHead,
)
from mooring.replay.engine import ReplayEngine
from mooring.replay.group_replay import make_group_replay
from mooring.replay.replay_rules import recorded_rules
from tests.journal.journals import read
from tests.replay.recordings import (
    TREES,
    JournaledCluster,
    journaled,
    replayed,
    schedule_tree,
    tree_of_two,
    write_config,
)
from tests.soak.group_trees import run_group_trees
from tests.soak.object_store import Json
from tests.soak.pod_groups import PodGroupRun
from tests.soak.scheduler_sets import Settings
from tests.support.virtual_loop import run_virtually


class TopologyRun(PodGroupRun):
    """Two gangs, each of which must be on one node."""

    def settings(self) -> Settings:
        """Return the settings of a scheduler that knows placements."""
        usual = super().settings()
        features = FeatureGates({"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True})
        config = load_config_data(
            to_v1(usual.config.config), registry=usual.registry, feature_gates=features
        )
        return Settings(usual.registry, features, config)

    def make_group(self, name: str) -> Json:
        """Return a group that wants one hostname."""
        group = super().make_group(name)
        constraints: Any = {"topology": [{"key": "kubernetes.io/hostname"}]}
        return {**group, "spec": {**group["spec"], "schedulingConstraints": constraints}}

    def make_member(self, gang: str, number: int) -> Json:
        """Return a member that leaves room for all others."""
        pod = super().make_member(gang, number)
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "250m"
        return pod


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record two gangs of eight that fit one at a time."""
    folder = tmp_path_factory.mktemp("gangs")
    run_virtually(PodGroupRun(1, faults=False, journals=folder).run(), Random("1/order"))
    return folder


def test_the_cycles_of_a_group_come_out_as_recorded(journal: Path) -> None:
    assert len(read(journal, GroupBegins)) >= 2
    report = replayed(journal)
    assert report.reproduced
    assert report.attempts == len(read(journal, AttemptEnds))


def test_groups_that_are_tried_in_several_placements(tmp_path: Path) -> None:
    run_virtually(TopologyRun(1, faults=False, journals=tmp_path).run(), Random("1/order"))
    assert any(entry.within is not None for entry in read(tmp_path, AttemptBegins))
    report = replayed(tmp_path)
    assert report.reproduced
    assert report.attempts == len(read(tmp_path, AttemptEnds)) == 16


def test_another_order_of_the_members_is_detected(journal: Path) -> None:
    def reorder(entries: Iterator[Entry]) -> Iterable[Entry]:
        for entry in entries:
            if isinstance(entry, GroupBegins):
                entry = replace(entry, members=tuple(reversed(entry.members)))
            yield entry

    report = replayed(journal, reorder)
    assert report.deviations[0].what == "order"


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record trees of composite groups, some of which preempt pods."""
    folder = tmp_path_factory.mktemp("trees")
    run_group_trees(1, journals=folder)
    return folder


def test_the_cycles_of_a_tree_come_out_as_recorded(trees: Path) -> None:
    assert any(entry.composite for entry in read(trees, GroupBegins))
    assert any(entry.victims for entry in read(trees, GroupEnds))
    report = replayed(trees)
    assert report.reproduced
    assert report.attempts == len(read(trees, AttemptEnds)) > 50


def test_a_tree_is_not_mistaken_for_a_pod_group_of_its_name(tmp_path: Path) -> None:
    async def play(cluster: JournaledCluster) -> None:
        _, leader, *_ = tree_of_two()
        spec = {key: leader["spec"][key] for key in ("workloadRef", "schedulingPolicy")}
        await cluster.create({**leader, "metadata": {"name": "job"}, "spec": spec})
        await schedule_tree(cluster)

    journaled(tmp_path, play, gates=TREES)
    report = replayed(tmp_path)
    assert report.reproduced
    assert report.attempts == len(read(tmp_path, AttemptEnds)) == 4


def lose_kind(entry: GroupBegins) -> GroupBegins:
    return replace(entry, composite=False)


def reverse_members(entry: GroupBegins) -> GroupBegins:
    return replace(entry, members=tuple(reversed(entry.members)))


def lose_a_member(entry: GroupBegins) -> GroupBegins:
    return replace(entry, members=entry.members[1:])


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lose_kind, id="the journal does not say that it is a composite group"),
        pytest.param(reverse_members, id="the members are tried in another order"),
        pytest.param(lose_a_member, id="a member is missing"),
    ],
)
def test_a_wrong_beginning_of_a_tree_is_detected(
    plant: Callable[[GroupBegins], GroupBegins], trees: Path
) -> None:
    def change(entries: Iterator[Entry]) -> Iterable[Entry]:
        return (plant(entry) if isinstance(entry, GroupBegins) else entry for entry in entries)

    report = replayed(trees, change)
    assert report.deviations[0].what == "order"


def test_a_cycle_that_was_not_recorded_is_detected(trees: Path) -> None:
    def lose_last_cycle(entries: Iterator[Entry]) -> Iterable[Entry]:
        whole = list(entries)
        end = next(place for place, entry in enumerate(whole) if isinstance(entry, GroupEnds))
        lost = max(place for place in range(end) if isinstance(whole[place], AttemptBegins))
        return whole[:lost] + whole[lost + 2 :]

    (deviation,) = replayed(trees, lose_last_cycle).deviations
    assert (deviation.what, deviation.recorded) == ("order", "nothing")
    assert deviation.found == deviation.pod


def test_pods_are_put_where_the_journal_says(journal: Path) -> None:
    def refuse(entries: Iterator[Entry]) -> Iterable[Entry]:
        """Pretend that the recorded scheduler decided otherwise."""
        for entry in entries:
            if isinstance(entry, AttemptEnds):
                entry.record.node = "elsewhere"
            yield entry

    report = replayed(journal, refuse)
    assert report.deviating == report.attempts
    # The state is the recorded one all the same.
    assert {one.found for one in report.deviations} <= {"node-1", "node-2", ""}
    assert replayed(journal).reproduced


def test_other_rules_decide_for_groups_too(journal: Path, tmp_path: Path) -> None:
    config = write_config(
        tmp_path, "  plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}\n"
    )
    (head, *_) = read(journal, SegmentHead)
    name = head.config["profiles"][0]["schedulerName"]
    config.write_text(config.read_text().replace("default-scheduler", name))
    report = replayed(journal, config=config)
    assert report.reproduced
    assert report.counts.total() > 0


def test_members_that_were_permitted_are_assumed(journal: Path) -> None:
    permitted = {entry.uid for entry in read(journal, Permitted)}
    assert len(permitted) == 16


def test_without_pod_groups_nothing_is_repeated(journal: Path) -> None:
    (head, *_) = read(journal, SegmentHead)
    rules = recorded_rules(replace(head, gates={}))
    assert rules.gates == FeatureGates()
    assert make_group_replay(ReplayEngine(rules)) is None

"""Extenders that answer as recorded."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cache.cache import Cache
from mooring.config.types import Extender as ExtenderConfig
from mooring.errors import ExtenderError
from mooring.framework.extender import Victims
from mooring.framework.features import FeatureGates
from mooring.framework.nodes import Nodes
from mooring.framework.pod_info import PodInfos
from mooring.journal.entries import ExtenderAnswer
from mooring.replay.recorded_extender import RecordedExtender
from mooring.testing.builders import make_node, make_pod
from mooring.virtual.driving import drive

CONFIG = ExtenderConfig(
    url_prefix="http://one", filter_verb="f", prioritize_verb="p", preempt_verb="x"
)
POD = make_pod("web")


def nodes() -> Nodes:
    cache = Cache(PodInfos(FeatureGates()))
    for name in ("a", "b", "c"):
        cache.add_node(make_node(name))
    return cache.nodes


def extender(verb: str, *answers: Any, lenient: bool = False, error: str = "") -> RecordedExtender:
    made = RecordedExtender(CONFIG, lenient=lenient)
    other = ExtenderAnswer(1.0, "http://two", verb, "uid", None, "not mine")
    mine = [ExtenderAnswer(1.0, "http://one", verb, "uid", one, error) for one in answers]
    made.expect([other, *mine])
    return made


def test_answers_are_given_in_their_order() -> None:
    asked = extender("filter", [["a"], {}, {}], [["a", "b"], {"c": "full"}, {}])
    assert drive(asked.filter(POD, nodes().infos())).feasible == ("a",)
    second = drive(asked.filter(POD, nodes().infos()))
    assert (second.feasible, second.failed) == (("a", "b"), {"c": "full"})
    with pytest.raises(ExtenderError, match='no answer of extender "http://one" to filter'):
        drive(asked.filter(POD, nodes().infos()))


def test_other_rules_accept_nodes_that_were_not_asked_about() -> None:
    asked = extender("filter", [["a"], {"b": "full"}, {}], lenient=True)
    for _ in range(2):
        assert drive(asked.filter(POD, nodes().infos())).feasible == ("a", "c")
    never = extender("filter", lenient=True)
    assert drive(never.filter(POD, nodes().infos())).feasible == ("a", "b", "c")
    assert drive(never.prioritize(POD, nodes().infos())) == {}
    victims = {"a": Victims((POD,))}
    assert drive(never.process_preemption(POD, victims, nodes())) == victims


def test_scores() -> None:
    assert drive(extender("prioritize", {"a": 3}).prioritize(POD, nodes().infos())) == {"a": 3}


def test_a_recorded_failure() -> None:
    with pytest.raises(ExtenderError, match="down"):
        drive(extender("filter", None, error="down").filter(POD, nodes().infos()))


def test_victims_are_found_by_uid() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    cache.add_node(make_node("a"))
    victim = make_pod("victim", node="a")
    cache.add_pod(victim)
    asked = extender("preempt", {"a": [[victim.metadata.uid], 1], "gone": [["x"], 0]})
    found = drive(asked.process_preemption(POD, {}, cache.nodes))
    assert found == {"a": Victims((victim,), 1)}


def test_a_bind_has_no_effect() -> None:
    made = RecordedExtender(CONFIG)
    assert made.is_interested(POD)
    drive(made.bind(POD, "a"))

"""The configuration files of common tutorials load and keep their meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.config import LoadResult, load_config_text
from mooring.errors import ConfigErrors
from mooring.framework.plugin import Plugin
from mooring.framework.points import POINT_BY_KEY, Point
from tests.config.in_tree import in_tree_registry, make_plugin
from tests.support.tutorials import document, mounted_config, without_placeholders

ROOT = Path(__file__).resolve().parents[3]
#: File -> its text. The text of the third tutorial does not show its file, which is our example's.
TEXTS = {
    "sample.yaml": mounted_config("000", "sample-scheduler.yaml"),
    "prefer-node.yaml": document("001", "scheduler-config.yaml"),
    "policy.json": document("002", "policy.cfg"),
    "simplest.yaml": document("002", "simplest.yaml"),
    "custom-plugins.yaml": document("002", "custom-plugins.yaml"),
    "two-profiles.yaml": document("002", "two-profiles.yaml"),
    "extender.yaml": without_placeholders(document("002", "extender.yaml")),
    "coscheduling.yaml": document("002", "coscheduling.yaml"),
    "name-score.yaml": (ROOT / "examples/name-score/scheduler-config.yaml").read_text(),
    "sample-plugin.yaml": mounted_config("004", "sample-scheduler.yaml"),
}

#: File -> the plugins that it needs, as name -> points.
FILES = {
    "sample.yaml": {"sample": "filter preScore"},
    "prefer-node.yaml": {"PreferNode": "filter score"},
    "policy.json": {},
    "simplest.yaml": {},
    "custom-plugins.yaml": {"MyCustomPluginA": "score", "MyCustomPluginB": "score"},
    "two-profiles.yaml": {},
    "extender.yaml": {},
    "coscheduling.yaml": {"Coscheduling": "queueSort preFilter postFilter permit reserve"},
    "name-score.yaml": {"NameScore": "score"},
    "sample-plugin.yaml": {"sample-plugin": "preFilter filter preBind"},
}
STRANGERS = [name for name, plugins in FILES.items() if plugins]
OLDER = [name for name in FILES if name not in ("sample.yaml", "prefer-node.yaml")]


def load(name: str) -> LoadResult:
    plugins: list[type[Plugin]] = [
        make_plugin(plugin, points) for plugin, points in FILES[name].items()
    ]
    return load_config_text(TEXTS[name], file=name, registry=in_tree_registry(*plugins))


def names(name: str, point: str, profile: int = 0) -> tuple[str, ...]:
    return load(name).profiles[profile].names(POINT_BY_KEY[point])


def weights(name: str) -> dict[str, int]:
    return dict(load(name).profiles[0].points[Point.SCORE])


def test_every_file_is_listed() -> None:
    assert TEXTS.keys() == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_a_file_loads_without_its_plugins_at_hand(name: str) -> None:
    assert load_config_text(TEXTS[name]).config.profiles


@pytest.mark.parametrize("name", FILES)
def test_a_file_loads_with_its_plugins_registered(name: str) -> None:
    assert load(name).profiles


def test_a_file_with_placeholders_is_refused_with_one_line() -> None:
    with pytest.raises(ConfigErrors) as caught:
        load_config_text(document("002", "extender.yaml"), file="extender.yaml")
    assert str(caught.value).startswith("extender.yaml:19:1: not valid YAML: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", OLDER)
def test_an_older_file_warns_and_shows_its_v1_form(name: str) -> None:
    warnings = load(name).warnings
    assert "is deprecated" in warnings[0]
    assert "apiVersion: kubescheduler.config.k8s.io/v1\n" in warnings[0]


@pytest.mark.parametrize("name", STRANGERS)
def test_a_plugin_that_is_not_registered_is_named_where_the_file_names_it(name: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        load_config_text(TEXTS[name], registry=in_tree_registry())
    lines = TEXTS[name].splitlines()
    for error in caught.value.errors:
        if "is not registered" not in error.message:
            continue
        assert "--plugin FILE.py:Class" in error.message
        assert error.line is not None
        assert any(plugin in lines[error.line - 1] for plugin in FILES[name])
    text = str(caught.value)
    assert all(f'plugin "{plugin}" is not registered' in text for plugin in FILES[name])


def test_the_policy_runs_its_predicates_and_priorities_and_no_others() -> None:
    # NodeDeclaredFeatures and DynamicResources are newer, so no Policy could name them.
    assert names("policy.json", "filter") == (
        "DynamicResources",
        "NodeDeclaredFeatures",
        "NodeUnschedulable",
        "NodeResourcesFit",
        "NodeName",
        "NodePorts",
        "NodeAffinity",
        "VolumeRestrictions",
        "TaintToleration",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "InterPodAffinity",
    )
    assert weights("policy.json") == {
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeAffinity": 1,
        "PodTopologySpread": 1,
        "TaintToleration": 1,
    }
    (extender,) = load("policy.json").config.extenders
    assert str(extender.http_timeout) == "30s"
    assert (extender.filter_verb, extender.preempt_verb) == ("filter", "preempt")


def test_custom_score_plugins_join_the_default_ones() -> None:
    scores = weights("custom-plugins.yaml")
    assert (scores["MyCustomPluginA"], scores["MyCustomPluginB"]) == (2, 1)
    # v1beta2 scores by NodeResourcesFit: the plugin that the file disables was not a default.
    assert scores["NodeResourcesFit"] == 1
    warnings = load("custom-plugins.yaml").warnings
    assert any("disabling it had no effect" in warning for warning in warnings)
    assert any('plugin "NodeResourcesAllocatable" is not registered' in one for one in warnings)


def test_the_scheduler_without_scoring_scores_by_nothing() -> None:
    assert names("two-profiles.yaml", "score", 1) == ()
    assert names("two-profiles.yaml", "preScore", 1) == ()
    assert "NodeResourcesFit" in names("two-profiles.yaml", "score", 0)
    assert names("two-profiles.yaml", "filter", 1) == names("two-profiles.yaml", "filter", 0)


def test_coscheduling_sorts_the_queue_and_follows_the_defaults() -> None:
    assert names("coscheduling.yaml", "queueSort") == ("Coscheduling",)
    for point in ("preFilter", "postFilter", "reserve", "permit"):
        assert names("coscheduling.yaml", point)[-1] == "Coscheduling"
    assert names("coscheduling.yaml", "postBind") == ()
    args = load("coscheduling.yaml").profiles[0].args["Coscheduling"]
    assert args == {"permitWaitingTimeSeconds": 10, "podGroupBackoffSeconds": 3}


def test_the_first_form_of_the_framework_becomes_one_profile() -> None:
    result = load("sample-plugin.yaml")
    (profile,) = result.profiles
    assert profile.scheduler_name == "sample-scheduler"
    for point in ("preFilter", "filter", "preBind"):
        assert profile.names(POINT_BY_KEY[point])[-1] == "sample-plugin"
    assert profile.args["sample-plugin"] == {
        "favorite_color": "#326CE5",
        "favorite_number": 7,
        "thanks_to": "tanjunchen",
    }
    election = result.config.leader_election
    assert (election.resource_name, election.resource_namespace) == (
        "sample-scheduler",
        "kube-system",
    )

"""Two sets of rules in one configuration."""

from __future__ import annotations

from mooring.config import default_config
from mooring.registry import default_registry
from mooring.shadow.their_rules import as_theirs, beside, their_profile
from mooring.testing.builders import make_pod
from mooring.virtual.cluster_copy import with_weights


def test_their_profiles_have_names_of_their_own() -> None:
    theirs = default_config(registry=default_registry())
    ours = with_weights(theirs, {"ImageLocality": 9})
    both = beside(ours, theirs)
    first, second = both.profiles
    assert first == ours.profiles[0]
    assert second.scheduler_name == their_profile("default-scheduler") != "default-scheduler"
    assert second.points == theirs.profiles[0].points
    assert as_theirs(make_pod()).spec.scheduler_name == second.scheduler_name


def test_equal_rules_are_not_doubled() -> None:
    rules = default_config(registry=default_registry())
    assert beside(rules, default_config(registry=default_registry())) is rules

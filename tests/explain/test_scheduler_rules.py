"""The rules of a scheduler as data."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.config import default_config
from mooring.explain.scheduler_rules import SchedulerRules
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.journal.head import scheduler_rules
from mooring.registry import default_registry


class Mine(Plugin):
    """A plugin that does not come with Mooring."""

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        """Agree."""


def test_the_rules_name_foreign_plugins_and_hold_no_code() -> None:
    registry, gates = default_registry([Mine]), FeatureGates({"GenericWorkload": True})
    config = default_config(registry=registry, feature_gates=gates, enabled=[Mine.name])
    rules = scheduler_rules(config, registry, gates)
    assert rules.gates == {"GenericWorkload": True}
    assert [profile["schedulerName"] for profile in rules.config["profiles"]] == [
        "default-scheduler"
    ]
    (plugin,) = rules.plugins
    assert (plugin.name, plugin.reference) == ("Mine", f"{__name__}:Mine")
    assert len(plugin.sha256) == 64
    text = msgspec.json.encode(rules)
    # Neither files nor their content.
    assert b"test_scheduler_rules.py" not in text and b"Agree" not in text
    assert msgspec.json.decode(text, type=SchedulerRules) == rules

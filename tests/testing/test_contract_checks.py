"""The checks of `check_plugin`, one cluster per seed; tests/testing/test_check.py has the rest."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import Plugin, PluginError
from mooring.testing import make_node, make_pod
from mooring.testing.bench import Workbench
from mooring.testing.contract_checks import GivenObjects, check_contract_of


class Changes(Plugin):
    """A plugin whose answers differ from call to call."""

    calls = 0

    def score(self, state: Any, pod: Any, node: Any) -> int:
        """Return another score each time."""
        Changes.calls += 1
        return Changes.calls % 100


class Keeps(Plugin):
    """A plugin that keeps the contract."""

    def score(self, state: Any, pod: Any, node: Any) -> int:
        """Return the same score for each node."""
        return 7


def test_given_objects_are_in_every_cluster() -> None:
    given = GivenObjects([make_node("mine")], [make_pod("own")], [])
    report = check_contract_of(Workbench(Keeps), given, range(3))
    assert report.scored and report.attempts


def test_a_plugin_that_is_not_deterministic_is_found_out() -> None:
    with pytest.raises(PluginError, match="seed=0"):
        check_contract_of(Workbench(Changes), GivenObjects([], [], []), range(1))

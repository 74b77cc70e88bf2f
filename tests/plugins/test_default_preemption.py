from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mooring.api import PodDisruptionBudget
from mooring.framework.features import FeatureGates
from mooring.plugins.default_preemption import DefaultPreemption


def test_budgets_are_watched_from_the_start_and_not_from_the_first_preemption() -> None:
    watched: list[Any] = []
    DefaultPreemption(None, SimpleNamespace(features=FeatureGates(), lister=watched.append)).start()
    assert watched == [PodDisruptionBudget]

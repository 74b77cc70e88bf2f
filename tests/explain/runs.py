"""Small clusters whose pods are scheduled and explained."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from mooring.api import KubeObject
from mooring.config import default_config
from mooring.explain.examination import Examination
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.registry import default_registry
from mooring.virtual.driving import drive
from mooring.virtual.explaining_scheduler import ExplainingScheduler
from mooring.virtual.outcomes import Outcomes
from mooring.virtual.simulation import schedule_all


def make_scheduler(
    objects: Iterable[KubeObject],
    *,
    plugins: Iterable[type[Plugin]] = (),
    explained: Iterable[str] = (),
    gates: str = "",
    **options: Any,
) -> ExplainingScheduler:
    """Return a scheduler with the default profile and `plugins`; `explained` are pod names."""
    objects = list(objects)
    uids = {obj.name: obj.uid for obj in objects}
    registry = default_registry(plugins)
    features = FeatureGates.from_text(gates)
    config = default_config(
        registry=registry, feature_gates=features, enabled=[plugin.name for plugin in plugins]
    )
    return ExplainingScheduler(
        objects,
        config=config,
        registry=registry,
        features=features,
        random=random.Random(1),
        explained=[uids[name] for name in explained],
        **options,
    )


def run(scheduler: ExplainingScheduler) -> Outcomes:
    """Schedule everything."""
    return drive(schedule_all(scheduler))


def explain(objects: Iterable[KubeObject], pod: str = "pod", **options: Any) -> list[Examination]:
    """Schedule everything and return the attempts of one pod."""
    scheduler = make_scheduler(objects, explained=[pod], **options)
    run(scheduler)
    (attempts,) = scheduler.examiner.examinations.values()
    return attempts
